package shell

import (
	"os"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// What commands say has no control characters, wherever they come from.
func TestMessagesAreEscaped(t *testing.T) {
	writeFiles(t, map[string]string{
		"nodes.csv": "id,label,text\na,A,\x1b[31m\nb,B,c\n", "edges.csv": "src,dst\nb,b\n", "bad\x1b.csv": "id\nx\n",
		"edge.csv": "src,dst\nb,\x1b[31m\n", "f\x1b.q": "nodes where", "splits.csv": "id,split\nb,\x1b[31m\n",
	})
	mustRun(t, "import", "g\x1b", "--nodes", "nodes.csv", "--edges", "edges.csv")
	must.Do(t, os.Symlink("g\x1b", "g"))
	for _, args := range [][]string{
		{"stats", "no\x1b[31m"}, {"\x1b[31m"}, {"stats", "--\x1b"}, {"stats", "g", "x\x1b"}, {"clean", "g", "--hops", "\x1b"},
		{"import", "h", "--nodes", "bad\x1b.csv", "--edges", "edges.csv"}, {"import", "h", "--nodes", "nodes.csv", "--edges",
			"edge.csv"},
		{"import", "h\x1b", "--nodes", "none\x1b.csv", "--edges", "edges.csv"}, {"import", "g", "--splits", "splits.csv"},
		{"import", "g\x1b", "--nodes", "nodes.csv", "--edges", "edges.csv", "--replace"},
		{"shell", "g", "-c", "nodes where \x1b[31m"}, {"shell", "g", "-c", "nodes where label = '\x1b[31m'"}, {"shell", "g",
			"-f", "f\x1b.q"},
		{"shell", "g", "-c", "accept where label = 'A\x1b[31m'"}, {"shell", "g", "-c", ".mode \x1b"}, {"export", "g",
			"labels", "--out", "x\x1b.y"},
		{"check", "g\x1b"}, {"compact", "g\x1b"},
	} {
		got := run(t, "n\n", args...)
		if strings.ContainsRune(got.err, '\x1b') || strings.ContainsRune(got.out, '\x1b') {
			t.Errorf("%q: got %q and %q, want escapes", args, got.out, got.err)
		}
	}
	// Data that is no message is exact.
	if got := mustRun(t, "shell", "g", "-c", "nodes return id, text", "--format", "csv"); !strings.Contains(got,
		"a,\x1b[31m\n") {
		t.Errorf("csv to a pipe: got %q, want it exact", got)
	}
}
