package lsm

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
)

// A badgerLog hands on what Badger says of itself. Its information, of which there is much at every opening, is for who
// looks for a fault.
type badgerLog struct{ log *slog.Logger }

func (l badgerLog) say(level slog.Level, format string, args []any) {
	ctx := context.Background()
	if l.log.Enabled(ctx, level) {
		l.log.LogAttrs(ctx, level, strings.TrimSpace(fmt.Sprintf(format, args...)), slog.String("by", "badger"))
	}
}

func (l badgerLog) Errorf(format string, args ...any)   { l.say(slog.LevelError, format, args) }
func (l badgerLog) Warningf(format string, args ...any) { l.say(slog.LevelWarn, format, args) }
func (l badgerLog) Infof(format string, args ...any)    { l.say(slog.LevelDebug, format, args) }
func (l badgerLog) Debugf(format string, args ...any)   { l.say(slog.LevelDebug, format, args) }
