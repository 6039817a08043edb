package lsm

import (
	"errors"
	"runtime"
	"strings"
)

// A badgerLog learns from what Badger says which writes failed, and how many memtables are closed. Nobody needs the
// rest.
type badgerLog struct{ failure *writeFailure }

// What Badger says of writes that failed, and of memtables, begins so; tests with failing writes hold it to that.
const (
	commitFailed = "writeRequests:"
	flushFailed  = "error flushing memtable to disk"
	flushBegins  = "Flushing memtable"
)

// Errorf takes note of a transaction of which nobody knows how much is on disk, and ends the goroutine that flushes
// memtables if it would try for ever; Badger has it end like any other.
func (l badgerLog) Errorf(format string, args ...any) {
	flushing := strings.HasPrefix(format, flushFailed)
	if flushing || strings.HasPrefix(format, commitFailed) {
		l.failure.set(firstError(args))
	}
	if flushing {
		runtime.Goexit()
	}
}

func (badgerLog) Warningf(string, ...any) {}
func (badgerLog) Infof(string, ...any)    {}

// Debugf counts the memtables that are closed.
func (l badgerLog) Debugf(format string, _ ...any) {
	if strings.HasPrefix(format, flushBegins) {
		l.failure.flushes.Add(1)
	}
}

// firstError is the error among the arguments of a message.
func firstError(args []any) error {
	for _, arg := range args {
		if err, ok := arg.(error); ok {
			return err
		}
	}
	return errors.New("a table was not written")
}
