//go:build unix

package shell

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// reviewIn runs a review of a store in a terminal, and after it says how it ended and whether the terminal is as it
// was.
func reviewIn(term *terminal, store string) {
	term.t.Helper()
	term.session(120, 40, "sh", "-c",
		`trap : INT; "$1" review "$2"; echo "ended with $?"; stty -a | tr ' ;' '\n\n' | grep -E '^-?(icanon|echo|isig)$' | tr '\n' ' '; sleep 600`,
		"sh", filepath.Join(term.dir, "graphcleaner"), store)
}

// restored is the end of a review whose terminal hands on lines, echoes, and makes a signal of Ctrl-C again.
func restored(code string) string {
	return `ended with ` + code + `\n(isig icanon echo|icanon echo isig)`
}

func TestTerminalReviews(t *testing.T) {
	t.Parallel()
	term := newTerminal(t)
	store := closedStore(t, papers.Cleaned(t))
	reviewIn(term, store)
	term.wait("the first suspect", `(?s)1 of 2: node s3.*\[y\] Theory .*\[q\]uit:$`)
	reply := func(line string) {
		term.text(line)
		term.keys("Enter")
	}
	reply("yn")
	term.wait("the refusal of several keys", `(?s)uit: yn\ny take the suggested label, .*uit:$`)
	reply("l")
	term.wait("the question for a label", `uit: l\nNeural Nets, Theory, Systems\nlabel, or a part of it:$`)
	reply("ne")
	term.wait("the second suspect", `(?s)s3 relabelled: Systems → Neural Nets\n.*2 of 2: node p4.*uit:$`)
	reply("z")
	term.wait("the first one again", `(?s)s3: taken back\n.*1 of 2: node s3.*uit:$`)
	reply("y")
	term.wait("the decision", `(?s)s3 accepted: Systems → Theory\n.*2 of 2: node p4.*uit:$`)
	reply("e")
	term.wait("all the evidence", `(?s)Neighbours that speak most against the label.*uit:$`)
	term.keys("C-c")
	term.wait("the end by Ctrl-C", `(?s)interrupted: 1 decided, 0 skipped; 1 left\n`+restored("130"))
	term.stop()

	reviewIn(term, store)
	term.wait("what is left", `(?s)1 of 1: node p4.*uit:$`)
	reply("w on graphs")
	term.wait("the question again", `(?s)w on graphs\n.*uit:$`)
	reply("n")
	term.wait("the end", `(?s)p4 rejected\n.*1 decided, 0 skipped; 0 left\n`+restored("0"))
	term.stop()

	opened := papers.Reopen(t, store)
	if got, want := papers.LabelsNow(t, opened), []string{"p4 Systems reject",
		"s3 Theory accept"}; !slices.Equal(got, want) {
		t.Errorf("labels and decisions are %q, want %q", got, want)
	}
	if got := reasonsOf(t, opened); !slices.Equal(got, []string{"", "", "", "on graphs"}) {
		t.Errorf("the reasons of the history are %q, want one for the last alone", got)
	}
}

func reasonsOf(t *testing.T, store *kv.Store) []string {
	t.Helper()
	tx := store.Begin()
	defer tx.Close()
	var reasons []string
	answer := must.Get(query.Query(t.Context(), tx, query.Options{}, "history return why"))(t)
	for row, err := range answer.Rows() {
		must.Do(t, err)
		reasons = append(reasons, row[0].String())
	}
	return reasons
}
