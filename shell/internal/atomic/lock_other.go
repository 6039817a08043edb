//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package atomic

import (
	"errors"
	"os"
)

// lock locks an open file or directory where the system can; this one cannot.
func lock(*os.File) error { return errors.ErrUnsupported }

// renameBusy is for systems that tell a mounted directory from others.
func renameBusy(string, string) error { return nil }
