package holder

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// peerOf returns the user and the process at the other end of a connection.
func peerOf(conn syscall.RawConn) (uid, pid int, err error) {
	var credentials *unix.Ucred
	var failed error
	err = conn.Control(func(fd uintptr) {
		credentials, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		return 0, 0, err
	}
	return int(credentials.Uid), int(credentials.Pid), nil
}
