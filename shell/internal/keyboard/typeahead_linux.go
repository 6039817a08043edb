package keyboard

import (
	"os"

	"golang.org/x/sys/unix"
)

// dropTyped drops what was typed on a terminal and not yet read.
func dropTyped(in *os.File) error { return unix.IoctlSetInt(int(in.Fd()), unix.TCFLSH, unix.TCIFLUSH) }
