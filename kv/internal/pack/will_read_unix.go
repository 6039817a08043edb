//go:build linux || darwin

package pack

import (
	"os"

	"golang.org/x/sys/unix"
)

// willRead asks the system to read a part of a mapped file soon, all at once.
func willRead(data []byte, from, to int) {
	from -= from % os.Getpagesize()
	unix.Madvise(data[from:to], unix.MADV_WILLNEED) //nolint:errcheck // it saves time only
}
