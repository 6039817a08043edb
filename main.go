// Graphcleaner finds wrong labels in graphs, including graphs too large for memory. Its commands are described by
// graphcleaner --help.
package main

import (
	"os"

	"github.com/graphcleaner/graphcleaner/shell"
)

func main() {
	growStack(false)
	ctx, stop := shell.UntilSignal()
	code := shell.Main(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// commandStack is how much of the stack a command takes that opens a store and asks one question, in bytes.
const commandStack = 60 << 10

// growStack makes the stack of the goroutine large enough for a command at once. Else it grows step by step as calls go deeper, and each step
// copies what is on it and looks up its frames: 6 to 9% of the processor time of a question. Whoever enters the function gets the stack, so the
// room is not used.
//
//go:noinline
func growStack(use bool) byte {
	if !use {
		return 0
	}
	var room [commandStack]byte
	return room[len(os.Args)]
}
