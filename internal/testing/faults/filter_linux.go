//go:build linux && (amd64 || arm64)

package faults

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// noArgument stands for an argument that an operation does not have.
const noArgument = -1

// A class tells operations apart by which faults they can have.
type class uint8

const (
	grows   class = iota // takes room
	syncs                // makes durable
	renames              // changes a name
	creates              // makes a file or directory
	removes
)

// An operation is a system call that changes files. Of its arguments, file is the number of an open file, and path the
// address of a path, the one before which is the directory that it is relative to.
type operation struct {
	name       string
	class      class
	file, path int
}

// operations are all that the Go runtime and its libraries change files with.
var operations = map[int32]operation{
	unix.SYS_WRITE:           {"write", grows, 0, noArgument},
	unix.SYS_PWRITE64:        {"pwrite", grows, 0, noArgument},
	unix.SYS_WRITEV:          {"writev", grows, 0, noArgument},
	unix.SYS_PWRITEV:         {"pwritev", grows, 0, noArgument},
	unix.SYS_PWRITEV2:        {"pwritev2", grows, 0, noArgument},
	unix.SYS_SENDFILE:        {"sendfile", grows, 0, noArgument},
	unix.SYS_COPY_FILE_RANGE: {"copy_file_range", grows, 2, noArgument},
	unix.SYS_SPLICE:          {"splice", grows, 2, noArgument},
	unix.SYS_FALLOCATE:       {"fallocate", grows, 0, noArgument},
	unix.SYS_FTRUNCATE:       {"ftruncate", grows, 0, noArgument},
	unix.SYS_FSYNC:           {"fsync", syncs, 0, noArgument},
	unix.SYS_FDATASYNC:       {"fdatasync", syncs, 0, noArgument},
	unix.SYS_MSYNC:           {"msync", syncs, noArgument, noArgument},
	unix.SYS_RENAMEAT:        {"rename", renames, noArgument, 3},
	unix.SYS_RENAMEAT2:       {"rename", renames, noArgument, 3},
	unix.SYS_LINKAT:          {"link", creates, noArgument, 3},
	unix.SYS_SYMLINKAT:       {"symlink", creates, noArgument, 2},
	unix.SYS_MKDIRAT:         {"mkdir", creates, noArgument, 1},
	unix.SYS_OPENAT:          {"create", creates, noArgument, 1},
	unix.SYS_UNLINKAT:        {"unlink", removes, noArgument, 1},
}

// filter is the program that the kernel runs on every system call of the process: operations go to whoever watches,
// writes to the three standard files and the opening of files that must be there do not.
func filter() []unix.SockFilter {
	const (
		number  = 0  // where struct seccomp_data holds the number of the call
		first   = 16 // its first argument, low half first
		flags   = first + 2*8
		load    = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal   = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		greater = unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K
		hasBits = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
		answer  = unix.BPF_RET | unix.BPF_K
	)
	program := []unix.SockFilter{{Code: load, K: number}}
	for call := range operations {
		switch call {
		case unix.SYS_WRITE:
			program = append(program, unix.SockFilter{Code: equal, K: uint32(call), Jf: 4},
				unix.SockFilter{Code: load, K: first},
				unix.SockFilter{Code: greater, K: 2, Jf: 1},
				unix.SockFilter{Code: answer, K: unix.SECCOMP_RET_USER_NOTIF},
				unix.SockFilter{Code: answer, K: unix.SECCOMP_RET_ALLOW})
		case unix.SYS_OPENAT:
			program = append(program, unix.SockFilter{Code: equal, K: uint32(call), Jf: 4},
				unix.SockFilter{Code: load, K: flags},
				unix.SockFilter{Code: hasBits, K: unix.O_CREAT, Jf: 1},
				unix.SockFilter{Code: answer, K: unix.SECCOMP_RET_USER_NOTIF},
				unix.SockFilter{Code: answer, K: unix.SECCOMP_RET_ALLOW})
		default:
			program = append(program, unix.SockFilter{Code: equal, K: uint32(call), Jf: 1},
				unix.SockFilter{Code: answer, K: unix.SECCOMP_RET_USER_NOTIF})
		}
	}
	return append(program, unix.SockFilter{Code: answer, K: unix.SECCOMP_RET_ALLOW})
}

// Begin has the process that was started by Run be watched from here on. In any other it does nothing.
func Begin() error {
	text := os.Getenv(variable)
	if text == "" {
		return nil
	}
	socket, err := strconv.Atoi(text)
	if err != nil {
		return fmt.Errorf("%s: %w", variable, err)
	}
	runtime.LockOSThread() // the filter is for all threads, but set by one that may
	defer runtime.UnlockOSThread()
	listener, err := listen()
	if err != nil {
		return err
	}
	err = unix.Sendmsg(socket, []byte{0}, unix.UnixRights(listener), nil, 0)
	return errors.Join(err, unix.Close(listener), unix.Close(socket))
}

// listen sets the filter for all threads of the process, and returns the file from which operations are read.
func listen() (int, error) {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	program := filter()
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	// Without the last flag a signal, with which the Go runtime interrupts its threads, would have a call begin again.
	const how = unix.SECCOMP_FILTER_FLAG_TSYNC | unix.SECCOMP_FILTER_FLAG_NEW_LISTENER |
		unix.SECCOMP_FILTER_FLAG_TSYNC_ESRCH | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	file, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, how, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return 0, fmt.Errorf("%w: %w", ErrUnsupported, errno)
	}
	return int(file), nil
}
