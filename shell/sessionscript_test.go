package shell

import (
	"os"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/shell/internal/papers"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// TestALongStatementIsNamed holds that the error of one names the file, the line it began in, and the limit.
func TestALongStatementIsNamed(t *testing.T) {
	const mebibyte = 1 << 20
	long := "count nodes;\n-- next\n nodes where id in (" + strings.Repeat("1,", mebibyte)
	_, _, err := answer(t, SessionOptions{Store: papers.Empty(t), Name: "job.q", KeepGoing: true}, long)
	if want := "job.q:3:2: got a statement of more than 1 MiB, want a semicolon before that: write equalities of one property, joined by or, as one in (…)"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got error %v, want %s", err, want)
	}
	ids := strings.Repeat("1,", (mebibyte-100)/2)
	if _, _, err := answer(t, SessionOptions{Store: papers.Empty(t)}, "count nodes where id in ("+ids+"1);"); err != nil {
		t.Errorf("a statement of nearly as much: %v", err)
	}
}

// TestReadRefusesWhatIsNoScript holds that directories and devices are no files of statements.
func TestReadRefusesWhatIsNoScript(t *testing.T) {
	writeFiles(t, map[string]string{"nodes.csv": threeNodes, "edges.csv": twoEdges})
	mustRun(t, "import", "g", "--nodes", "nodes.csv", "--edges", "edges.csv")
	for path, want := range map[string]string{".": ". is a directory, want a file of statements", "/dev/zero": "/dev/zero is a device, want a file"} {
		if _, err := os.Stat(path); err != nil {
			continue
		}
		for _, args := range [][]string{{"shell", "g", "-f", path}, {"shell", "g", "-c", ".read " + path}} {
			if got := run(t, "", args...); got.code != exitFailed || !strings.Contains(got.err, want) {
				t.Errorf("%s: got exit code %d and %s, want %d and %s", args, got.code, got.err, exitFailed, want)
			}
		}
	}
}

func TestIsComplete(t *testing.T) {
	for text, want := range map[string]bool{
		"":                               true,
		"suspects":                       true,
		"suspects;":                      true,
		"suspects where":                 false,
		"suspects where score >":         false,
		"suspects where (score > 1":      false,
		"nodes where label = 'a":         false,
		"nodes where label = 'a\nb'":     true,
		"suspects where\n":               true, // a blank line has it run, and fail
		"suspects wher":                  true, // no further line can help
		"stats; nodes where":             false,
		"stats; nodes where id = 1":      true,
		".mode csv":                      true,
		"nodes order by":                 false,
		"nodes where a = 1 -- comment ;": true,
	} {
		if got := isComplete(text); got != want {
			t.Errorf("isComplete(%q): got %t, want %t", text, got, want)
		}
	}
}

func TestWrites(t *testing.T) {
	for text, want := range map[string]bool{
		"stats; CLEAN hops 2": true, "accept 1": true, "undo": true, "drop index on x": true, "history": false,
		"stats; nodes where a = 'clean'": false, ".read x": true, "nodes wher": false,
	} {
		if got := writes(text); got != want {
			t.Errorf("writes(%q): got %t, want %t", text, got, want)
		}
	}
}

func TestCaret(t *testing.T) {
	text := "nodes\n  where 東京 >= = 3\n limit 3"
	at := query.Step{Text: text, Pos: query.Pos{Offset: 50, Line: 4, Column: 2}}
	_, err := at.Parse()
	pos, ok := query.Position(err)
	if !ok {
		t.Fatalf("got %v, want an error with a position", err)
	}
	got := caret(at, pos)
	want := "    where 東京 >= = 3\n" + "                  ^"
	if got != want {
		t.Errorf("caret:\ngot\n%s\nwant\n%s", got, want)
	}
}
