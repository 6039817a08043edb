package stream

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// TestDrop types lines into a terminal, and the beginning of one.
func TestDrop(t *testing.T) {
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	defer keys.Close()
	must.Do(t, unix.IoctlSetPointerInt(int(keys.Fd()), unix.TIOCSPTLCK, 0))
	number := must.Get(unix.IoctlGetInt(int(keys.Fd()), unix.TIOCGPTN))(t)
	terminal, err := os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|unix.O_NOCTTY, 0)
	must.Do(t, err)
	defer terminal.Close()
	must.Get(keys.WriteString("y\ny\nn"))(t)
	must.Do(t, Drop(terminal))
	must.Get(keys.WriteString("z\n"))(t)
	line := make([]byte, 16)
	if n, err := terminal.Read(line); err != nil || string(line[:n]) != "z\n" {
		t.Errorf("got %q, %v, want the line that was typed last", line[:n], err)
	}
}
