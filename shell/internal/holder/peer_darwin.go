package holder

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// peerOf returns the user and the process at the other end of a connection.
func peerOf(conn syscall.RawConn) (uid, pid int, err error) {
	var credentials *unix.Xucred
	var failed error
	err = conn.Control(func(fd uintptr) {
		if credentials, failed = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED); failed == nil {
			pid, failed = unix.GetsockoptInt(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERPID)
		}
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		return 0, 0, err
	}
	return int(credentials.Uid), pid, nil
}
