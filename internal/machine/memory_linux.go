package machine

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// memory is the machine's memory in bytes, or the limit of this process's control group if that is lower.
func memory() int64 {
	total := int64(math.MaxInt64)
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err == nil {
		total = int64(info.Totalram) * int64(info.Unit)
	}
	return min(total, controlGroupMemory("/proc/self/cgroup", "/sys/fs/cgroup"))
}

// controlGroupMemory is the least memory limit on the way from this process's control group to the root, version 2 or
// 1; the largest int64 if there is none.
func controlGroupMemory(membership, root string) int64 {
	limit := int64(math.MaxInt64)
	text, err := os.ReadFile(membership)
	if err != nil {
		return limit // no control groups
	}
	for line := range strings.Lines(string(text)) {
		var base, file string
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3) // id:controllers:path
		switch {
		case len(fields) == 3 && fields[1] == "":
			base, file = root, "memory.max"
		case len(fields) == 3 && fields[1] == "memory":
			base, file = filepath.Join(root, "memory"), "memory.limit_in_bytes"
		default:
			continue
		}
		for dir := fields[2]; ; dir = filepath.Dir(dir) {
			if text, err := os.ReadFile(filepath.Join(base, dir, file)); err == nil {
				// "max" is no number, and no limit.
				if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 {
					limit = min(limit, n)
				}
			}
			if dir == "/" || dir == "." || dir == "" {
				break
			}
		}
	}
	return limit
}
