package memdir

import "golang.org/x/sys/unix"

const memory = "/dev/shm"

// room is how many bytes the file system in memory has free; 0 where there is none.
func room() int64 {
	var stat unix.Statfs_t
	if unix.Statfs(memory, &stat) != nil || stat.Type != unix.TMPFS_MAGIC {
		return 0
	}
	return int64(stat.Bavail) * stat.Bsize
}
