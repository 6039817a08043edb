package lsm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
)

// A badgerLog learns from what Badger says which writes failed, and hands it on. Information, of which there is much at
// every opening, is for who looks for a fault.
type badgerLog struct {
	log     *slog.Logger
	failure *writeFailure
}

// What Badger says of writes that failed, and of memtables, begins so; tests with failing writes hold it to that.
const (
	commitFailed = "writeRequests:"
	flushFailed  = "error flushing memtable to disk"
	flushBegins  = "Flushing memtable"
)

func (l badgerLog) say(level slog.Level, format string, args []any) {
	ctx := context.Background()
	if l.log.Enabled(ctx, level) {
		l.log.LogAttrs(ctx, level, strings.TrimSpace(fmt.Sprintf(format, args...)), slog.String("by", "badger"))
	}
}

// Errorf takes note of a transaction of which nobody knows how much is on disk, and ends the goroutine that flushes
// memtables if it would try for ever; Badger has it end like any other.
func (l badgerLog) Errorf(format string, args ...any) {
	l.say(slog.LevelError, format, args)
	flushing := strings.HasPrefix(format, flushFailed)
	if flushing || strings.HasPrefix(format, commitFailed) {
		l.failure.set(firstError(args))
	}
	if flushing {
		runtime.Goexit()
	}
}

func (l badgerLog) Warningf(format string, args ...any) { l.say(slog.LevelWarn, format, args) }
func (l badgerLog) Infof(format string, args ...any)    { l.say(slog.LevelDebug, format, args) }

// Debugf counts the memtables that are closed.
func (l badgerLog) Debugf(format string, args ...any) {
	l.say(slog.LevelDebug, format, args)
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
