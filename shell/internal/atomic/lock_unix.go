//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package atomic

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lock locks an open file or directory until it is closed or the process ends; errLocked where another holds it.
func lock(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return errLocked
	}
	return err
}
