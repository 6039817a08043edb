package shell

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/graphcleaner/graphcleaner/internal/began"
)

// processKey is the key of when the process of a context began, a time.
type processKey struct{}

// UntilSignal returns the context for Main in a process of its own: the first Ctrl-C, SIGTERM or SIGHUP ends it; from then
// on a second one kills the process. A SIGHUP that is ignored, as nohup has it, stays ignored. The time since the process began is a part of
// the command, for --stats.
func UntilSignal() (context.Context, context.CancelFunc) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.WithValue(context.Background(), processKey{}, began.At), signals...)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}
