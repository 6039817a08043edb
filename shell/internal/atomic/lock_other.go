//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package atomic

import (
	"errors"
	"os"
)

// lock locks an open file or directory where the system can; this one cannot.
func lock(*os.File) error { return errors.ErrUnsupported }
