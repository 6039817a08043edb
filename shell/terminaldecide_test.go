//go:build unix

package shell

import (
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
	"github.com/graphcleaner/graphcleaner/kv"
)

// TestTerminalConfirms decides on conditions at the prompt: by a key, and not without it.
func TestTerminalConfirms(t *testing.T) {
	t.Parallel()
	term := newTerminal(t)
	term.start(terminalStore(t, papers.Cleaned(t)), "--who", "ann")
	for key, answer := range map[string]string{"n": "no", "Enter": "no", "Escape": "no", "C-c": "no"} {
		term.text("accept all where score > 0.9")
		term.keys("Enter")
		term.wait("the question", `Accept the suggested labels of 3 nodes\? \[y/N\] *$`)
		term.keys(key)
		term.wait("no decision after "+key, `\[y/N\] `+answer+`\n(?s).*nothing is decided: not confirmed.*graphcleaner> *$`)
		term.keys("C-l")
		term.wait("an empty screen", `^graphcleaner> *$`)
	}
	term.text("accept all where score > 0.9")
	term.keys("Enter")
	term.wait("the question", `\[y/N\] *$`)
	term.keys("y")
	term.wait("the decisions", `(?s)\[y/N\] yes\n3 nodes accepted: undo takes it back\n.*accept .*\(3 rows\)`)
	term.text("count suspects")
	term.keys("Enter")
	term.wait("no suspects", `(?m)^ *0$`)
	term.text("undo")
	term.keys("Enter")
	term.wait("the undoing", `taken back: 1 step, 3 decisions`)
	term.text("history p4")
	term.keys("Enter")
	term.wait("the history", `(?s)accept .* ann .*undo .* ann .*\(2 rows`)
	term.leave()
}

// TestTerminalConfirmsACommand asks where the statement is given on the command line.
func TestTerminalConfirmsACommand(t *testing.T) {
	t.Parallel()
	store := terminalStore(t, papers.Cleaned(t))
	for key, want := range map[string]string{"y": `(?s)\[y/N\] yes\n3 nodes put aside.*ended with 0`, "C-c": `(?s)\[y/N\] no\n.*not confirmed\nended with 1`} {
		term := newTerminal(t)
		term.run(store, "-c", "unsure all where score > 0.9; undo")
		term.wait("the question", `Put 3 nodes aside as unsure\? \[y/N\] *$`)
		term.keys(key)
		term.wait("the end after "+key, want)
		term.stop()
	}
}

// TestTerminalGetsNoParquet refuses to fill a terminal with a Parquet file, before anything is decided.
func TestTerminalGetsNoParquet(t *testing.T) {
	store := papers.Cleaned(t)
	term := newTerminal(t)
	term.run(terminalStore(t, store), "-c", "accept where score > 0.9", "--yes", "--format", "parquet")
	term.wait("the refusal", `(?s)--format parquet is for programs, and standard output is a terminal:.*ended with 2`)
	term.stop()
}

// TestTerminalFitsTables shows a table that is wider than the terminal, and one value of it whole.
func TestTerminalFitsTables(t *testing.T) {
	t.Parallel()
	term := newTerminal(t)
	store := papers.Cleaned(t)
	long := strings.Repeat("東京 wide ", 15) + "end"
	must.Do(t, store.Update(func(tx *kv.Tx) error {
		v := must.Get(tx.Node("p4"))(t)
		return tx.SetValue(v, "title", kv.ValueOf(long))
	}))
	term.start(terminalStore(t, store))
	term.text("nodes where id = 'p4' return id, title, label, year")
	term.keys("Enter")
	screen := term.wait("the answer", `(?s)p4 +東京 wide.*… +Systems +2019\n\(1 row, values with … are cut to fit: \.mode jsonl shows them whole\)`)
	if strings.Contains(screen, "end") {
		t.Errorf("the title is not cut:\n%s", screen)
	}
	term.text(".mode jsonl")
	term.keys("Enter")
	term.text("node p4")
	term.keys("Enter")
	term.wait("the whole value", `(?s)"title":"東京 wide .*wide en\nd"`)
	term.leave()
}
