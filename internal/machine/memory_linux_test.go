package machine

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

func TestControlGroupMemory(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		name = filepath.Join(root, name)
		must.Do(t, os.MkdirAll(filepath.Dir(name), 0o700))
		must.Do(t, os.WriteFile(name, []byte(text), 0o600))
		return name
	}
	write("a/memory.max", "1000000\n")
	write("a/b/memory.max", "max\n")
	write("c/memory.max", "max\n")
	write("memory/d/memory.limit_in_bytes", "2000\n")
	for text, want := range map[string]int64{
		"0::/a/b\n":                      1000000, // the parent's limit
		"0::/c\n":                        math.MaxInt64,
		"0::/\n":                         math.MaxInt64,
		"5:memory:/d/e\n0::/a\n":         2000,
		"3:cpu,cpuacct:/a\nnot a line\n": math.MaxInt64,
	} {
		if got := controlGroupMemory(write("membership", text), root); got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	}
	if got := controlGroupMemory(filepath.Join(root, "nothing"), root); got != math.MaxInt64 {
		t.Errorf("no control groups: got %d, want no limit", got)
	}
	if got := MemoryBudget(); got < LeastBudget || got > memory() {
		t.Errorf("default budget: got %d of %d bytes", got, memory())
	}
}
