// Graphcleaner finds and corrects mislabelled nodes in graphs that do not fit in memory. Its commands are described by
// graphcleaner --help.
package main

import (
	"os"

	"github.com/graphcleaner/graphcleaner/shell"
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := shell.UntilSignal()
	defer stop()
	return shell.Main(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}
