package kv

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// TestPathsAreNoPatterns opens stores whose paths have the characters of a pattern: each finds its own files, and
// leaves those of others.
func TestPathsAreNoPatterns(t *testing.T) {
	parent := t.TempDir()
	other := filepath.Join(parent, "run1", "spill-table-1.tmp")
	must.Do(t, os.Mkdir(filepath.Dir(other), 0o700))
	must.Do(t, os.WriteFile(other, []byte("of a load"), 0o600))
	names := []string{"run[1]", "a[b", "[!x]"}
	if runtime.GOOS != "windows" {
		names = append(names, "a*", "b?", `c\`, "{d,e}")
	}
	for _, name := range names {
		dir := filepath.Join(parent, name)
		s := must.Get(Create(dir, Options{MemoryBudget: minMemoryBudget}))(t)
		addNodes(t, s, 3)
		logs, err := storedir.FilesNamed(dir, "", ".mem")
		if err != nil || len(logs) != 1 {
			t.Errorf("%s: got logs %v (%v), want one", name, logs, err)
		}
		closeStore(t, s)
		own := filepath.Join(dir, "spill-table-1.tmp")
		must.Do(t, os.WriteFile(own, nil, 0o600))
		closeStore(t, openStore(t, dir, Options{}))
		if _, err := os.Stat(own); !os.IsNotExist(err) {
			t.Errorf("%s: its temporary file is still there (%v)", name, err)
		}
	}
	if _, err := os.Stat(other); err != nil {
		t.Errorf("opening other stores removed a file of run1: %v", err)
	}
}
