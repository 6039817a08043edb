package shell

import (
	"os"
	"strings"
	"testing"
)

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
