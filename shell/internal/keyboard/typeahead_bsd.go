//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package keyboard

import (
	"os"

	"golang.org/x/sys/unix"
)

// dropTyped drops what was typed on a terminal and not yet read.
func dropTyped(in *os.File) error {
	const toRead = 1 // FREAD of <sys/fcntl.h>
	return unix.IoctlSetPointerInt(int(in.Fd()), unix.TIOCFLUSH, toRead)
}
