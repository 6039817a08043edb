// Package mapped turns faults of mapped files into errors. Where a mapped file is cut short, or the disk cannot read a
// page of it, the system stops whoever touches the page; the Go runtime then ends the process, unless the goroutine
// asked for a panic instead.
package mapped

import (
	"fmt"
	"runtime/debug"
)

// A Fault is the panic of a goroutine that touched a page the system could not give it.
type Fault struct {
	Path string // of the mapped file; "" where the system does not tell
}

func (f *Fault) Error() string {
	path := f.Path
	if path == "" {
		path = "a mapped file"
	}
	return path + " is cut short, or the disk cannot read it"
}

// Watch has faults of the calling goroutine panic until the function that it returns is called:
//
//	defer mapped.Watch()()
//
// Only the calling goroutine is watched.
func Watch() (restore func()) {
	if debug.SetPanicOnFault(true) {
		return func() {}
	}
	return func() { debug.SetPanicOnFault(false) }
}

// FaultOf is the fault that a value recovered from a panic stands for; nil where it is another panic.
func FaultOf(value any) *Fault {
	fault, ok := value.(interface{ Addr() uintptr })
	if !ok {
		return nil
	}
	return &Fault{Path: fileAt(fault.Addr())}
}

// Guard calls use. A fault of it, in the calling goroutine, is its error.
func Guard(use func() error) (err error) {
	defer Watch()()
	defer func() {
		if p := recover(); p != nil {
			fault := FaultOf(p)
			if fault == nil {
				panic(p)
			}
			err = fmt.Errorf("reading mapped memory: %w", fault)
		}
	}()
	return use()
}
