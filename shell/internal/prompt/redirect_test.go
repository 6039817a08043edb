package prompt

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
	"github.com/graphcleaner/graphcleaner/shell/print"
)

// TestOutputIsWholeOrAsItWas holds what .output leaves at the end of sessions of all kinds.
func TestOutputIsWholeOrAsItWas(t *testing.T) {
	const old = "what was there\n"
	for _, c := range []struct {
		name, text string
		fails      bool
		want       string
	}{
		{name: "a statement", text: ".output F\ncount nodes", want: "count\n10\n"},
		{name: "nothing", text: ".output F\n", want: ""},
		{name: "a typo", text: ".output F\ncount nodse", fails: true, want: old},
		{name: "a typo behind a statement", text: ".output F\ncount nodes;\ncount nodse", fails: true, want: old},
		{name: "a typo behind the file", text: ".output F\ncount nodes;\n.output\ncount nodse", fails: true,
			want: "count\n10\n"},
		{name: "a typo in a file that is read", text: ".output F\n.read BAD", fails: true, want: old},
		{name: "a file that cannot be", text: ".output F\ncount nodes;\n.output no/such/file", fails: true,
			want: "count\n10\n"},
		{name: "the same file again", text: ".output F\ncount nodes;\n.output F\ncount nodes where degree > 100",
			want: "count\n0\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "answers")
			bad := filepath.Join(dir, "bad.q")
			for name, text := range map[string]string{file: old, bad: "count nodes; count nodse"} {
				must.Do(t, os.WriteFile(name, []byte(text), 0o640))
			}
			opt := Options{Store: opened(papers.Loaded(t)), Format: print.FormatCSV}
			_, people, err := answer(t, opt, strings.NewReplacer("F", file, "BAD", bad).Replace(c.text))
			if (err != nil) != c.fails {
				t.Errorf("got error %v and %s", err, people)
			}
			if got, err := os.ReadFile(file); err != nil || string(got) != c.want {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
			if told := strings.Contains(people, file+" was not written"); told != (c.want == old) {
				t.Errorf("people were told %q", people)
			}
			entries, err := os.ReadDir(dir)
			if err != nil || len(entries) != 2 {
				t.Errorf("left behind: %v, %v", entries, err)
			}
		})
	}
}
