package durable

import (
	"os"

	"golang.org/x/sys/unix"
)

// SyncData makes what was written to a file durable, with what is needed to read it. Unlike File.Sync it leaves the
// time of the change.
func SyncData(f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var syncing error
	err = raw.Control(func(fd uintptr) {
		for syncing = unix.EINTR; syncing == unix.EINTR; {
			syncing = unix.Fdatasync(int(fd))
		}
	})
	if err == nil && syncing != nil {
		err = &os.PathError{Op: "fdatasync", Path: f.Name(), Err: syncing}
	}
	return err
}
