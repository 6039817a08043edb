package holder

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// Another user is refused, also if the rights of the files let him connect.
func TestForeignUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user")
	}
	dir := t.TempDir()
	serve(t, dir, func(context.Context, *Job) []byte {
		t.Error("a job of another user was taken")
		return nil
	})
	path, request := socketAt(dir), posted(t, dir, "")
	for at := path; len(at) > len(os.TempDir()); at = filepath.Dir(at) {
		must.Do(t, os.Chmod(at, 0o777))
	}
	type heard struct {
		text []byte
		err  error
	}
	hears := make(chan heard)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine
		const nobody = 65534
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, nobody, nobody, nobody); errno != 0 {
			hears <- heard{nil, errno}
			return
		}
		conn, err := net.Dial("unix", path)
		if err != nil {
			hears <- heard{nil, err}
			return
		}
		defer conn.Close()
		say(conn, request)
		conn.SetReadDeadline(time.Now().Add(5 * time.Second)) //nolint:errcheck // the read fails then
		text, err := io.ReadAll(conn)
		hears <- heard{text, err}
	}()
	got := <-hears
	if got.text == nil && got.err != nil {
		t.Skipf("the thread cannot be another user's here: %v", got.err)
	}
	if !bytes.Contains(got.text, []byte("of user 0 holds the store, and answers only that user")) {
		t.Errorf("another user hears %q, %v, want a refusal", got.text, got.err)
	}
}
