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
func (w *witness) take() (kinds []string, last Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.events {
		kinds, last = append(kinds, e.Kind), e
	}
	w.events = nil
	return kinds, last
}

func TestEvents(t *testing.T) {
	var w witness
	s := newStore(t, Options{Observe: w.observe})
	step := func(name string, want []string, err error, do func() error) (last Event) {
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
		return last
	}
	step("Create", []string{EventCommit, EventOpen}, nil, func() error { return nil })

	last := step("Update", []string{EventCommit}, nil, func() error {
		return s.Update(func(tx *Tx) error {
			_, err := tx.AddNode(Node{ID: "a"})
			return errors.Join(err, tx.Documents("d").Put("k", "v"))
		})
	})
	// Both ends of the id, the document, the catalogue, which has a graph since, the counts, and what the commit touched.
	if last.Records != 6 || last.Bytes < 50 || last.Commit != lastCommit(t, s) {
		t.Errorf("Update: got the event %+v, want 6 records of the last commit", last)
	}
	failure := errors.New("failure")
	if err := s.Update(func(*Tx) error { return failure }); !errors.Is(err, failure) {
		t.Error(err)
	}
	if kinds, _ := w.take(); len(kinds) > 0 {
		t.Errorf("an Update whose closure fails commits nothing, and has the events %v", kinds)
	}

	step("Bulk", []string{EventBulkWrite, EventCommit, EventBulkSwitch}, nil, func() error {
		b, err := s.Bulk()
		if err != nil {
			return err
		}
		w, err := b.Column("x", KindInt)
		return errors.Join(err, w.Put(0, IntValue(1)), b.Commit(nil))
	})
	last = step("DropColumn", []string{EventCommit, EventSweep}, nil, func() error {
		return s.Update(func(tx *Tx) error { return tx.DropColumn("x") })
	})
	if last.Bytes < 50 {
		t.Errorf("DropColumn: got %d bytes, want those of a pack", last.Bytes)
	}

	step("Check", []string{EventCheck}, nil, func() error {
		return s.Check(t.Context(), nil, func(p Problem) { t.Error(p) })
	})
	last = step("Backup", []string{EventBackup}, nil, func() error {
		_, err := s.Backup(t.Context(), io.Discard, BackupOptions{})
		return err
	})
	if last.Records == 0 || last.Bytes == 0 {
		t.Errorf("Backup: got the event %+v, want records and bytes", last)
	}
	step("Compact", []string{
		EventBulkWrite, EventCommit, EventBulkSwitch, EventCompact,
	}, nil, func() error { return s.Compact(t.Context(), nil) })

	key := documentKey("d", "k")
	value := slices.Clone(rawValue(t, s, record.PartKey(key, 0)))
	value[len(value)-1] ^= 1
	writeRaw(t, s, record.PartKey(key, 0), value)
	last = step("damage", []string{EventCorrupt}, ErrCorrupt, func() error {
		return s.View(func(tx *Tx) error {
			var text string
			return tx.Documents("d").Get("k", &text)
		})
	})
	if !strings.Contains(last.Err.Error(), "document") {
		t.Errorf("damage: got the event %v, want a document", last.Err)
	}
	step("Close", []string{EventClose}, nil, s.Close)
}

func TestLogger(t *testing.T) {
	var text bytes.Buffer
	log := slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s := newStore(t, Options{Logger: log})
	update(t, s, func(tx *Tx) error { return tx.Documents("d").Put("k", "v") })
	closeStore(t, s)
	for _, want := range []string{
		"level=INFO msg=open store=" + s.Dir(), "level=DEBUG msg=commit store=" + s.Dir(), "records=2", "level=INFO msg=close",
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
