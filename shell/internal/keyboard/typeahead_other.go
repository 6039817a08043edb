//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package keyboard

import "os"

// dropTyped drops what was typed on a terminal and not yet read: here it cannot.
func dropTyped(*os.File) error { return nil }
