// Graphcleaner finds wrong labels in graphs, including graphs too large for memory. Its commands are described by
// graphcleaner --help.
package main

import (
	"os"

	"github.com/graphcleaner/graphcleaner/shell"
)

func main() {
	ctx, stop := shell.UntilSignal()
	code := shell.Main(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
