package kv

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// An Event is something that an open store did, for Options.Observe.
type Event struct {
	Kind     string        // EventOpen and so on
	Dir      string        // of the store
	Duration time.Duration // zero for an event without duration
	Records  int64         // written, deleted or read, if they are counted
	Bytes    int64         // of their keys and values
	Err      error         // why it failed, or nil

	// Commit is the number of the commit after an EventCommit without error, as Tx.LastCommit tells it; else zero.
	Commit uint64
}

// The kinds of events. Those marked with a star have Records and Bytes.
const (
	EventOpen       = "open"           // Open or Create, with the replay and sweep after a crash
	EventCommit     = "commit"         // * one transaction, or why it failed; Duration is of the sync, without closures
	EventBulkWrite  = "bulk write"     // * a Bulk, from its begin until all its writes are on disk, or until Abort
	EventBulkSwitch = "bulk switch"    // Bulk.Commit made the writes visible
	EventSweep      = "sweep"          // * unused packs were removed
	EventCompact    = "compact"        // Compact
	EventCheck      = "check"          // Check
	EventBackup     = "backup"         // * Backup
	EventCorrupt    = "corrupt record" // a read found a damaged record; Err is an ErrCorrupt that names it
	EventClose      = "close"          // Close
)

// level is how much an event matters to who reads a log.
func (e Event) level() slog.Level {
	switch {
	case e.Kind == EventCorrupt:
		return slog.LevelError
	case e.Err != nil:
		return slog.LevelWarn
	case e.Kind == EventCommit || e.Kind == EventSweep:
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// observe reports an event that began at a time, zero if it has no duration.
func (s *Store) observe(e Event, began time.Time) {
	e.Dir = s.dir
	if !began.IsZero() {
		e.Duration = time.Since(began)
	}
	if s.opt.Logger != nil {
		logEvent(s.opt.Logger, e)
	}
	if s.opt.Observe != nil {
		s.opt.Observe(e)
	}
}

func logEvent(log *slog.Logger, e Event) {
	attrs := []slog.Attr{slog.String("store", e.Dir)}
	if e.Duration > 0 {
		attrs = append(attrs, slog.Duration("duration", e.Duration))
	}
	if e.Records > 0 {
		attrs = append(attrs, slog.Int64("records", e.Records), slog.Int64("bytes", e.Bytes))
	}
	if e.Err != nil {
		attrs = append(attrs, slog.Any("error", e.Err))
	}
	log.LogAttrs(context.Background(), e.level(), e.Kind, attrs...)
}

// damaged reports a record that could not be decoded, and returns err.
func (s *Store) damaged(err error) error {
	if err != nil && errors.Is(err, ErrCorrupt) {
		s.observe(Event{Kind: EventCorrupt, Err: err}, time.Time{})
	}
	return err
}

// committed reports a transaction that was committed, or failed; began is when that began.
func (s *Store) committed(tx *Tx, began time.Time) {
	e := Event{Kind: EventCommit, Records: tx.puts, Bytes: tx.putBytes, Err: tx.result}
	if e.Err == nil {
		e.Commit = tx.last
	}
	s.observe(e, began)
}
