package atomic

import (
	"errors"

	"golang.org/x/sys/unix"
)

// exchange exchanges two directories of one file system, at once where the file system can.
func exchange(a, b string) error {
	err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return exchangeByRenames(a, b)
	}
	return err
}
