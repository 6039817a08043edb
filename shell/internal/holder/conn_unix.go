//go:build unix

package holder

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// identity returns device and inode of a directory, which no path changes.
func identity(dir string) (string, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return "", err
	}
	of := info.Sys().(*syscall.Stat_t)
	return fmt.Sprintf("%d-%d", of.Dev, of.Ino), nil
}

// A conn is a connection between an asker and a holder. It carries the descriptors of files beside bytes.
type conn struct {
	*net.UnixConn
	uid, pid int        // of the process at the other end; pid is zero if it is not known
	sends    []*os.File // with the next bytes

	mu       sync.Mutex
	received []int      // descriptors that nobody has taken
	taken    []*os.File // the others
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
func (c *conn) isOwn() bool { return c.uid == os.Geteuid() }

// take returns the files that came, which are those of so many names. They are open until closeFiles.
func (c *conn) take(names []string) ([]*os.File, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(names) != len(c.received) {
		return nil, fmt.Errorf("got %d files with %d names", len(c.received), len(names))
	}
	for i, fd := range c.received {
		c.taken = append(c.taken, os.NewFile(uintptr(fd), names[i]))
	}
	c.received = nil
	return c.taken, nil
}

// filesAtOnce is how many descriptors go with one byte. Linux takes 253.
const filesAtOnce = 250

// Write sends bytes, and the files that go with them.
func (c *conn) Write(p []byte) (n int, err error) {
	for len(c.sends) > 0 && len(p) > 0 {
		var fds []int
		batch := c.sends[:min(filesAtOnce, len(c.sends))]
		for _, f := range batch {
			raw, err := f.SyscallConn()
			if err == nil {
				err = raw.Control(func(fd uintptr) { fds = append(fds, int(fd)) })
			}
			if err != nil {
				return n, err
			}
		}
		sent, _, err := c.WriteMsgUnix(p[:1], unix.UnixRights(fds...), nil)
		n += sent
		if err != nil {
			return n, err
		}
		c.sends, p = c.sends[len(batch):], p[1:]
	}
	sent, err := c.UnixConn.Write(p)
	return n + sent, err
}

// Read receives bytes, and keeps the files that come with them.
func (c *conn) Read(p []byte) (int, error) {
	var control [1 << 10]byte // has room for filesAtOnce
	n, controls, flags, _, err := c.ReadMsgUnix(p, control[:])
	if controls > 0 {
		if failed := c.keep(control[:controls]); failed != nil {
			return 0, failed
		}
	}
	if flags&unix.MSG_CTRUNC != 0 {
		return 0, errors.New("too many files at once")
	}
	if errors.Is(err, io.EOF) {
		err = io.EOF // as readers of a stream expect it
	}
	return max(n, 0), err
}

// keep keeps the descriptors of a control message.
func (c *conn) keep(control []byte) error {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, message := range messages {
		fds, err := unix.ParseUnixRights(&message)
		if err != nil {
			return err
		}
		c.received = append(c.received, fds...)
	}
	if c.closed || len(c.received) > MaxFiles {
		c.discard()
		return errors.New("too many files")
	}
	return nil
}

// discard closes the descriptors that nobody has taken. The caller has c.mu.
func (c *conn) discard() {
	for _, fd := range c.received {
		unix.Close(fd) //nolint:errcheck // nothing was written to it
	}
	c.received = nil
}

// closeFiles closes the files that came.
func (c *conn) closeFiles() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.discard()
	for _, f := range c.taken {
		f.Close() //nolint:errcheck // who wrote to it has been told
	}
	c.taken, c.closed = nil, true
}

// Close closes the connection, and the files that came.
func (c *conn) Close() error {
	c.closeFiles()
	return c.UnixConn.Close()
}
