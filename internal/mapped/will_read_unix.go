//go:build linux || darwin

package mapped

import (
	"os"

	"golang.org/x/sys/unix"
)

// WillRead asks the system to read a part of a mapped file soon, all at once.
func WillRead(data []byte, from, to int) {
	from -= from % os.Getpagesize()
	unix.Madvise(data[from:to], unix.MADV_WILLNEED) //nolint:errcheck // it saves time only
}
