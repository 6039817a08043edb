// Package logged hands log records to a function.
package logged

import (
	"context"
	"log/slog"
)

type handler func(what string, attrs map[string]any)

// To is a logger that calls to with each message and its attributes.
func To(to func(what string, attrs map[string]any)) *slog.Logger { return slog.New(handler(to)) }

func (h handler) Enabled(context.Context, slog.Level) bool { return true }

func (h handler) Handle(_ context.Context, r slog.Record) error {
	attrs := map[string]any{"level": r.Level}
	r.Attrs(func(a slog.Attr) bool {
		attrs[a.Key] = a.Value.Any()
		return true
	})
	h(r.Message, attrs)
	return nil
}

func (h handler) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h handler) WithGroup(string) slog.Handler      { return h }
