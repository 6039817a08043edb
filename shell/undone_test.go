package shell

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/graphcleaner/graphcleaner/shell/internal/prompt"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// TestUndoneScoresComeBack takes back a label that the last run has scored. The score is gone until a rescore, which
// follows at once at the prompt: then nobody is told that it is missing.
func TestUndoneScoresComeBack(t *testing.T) {
	const remark = "1 node scored under the label that was taken back: without a score until the next rescore or clean"
	for within, says := range map[time.Duration]bool{0: true, time.Hour: false} {
		cleanedStore(t)
		id := strings.Split(run(t, "", "shell", "g", "-c", "suspects limit 1 return id", "--format", "csv").out, "\n")[1]
		if got := run(t, "", "shell", "g", "--who", "ann", "-c", "accept "+id+"; clean"); got.code != 0 {
			t.Fatal(got.err)
		}
		at := newDesk(&streams{ctx: t.Context(), progress: &progress{}}, &resources{Threads: 1, Memory: testMemory},
			"g", task{Who: "ann", RescoreWithin: within})
		var notices []string
		_, err := at.Answer(t.Context(), prompt.Question{Step: query.Step{Text: "undo"}},
			prompt.Listener{Out: io.Discard, Notice: func(line string) { notices = append(notices, line) }})
		if closed := at.close(); err != nil || closed != nil {
			t.Fatal(err, closed)
		}
		if told := strings.Contains(strings.Join(notices, "\n"), remark); told != says {
			t.Errorf("rescored within %v: got %q, want the remark: %t", within, notices, says)
		}
		unscored := run(t, "", "shell", "g", "-c", "count nodes where label is not null and score is null", "--format",
			"csv").out
		if want := map[bool]string{true: "count\n1\n", false: "count\n0\n"}[says]; unscored != want {
			t.Errorf("rescored within %v: got %q nodes without a score, want %q", within, unscored, want)
		}
	}
}
