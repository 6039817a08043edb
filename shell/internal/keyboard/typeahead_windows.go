package keyboard

import (
	"os"

	"golang.org/x/sys/windows"
)

// dropTyped drops what was typed on a terminal and not yet read.
func dropTyped(in *os.File) error { return windows.FlushConsoleInputBuffer(windows.Handle(in.Fd())) }
