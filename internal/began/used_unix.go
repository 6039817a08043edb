//go:build unix

package began

import (
	"syscall"
	"time"
)

// used is the time on a processor of the process so far: the system has loaded the program, and the runtime has begun. When a process began,
// the system only knows by the hundredth of a second.
func used() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
