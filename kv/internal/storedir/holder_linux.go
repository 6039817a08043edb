package storedir

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// lockHolder finds who holds the lock on a directory in the kernel's list of locks; zero if it is not seen.
func lockHolder(dir string) int {
	var stat unix.Stat_t
	if err := unix.Stat(dir, &stat); err != nil {
		return 0
	}
	locks, err := os.ReadFile("/proc/locks")
	if err != nil {
		return 0
	}
	// 1: FLOCK  ADVISORY  WRITE 2387 fe:01:1048602 0 EOF
	want := fmt.Sprintf("%02x:%02x:%d", unix.Major(uint64(stat.Dev)), unix.Minor(uint64(stat.Dev)), stat.Ino)
	for line := range strings.Lines(string(locks)) {
		fields := strings.Fields(line)
		if len(fields) >= 6 && fields[1] == "FLOCK" && fields[5] == want {
			if pid, err := strconv.Atoi(fields[4]); err == nil && pid > 0 {
				return pid
			}
		}
	}
	return 0
}
