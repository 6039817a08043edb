package kv

import (
	"errors"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestCommandOfEnded asks for the command of a process that has ended and is not waited for: it has none any more.
func TestCommandOfEnded(t *testing.T) {
	child := exec.Command("/proc/self/exe", "-test.run=^$")
	out, err := child.StdoutPipe()
	if err := errors.Join(err, child.Start()); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(out); err != nil { // until it ends
		t.Fatal(err)
	}
	defer func() {
		if err := child.Wait(); err != nil {
			t.Error(err)
		}
	}()
	for range 1000 {
		if commandOf(child.Process.Pid) == "" {
			break
		}
		runtime.Gosched()
	}
	if got := (&LockedError{Dir: "g", PID: child.Process.Pid, Command: commandOf(child.Process.Pid)}).Error(); strings.ContainsAny(got, "()") {
		t.Errorf("got %q, want no command", got)
	}
}

func TestControlGroupMemory(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
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
	if got := DefaultMemoryBudget(); got < minMemoryBudget || got > machineMemory() {
		t.Errorf("default budget: got %d of %d bytes", got, machineMemory())
	}
}
