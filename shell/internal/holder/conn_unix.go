//go:build unix

package holder

import (
	"errors"
	"io"

	"golang.org/x/sys/unix"
)

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

// Close closes the connection, and the files that nobody has taken.
func (c *conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.discard()
	return c.UnixConn.Close()
}
