package atomic

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// renameBusy renames one directory onto another, which is not empty and so is no place for it, and returns an EBUSY of that
// alone: os.Rename does not ask the system.
func renameBusy(dir, full string) error {
	if err := unix.Rename(dir, full); errors.Is(err, unix.EBUSY) {
		return unix.EBUSY
	}
	return nil
}

// exchange swaps two names in one step, or returns an errors.ErrUnsupported.
func exchange(a, b string) error {
	err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS):
		// An old kernel, or a file system that cannot.
		return fmt.Errorf("exchange %s and %s: %w", a, b, errors.ErrUnsupported)
	}
	return &os.LinkError{Op: "exchange", Old: a, New: b, Err: err}
}
