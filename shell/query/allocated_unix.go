//go:build unix

package query

import (
	"io/fs"
	"syscall"
)

// allocated is what a file takes on disk in bytes. It is less than the length of a file with holes, such as a log
// made as long as it may become.
func allocated(info fs.FileInfo) int64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Blocks * 512
	}
	return info.Size()
}
