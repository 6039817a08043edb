//go:build linux && (amd64 || arm64)

package faults

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// CheckSupport returns ErrUnsupported where Run cannot watch a process.
func CheckSupport() error {
	action := uint32(unix.SECCOMP_RET_USER_NOTIF)
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	if errno != 0 {
		return fmt.Errorf("%w: %w", ErrUnsupported, errno)
	}
	return nil
}

// Run starts a command, which calls Begin, and waits for its end. The command must have no ExtraFiles, and an Env.
func Run(command *exec.Cmd, plan Plan) (outcome Outcome, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return outcome, err
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "watcher"), os.NewFile(uintptr(pair[1]), "watched")
	defer func() { err = errors.Join(err, ours.Close()) }()
	const firstExtra = 3
	command.ExtraFiles = []*os.File{theirs}
	command.Env = append(command.Env, variable+"="+strconv.Itoa(firstExtra))
	if err := command.Start(); err != nil {
		return outcome, errors.Join(err, theirs.Close())
	}
	end := make(chan error, 1)
	go func() { end <- command.Wait() }()
	if err := theirs.Close(); err != nil {
		return outcome, errors.Join(err, command.Process.Kill(), <-end)
	}
	listener, err := receive(pair[0])
	if err != nil {
		killing := command.Process.Kill()
		return outcome, errors.Join(fmt.Errorf("a process that does not call Begin: %w", err), killing, <-end)
	}
	w := &watcher{plan: plan, listener: listener, process: command.Process, done: make(chan error, 1)}
	if plan.Kind == Power {
		if w.disk, err = newDisk(plan.Dir); err != nil {
			return outcome, errors.Join(err, command.Process.Kill(), <-end)
		}
	}
	go func() { w.done <- w.watch() }()
	most := plan.Most
	if most == 0 {
		most = time.Minute
	}
	limit := time.NewTimer(most)
	defer limit.Stop()
	select {
	case outcome.Err = <-end:
	case <-limit.C:
		killing := command.Process.Kill()
		outcome.Err = errors.Join(ErrHung, killing, <-end)
	}
	err = errors.Join(<-w.done, unix.Close(listener))
	if plan.Kind == Power && plan.At > w.count {
		w.operation = afterwards
	}
	outcome.Operations, outcome.Operation = w.count, w.operation
	if err == nil && w.disk != nil && w.operation != "" {
		var torn *rand.Rand
		if plan.Torn != 0 {
			torn = rand.New(rand.NewPCG(plan.Torn, uint64(plan.At)))
		}
		err = w.disk.cut(torn)
	}
	return outcome, err
}

// receive takes the file that Begin sends.
func receive(socket int) (int, error) {
	message, rights := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	n, length, _, _, err := unix.Recvmsg(socket, message, rights, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return 0, err
	}
	if n == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	messages, err := unix.ParseSocketControlMessage(rights[:length])
	if err != nil {
		return 0, err
	}
	for _, m := range messages {
		files, err := unix.ParseUnixRights(&m)
		if err != nil {
			return 0, err
		}
		if len(files) == 1 {
			return files[0], nil
		}
	}
	return 0, io.ErrUnexpectedEOF
}

// afterwards is the Operation of a power failure once the process has ended.
const afterwards = "the end"

// A watcher answers the operations of one process.
type watcher struct {
	plan     Plan
	listener int
	process  *os.Process
	done     chan error
	disk     *disk           // nil unless the power fails
	written  map[string]bool // the paths of files whose writes are durable

	count     int64
	operation string
}

// A notice is the kernel's struct seccomp_notif, an answer its struct seccomp_notif_resp.
type (
	notice struct {
		id    uint64
		pid   uint32
		flags uint32
		call  int32
		arch  uint32
		at    uint64
		args  [6]uint64
	}
	answer struct {
		id    uint64
		value int64
		errno int32
		flags uint32
	}
)

// watch answers until the process has ended.
func (w *watcher) watch() error {
	for {
		poll := []unix.PollFd{{Fd: int32(w.listener), Events: unix.POLLIN}}
		_, err := unix.Poll(poll, -1)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		if poll[0].Revents&unix.POLLIN == 0 {
			return nil // it has no threads left
		}
		var question notice
		err = w.control(unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&question))
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EINTR) {
			continue // the thread has ended
		}
		if err != nil {
			return err
		}
		reply := answer{id: question.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
		errno, killed := w.meet(&question)
		if !killed && w.disk != nil {
			if err := w.sync(&question); err != nil {
				return err
			}
		}
		if killed {
			if err := w.process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
				return err
			}
			continue
		}
		if errno != 0 {
			reply = answer{id: question.id, errno: -int32(errno)}
		}
		err = w.control(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&reply))
		if err != nil && !errors.Is(err, unix.ENOENT) {
			return err
		}
	}
}

func (w *watcher) control(request uintptr, data unsafe.Pointer) error {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(w.listener), request, uintptr(data))
	if errno != 0 {
		return errno
	}
	return nil
}

// meet counts an operation, and returns its outcome: an error, the end of the process, or nothing.
func (w *watcher) meet(question *notice) (errno unix.Errno, killed bool) {
	op := operations[question.call]
	path, ours := w.path(question, op)
	if !ours {
		return 0, false
	}
	switch w.plan.Kind {
	case NoSpace:
		if op.class != grows && op.class != creates || op.class == creates && exists(path) {
			return 0, false
		}
		errno = unix.ENOSPC
	case IO:
		if op.class == removes {
			return 0, false
		}
		errno = unix.EIO
	}
	w.count++
	if w.plan.At == 0 || w.count < w.plan.At || w.count > w.plan.At && !w.plan.Lasting {
		return 0, false
	}
	if w.operation == "" {
		w.operation = strings.TrimSpace(op.name + " " + path)
	}
	return errno, w.plan.Kind == Kill || w.plan.Kind == Power
}

// sync has what an operation makes durable be so: a write to a file that was opened so is over before the next
// operation.
func (w *watcher) sync(question *notice) error {
	if w.operation != "" {
		return nil
	}
	for path := range w.written { // an operation of another thread may come before the write
		if err := w.disk.sync(path); err != nil {
			return err
		}
	}
	op := operations[question.call]
	path, ours := w.path(question, op)
	switch {
	case !ours:
		return nil
	case question.call == unix.SYS_MSYNC:
		return w.disk.syncMapping(question.pid, question.args[0])
	case op.class == syncs:
		return w.disk.sync(path)
	case op.class == grows && syncsWrites(question.pid, int32(question.args[op.file])):
		if w.written == nil {
			w.written = map[string]bool{}
		}
		w.written[path] = true
	}
	return nil
}

// syncsWrites says whether a process has opened a file such that what it writes is durable.
func syncsWrites(pid uint32, file int32) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%d", pid, file))
	if err != nil {
		return false
	}
	var pos int64
	var flags int
	_, err = fmt.Sscanf(string(text), "pos: %d\nflags: %o", &pos, &flags)
	return err == nil && flags&unix.O_DSYNC != 0
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// path is that of the file which an operation is about, and whether it is under the directory of the plan. A mapping
// has none, and is under it.
func (w *watcher) path(question *notice, op operation) (path string, ours bool) {
	process := fmt.Sprintf("/proc/%d/", question.pid)
	switch {
	case op.file != noArgument:
		path = readLink(process + fmt.Sprintf("fd/%d", int32(question.args[op.file])))
	case op.path != noArgument:
		path = readPath(process+"mem", int64(question.args[op.path]))
		if !filepath.IsAbs(path) {
			from := process + "cwd"
			if directory := int32(question.args[op.path-1]); directory != unix.AT_FDCWD {
				from = process + fmt.Sprintf("fd/%d", directory)
			}
			path = filepath.Join(readLink(from), path)
		}
	default:
		return "", true
	}
	return path, path == w.plan.Dir || strings.HasPrefix(path, w.plan.Dir+string(filepath.Separator))
}

// readLink is where a link of /proc leads; empty where there is none, of a file that is not open.
func readLink(name string) string {
	path, err := os.Readlink(name)
	if err != nil {
		return ""
	}
	return path
}

// readPath reads a path from the memory of a process; empty where there is none.
func readPath(memory string, at int64) string {
	f, err := os.Open(memory)
	if err != nil {
		return "" // the process has ended
	}
	text := make([]byte, unix.PathMax)
	n, err := f.ReadAt(text, at)
	if err = errors.Join(err, f.Close()); n == 0 && err != nil {
		return ""
	}
	path, _, _ := bytes.Cut(text[:n], []byte{0}) // as far as it is mapped
	return string(path)
}
