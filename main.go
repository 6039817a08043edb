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

// run ends the context at the first Ctrl-C or SIGTERM; from then on a second one kills the program.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return shell.Main(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}
