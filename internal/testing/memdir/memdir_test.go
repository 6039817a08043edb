package memdir

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

type runner func() int

func (r runner) Run() int { return r() }

func TestTests(t *testing.T) {
	kept := t.TempDir()
	t.Setenv("TMPDIR", kept)
	if code := Tests(runner(func() int {
		if got := os.TempDir(); got != kept {
			t.Errorf("TMPDIR was set: got %s, want %s", got, kept)
		}
		return 3
	})).Run(); code != 3 {
		t.Errorf("got code %d, want 3", code)
	}
	if room() < leastRoom {
		t.Skip("no file system in memory with room")
	}

	left := filepath.Join(memory, prefix+"999999999-left")
	must.Do(t, os.Mkdir(left, 0o700))
	t.Setenv("TMPDIR", "")
	var dir string
	if code := Tests(runner(func() int {
		dir = os.TempDir()
		if filepath.Dir(dir) != memory {
			t.Errorf("got %s, want one in %s", dir, memory)
		}
		if _, err := os.Stat(left); !os.IsNotExist(err) {
			t.Errorf("what a process that is gone has left: got %v, want it removed", err)
		}
		return 0
	})).Run(); code != 0 {
		t.Errorf("got code %d, want 0", code)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("after the tests: got %v, want %s removed", err, dir)
	}
}
