//go:build unix

package main

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// peakResident is the most memory in bytes that a process that has ended held resident.
func peakResident(state *os.ProcessState) int64 {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int64(usage.Maxrss)
	}
	return int64(usage.Maxrss) << 10
}

// endedBy is the number of the signal that ended a process, zero where none did.
func endedBy(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return int(status.Signal())
	}
	return 0
}

// apart puts a command into a process group of its own, so that Ctrl-C reaches it once: through this program.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
