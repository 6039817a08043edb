//go:build !unix

package holder

import (
	"errors"
	"net"
	"os"
)

// identity is not known where no files can be passed: nobody listens there, and nobody asks.
func identity(string) (string, error) { return "", errors.ErrUnsupported }

type conn struct {
	net.Conn
	uid, pid int
	sends    []*os.File
}

func newConn(c net.Conn) (*conn, error) { return nil, errors.Join(errors.ErrUnsupported, c.Close()) }

func (*conn) isOwn() bool { return false }

func (*conn) CloseWrite() error { return errors.ErrUnsupported }

func (*conn) closeFiles() {}

func (*conn) take([]string) ([]*os.File, error) { return nil, errors.ErrUnsupported }
