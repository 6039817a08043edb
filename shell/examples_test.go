package shell

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

var printedSeconds = regexp.MustCompile(`\d+\.\d s\n`)

// TestExample runs the script of docs/examples in the shell. It prints what its page shows, except for the seconds, and
// finds as many of the planted labels as the page says.
func TestExample(t *testing.T) {
	t.Parallel()
	folder := filepath.Join("..", "docs", "examples", "papers")
	text := must.Get(os.ReadFile(filepath.Join(folder, "README.md")))(t)
	page := string(text)
	script := filepath.Join(t.TempDir(), "example.txtar")
	must.Do(t, os.WriteFile(script, []byte("exec sh find.sh\nexpected\n"), 0o600))
	testscript.Run(t, testscript.Params{
		Files: []string{script},
		Setup: func(env *testscript.Env) error { return os.CopyFS(env.WorkDir, os.DirFS(folder)) },
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"expected": func(ts *testscript.TestScript, _ bool, _ []string) {
				_, shown, _ := strings.Cut(page, "$ ./find.sh\n")
				shown, _, _ = strings.Cut(shown, "```\n")
				out := ts.ReadFile("stdout")
				if printedSeconds.ReplaceAllString(out, "s\n") != printedSeconds.ReplaceAllString(shown, "s\n") {
					ts.Fatalf("the page shows\n%s\nwant\n%s", shown, out)
				}
				suspects, planted := firstColumn(ts, "suspects.csv"), firstColumn(ts, "planted.csv")
				found := 0
				for id := range suspects {
					if planted[id] {
						found++
					}
				}
				sentence := fmt.Sprintf("**%d of the %d wrong labels are among the %d suspects.**", found, len(planted),
					len(suspects))
				if !strings.Contains(page, sentence) {
					ts.Fatalf("want the sentence %s", sentence)
				}
				if precision, recall := float64(found)/float64(len(suspects)),
					float64(found)/float64(len(planted)); precision < 0.9 || recall < 0.8 {
					ts.Fatalf("got precision %.2f and recall %.2f, want at least 0.9 and 0.8", precision, recall)
				}
			},
		},
	})
}

// firstColumn is the values in the first column of a csv file.
func firstColumn(ts *testscript.TestScript, name string) map[string]bool {
	rows, err := csv.NewReader(strings.NewReader(ts.ReadFile(name))).ReadAll()
	ts.Check(err)
	values := map[string]bool{}
	for _, row := range rows[1:] {
		values[row[0]] = true
	}
	return values
}
