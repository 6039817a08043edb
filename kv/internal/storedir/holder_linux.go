package storedir

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"

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

// commandOf is the command line of a process, cut if it is long; "" if it is not seen.
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
	line := []rune(strings.Join(words, " "))
	for i, r := range line {
		if unicode.IsControl(r) && r < 0x80 {
			line[i] = ' '
		}
	}
	if len(line) > 80 {
		return string(line[:80]) + "…"
	}
	return string(line)
}
