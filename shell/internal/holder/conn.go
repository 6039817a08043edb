package holder

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
)

// A conn is a connection between an asker and a holder. It carries the descriptors of files beside bytes.
type conn struct {
	*net.UnixConn
	uid, pid int        // of the process at the other end; pid is zero if it is not known
	sends    []*os.File // with the next bytes

	mu       sync.Mutex
	received []int // descriptors that nobody has taken
	closed   bool
}

// newConn finds out who is at the other end of a connection.
func newConn(c net.Conn) (*conn, error) {
	own := &conn{UnixConn: c.(*net.UnixConn)}
	raw, err := own.SyscallConn()
	if err == nil {
		own.uid, own.pid, err = peerOf(raw)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return own, nil
}

// isOwn says whether the process at the other end is of the same user as this one.
func (c *conn) isOwn() bool { return c.uid == os.Geteuid() || os.Geteuid() < 0 }

// strangerText tells an asker that a store is held by a process of another user.
func strangerText(pid, uid int) string {
	return fmt.Sprintf("process %d of user %d holds the store, and answers only that user", pid, uid)
}

// take returns the files that came, which are those of so many names. The caller closes them.
func (c *conn) take(names []string) ([]*os.File, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(names) != len(c.received) {
		return nil, fmt.Errorf("got %d files with %d names", len(c.received), len(names))
	}
	var files []*os.File
	for i, fd := range c.received {
		files = append(files, os.NewFile(uintptr(fd), names[i]))
	}
	c.received = nil
	return files, nil
}
