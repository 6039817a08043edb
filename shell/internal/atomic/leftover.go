package atomic

import (
	"errors"
	"os"
)

// errLocked is returned by lock where another process, or another open file of this one, holds the lock.
var errLocked = errors.New("locked by another process")

// openLocked opens and locks a file or directory that a process works on while it holds the lock. Who gets the lock of
// one that is there already knows that its process is gone.
func openLocked(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// isInUse says whether the error of openLocked means that the thing may be another's. It always may where the system
// has no locks.
func isInUse(err error) bool {
	return errors.Is(err, errLocked) || errors.Is(err, errors.ErrUnsupported)
}
