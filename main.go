// Graphcleaner finds and corrects mislabelled nodes in graphs that do not fit in memory. Its commands are described by
// graphcleaner --help.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/graphcleaner/graphcleaner/shell"
)

func main() { os.Exit(run()) }

// run ends the context at the first Ctrl-C, SIGTERM or SIGHUP; from then on a second one kills the program. A SIGHUP that is
// ignored, as nohup has it, stays ignored.
func run() int {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	defer stop()
	context.AfterFunc(ctx, stop)
	return shell.Main(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}
