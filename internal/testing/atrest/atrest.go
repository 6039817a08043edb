// Package atrest tells a test when a process waits, so that no test has to guess how long that takes.
package atrest

import (
	"bytes"
	"runtime"
	"time"
)

// Wait returns once no other goroutine computes: all wait for input, for room in a pipe, for each other or for a
// time, or are in a call of the system.
func Wait() {
	var before []byte
	for {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		_, others, _ := bytes.Cut(stacks, []byte("\n\n"))                            // the first stack is that of the caller
		if !bytes.Contains(others, []byte(" [run")) && bytes.Equal(others, before) { // [running] or [runnable]
			return
		}
		before = others
		time.Sleep(5 * time.Millisecond)
	}
}
