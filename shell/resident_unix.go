//go:build unix

package shell

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// maxResident is the peak resident memory in bytes that getrusage knows. Linux counts in KiB, and what the process that
// started this one held before; Darwin counts in bytes.
func maxResident() int64 {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int64(usage.Maxrss)
	}
	return int64(usage.Maxrss) << 10
}
