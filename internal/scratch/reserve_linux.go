package scratch

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// reserve makes a file one of a size whose blocks are all on disk. It keeps its content.
func reserve(f *os.File, size int64) error {
	err := unix.Fallocate(int(f.Fd()), 0, 0, size)
	for errors.Is(err, unix.EINTR) {
		err = unix.Fallocate(int(f.Fd()), 0, 0, size)
	}
	if errors.Is(err, unix.EOPNOTSUPP) {
		return rewrite(f, size)
	}
	return err
}
