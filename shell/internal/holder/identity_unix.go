//go:build unix

package holder

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// identity returns device and inode, which no path changes.
func identity(dir string) (string, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return "", err
	}
	of := info.Sys().(*syscall.Stat_t)
	return fmt.Sprintf("%d-%d", of.Dev, of.Ino), nil
}

// isOwn says whether a file belongs to this user.
func isOwn(info fs.FileInfo) bool { return int(info.Sys().(*syscall.Stat_t).Uid) == os.Geteuid() }
