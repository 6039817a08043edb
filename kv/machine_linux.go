package kv

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// machineMemory is the machine's memory in bytes, or the limit of this process's control group where that is lower.
func machineMemory() int64 {
	total := int64(math.MaxInt64)
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err == nil {
		total = int64(info.Totalram) * int64(info.Unit)
	}
	return min(total, controlGroupMemory("/proc/self/cgroup", "/sys/fs/cgroup"))
}

// controlGroupMemory is the least memory limit on the way from this process's control group to the root, version 2 or
// 1; the largest int64 where there is none.
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

// lockHolder finds who holds the lock on a directory in the kernel's list of locks; zero where it is not seen.
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

// commandOf is the command line of a process, cut where it is long; "" where it is not seen.
func commandOf(pid int) string {
	if pid <= 0 {
		return ""
	}
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	if err != nil {
		return "" // it has ended, or is another user's
	}
	words := strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
	if words[0] == "" {
		return "" // it is ending, or has written over its arguments
	}
	words[0] = filepath.Base(words[0])
	line := strings.Map(func(r rune) rune {
		if isControl(r) || r == '\t' {
			return ' '
		}
		return r
	}, strings.Join(words, " "))
	if cut := firstRunes(line, 80); cut != line {
		return cut + "…"
	}
	return line
}
