//go:build unix

package began

import (
	"syscall"
	"time"
)

// mostUsed is more than the program and the runtime take. A program that went on as this one (exec) has used time before.
const mostUsed = 50 * time.Millisecond

// used is the time on a processor of the process so far: the system has loaded the program, and the runtime has begun. When a process began,
// the system only knows by the hundredth of a second.
func used() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return min(mostUsed, time.Duration(usage.Utime.Nano()+usage.Stime.Nano()))
}
