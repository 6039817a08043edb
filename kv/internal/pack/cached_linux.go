package pack

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// tellsCached says whether the system tells which parts of a file are in memory: only to who may write to it. To
// others it says that all are.
func tellsCached(path string) bool { return unix.Access(path, unix.W_OK) == nil }

// isCached says whether a part of a mapped file is in memory.
func isCached(data []byte, from, to int) bool {
	from -= from % os.Getpagesize()
	var pages [64]byte
	count := (to - from + os.Getpagesize() - 1) / os.Getpagesize()
	if count == 0 || count > len(pages) {
		return false
	}
	_, _, errno := unix.Syscall(unix.SYS_MINCORE,
		uintptr(unsafe.Pointer(&data[from])), uintptr(to-from), uintptr(unsafe.Pointer(&pages[0])))
	if errno != 0 {
		return false
	}
	for _, page := range pages[:count] {
		if page&1 == 0 {
			return false
		}
	}
	return true
}
