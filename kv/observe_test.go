package kv

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A witness keeps the events of a store.
type witness struct {
	mu     sync.Mutex
	events []Event
}

func (w *witness) observe(e Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, e)
}

// take returns the kinds of the events since it was called last, and the last of them.
func (w *witness) take() (kinds []EventKind, last Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.events {
		kinds, last = append(kinds, e.Kind), e
	}
	w.events = nil
	return kinds, last
}

func TestEventsAndCounters(t *testing.T) {
	var w witness
	s := newStore(t, Options{Observe: w.observe})
	counted := s.Counters()
	step := func(name string, want []EventKind, err error, do func() error) (Event, Counters) {
		t.Helper()
		if got := do(); !errors.Is(got, err) {
			t.Errorf("%s: got %v, want %v", name, got, err)
		}
		kinds, last := w.take()
		if !slices.Equal(kinds, want) {
			t.Errorf("%s: got the events %v, want %v", name, kinds, want)
		}
		if last.Dir != s.Dir() || !errors.Is(last.Err, err) || last.Duration <= 0 && last.Kind != EventCorrupt {
			t.Errorf("%s: the last event is %+v", name, last)
		}
		before := counted
		counted = s.Counters()
		return last, Counters{
			Commits: counted.Commits - before.Commits, FailedCommits: counted.FailedCommits - before.FailedCommits,
			CommitRecords: counted.CommitRecords - before.CommitRecords, Bulks: counted.Bulks - before.Bulks,
			BulkRecords: counted.BulkRecords - before.BulkRecords, Corrupt: counted.Corrupt - before.Corrupt,
			CacheHits: counted.CacheHits - before.CacheHits, CacheMisses: counted.CacheMisses - before.CacheMisses,
		}
	}
	step("Create", []EventKind{EventCommit, EventOpen}, nil, func() error { return nil })

	last, got := step("Update", []EventKind{EventCommit}, nil, func() error {
		return s.Update(func(tx *Tx) error {
			_, err := tx.AddNode(Node{ID: "a"})
			return errors.Join(err, tx.PutDocument("d", "k", "v"))
		})
	})
	// Both ends of the id, the document, the catalogue, which has a graph since, and the counts.
	if last.Records != 5 || last.Bytes < 50 || got.Commits != 1 || got.CommitRecords != 5 {
		t.Errorf("Update: got the event %+v and %+v, want 5 records", last, got)
	}
	failure := errors.New("failure")
	if err := s.Update(func(*Tx) error { return failure }); !errors.Is(err, failure) {
		t.Error(err)
	}
	if kinds, _ := w.take(); len(kinds) > 0 {
		t.Errorf("an Update whose closure fails commits nothing, and has the events %v", kinds)
	}

	_, got = step("Bulk", []EventKind{EventCommit, EventBulkWrite, EventCommit, EventBulkSwitch}, nil, func() error {
		b, err := s.Bulk()
		if err != nil {
			return err
		}
		w, err := b.Column("x", KindInt)
		return errors.Join(err, w.Put(0, IntValue(1)), b.Commit(nil))
	})
	if got.Bulks != 1 || got.BulkRecords != 1 || got.Commits != 2 {
		t.Errorf("Bulk: got %+v, want 1 bulk of 1 record", got)
	}

	_, got = step("DropColumn", []EventKind{EventCommit, EventSweep}, nil, func() error {
		return s.Update(func(tx *Tx) error { return tx.DropColumn("x") })
	})
	if got.BulkRecords != 1 {
		t.Errorf("DropColumn: got %+v, want 1 record deleted", got)
	}

	step("Check", []EventKind{EventCheck}, nil, func() error {
		return s.Check(t.Context(), nil, func(p Problem) { t.Error(p) })
	})
	last, _ = step("Backup", []EventKind{EventBackup}, nil, func() error {
		_, err := s.Backup(t.Context(), io.Discard, BackupOptions{})
		return err
	})
	if last.Records == 0 || last.Bytes == 0 {
		t.Errorf("Backup: got the event %+v, want records and bytes", last)
	}
	_, _ = step("Compact", []EventKind{
		EventCommit, EventBulkWrite, EventCommit, EventBulkSwitch, EventSweep, EventCompact,
	}, nil, func() error { return s.Compact(t.Context(), nil) })

	key := documentKey("d", "k")
	value := slices.Clone(rawValue(t, s, record.PartKey(key, 0)))
	value[len(value)-1] ^= 1
	writeRaw(t, s, record.PartKey(key, 0), value)
	last, got = step("damage", []EventKind{EventCorrupt}, ErrCorrupt, func() error {
		return s.View(func(tx *Tx) error {
			var text string
			return tx.Document("d", "k", &text)
		})
	})
	if got.Corrupt != 1 || !strings.Contains(last.Err.Error(), "document") {
		t.Errorf("damage: got the event %v and %+v, want 1 damaged record, a document", last.Err, got)
	}
	step("Close", []EventKind{EventClose}, nil, s.Close)
}

func TestCacheCounters(t *testing.T) {
	s := checkedStore(t)
	before := s.Counters()
	const times = 5
	for range times {
		view(t, s, func(tx *Tx) error { _, err := tx.Position(3); return err })
	}
	after := s.Counters()
	if hits, misses := after.CacheHits-before.CacheHits, after.CacheMisses-before.CacheMisses; hits != times-1 || misses != 1 {
		t.Errorf("%d lookups of one record: got %d hits and %d misses, want all but the first in memory", times, hits, misses)
	}
	if got := after.Snapshots - before.Snapshots; got != times {
		t.Errorf("got %d snapshots, want %d", got, times)
	}
}

func TestLogger(t *testing.T) {
	var text bytes.Buffer
	log := slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s := newStore(t, Options{Logger: log})
	update(t, s, func(tx *Tx) error { return tx.PutDocument("d", "k", "v") })
	closeStore(t, s)
	for _, want := range []string{
		"level=INFO msg=open store=" + s.Dir(), "level=DEBUG msg=commit store=" + s.Dir(), "records=1", "level=INFO msg=close",
		"by=badger", // at the level of debugging
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the log has no %q:\n%s", want, &text)
		}
	}
	if strings.Contains(text.String(), "level=INFO msg=\"") {
		t.Errorf("Badger is loud:\n%s", &text)
	}
}
