package stream

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Drop has a terminal forget what was typed and not read yet, a line that is begun too. Only Linux does it.
func Drop(f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = unix.IoctlSetInt(int(fd), unix.TCFLSH, unix.TCIFLUSH) })
	return errors.Join(err, os.NewSyscallError("ioctl TCFLSH", failed))
}
