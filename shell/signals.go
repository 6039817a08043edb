package shell

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

// UntilSignal returns the context for Main in a process of its own: the first Ctrl-C, SIGTERM or SIGHUP ends it; from
// then on a second one kills the process. A SIGHUP that is ignored, as nohup has it, stays ignored.
func UntilSignal() (context.Context, context.CancelFunc) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	context.AfterFunc(ctx, stop)
	if number, err := strconv.Atoi(os.Getenv(parentVariable)); err == nil {
		if parent, err := os.FindProcess(number); err == nil {
			go endAfter(ctx, parent, stop)
		}
	}
	return ctx, stop
}

// parentVariable is the environment variable in which a program that runs a command, such as the Python package, writes
// the number of its process. The command ends when that process is gone, however it went.
const parentVariable = "GRAPHCLEANER_PARENT"

// endAfter calls stop when a process is gone. Until somebody has asked how it ended, a signal still finds it, but its
// children have another parent.
func endAfter(ctx context.Context, process *os.Process, stop context.CancelFunc) {
	parent := os.Getppid()
	tick := time.NewTicker(500 * time.Millisecond)
	for os.Getppid() == parent && !errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
	stop()
}
