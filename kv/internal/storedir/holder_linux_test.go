package storedir

import (
	"errors"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// TestCommandOfEnded asks for the command of a process that has ended and is not waited for: it has none any more.
func TestCommandOfEnded(t *testing.T) {
	child := exec.Command("/proc/self/exe", "-test.run=^$")
	out, err := child.StdoutPipe()
	must.Do(t, errors.Join(err, child.Start()))
	if _, err := io.ReadAll(out); err != nil { // until it ends
		t.Fatal(err)
	}
	defer func() { must.Do(t, child.Wait()) }()
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
