package kv

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/logged"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

func TestLogger(t *testing.T) {
	var said []string
	var last map[string]any
	s := newStore(t, Options{Logger: logged.To(func(what string, attrs map[string]any) {
		said, last = append(said, what), attrs
	})})
	step := func(want string, err error, do func() error) {
		t.Helper()
		if got := do(); !errors.Is(got, err) {
			t.Errorf("%s: got %v, want %v", want, got, err)
		}
		if got := strings.Join(said, " "); got != want {
			t.Errorf("got the messages %s, want %s", got, want)
		}
		said = nil
		if failed, _ := last["error"].(error); !errors.Is(failed, err) || last["store"] != s.Dir() {
			t.Errorf("%s: got %v", want, last)
		}
	}
	step("commit open", nil, func() error { return nil })
	step("commit", nil, func() error {
		return s.Update(func(tx *Tx) error {
			_, err := tx.AddNode(Node{ID: "a"})
			return errors.Join(err, tx.Documents("d").Put("k", "v"))
		})
	})
	// Both ends of the id, the document, the catalogue, which has a graph since, the counts, and what the commit touched.
	if last["records"] != int64(6) || last["commit"] != lastCommit(t, s) || last["level"] != slog.LevelDebug {
		t.Errorf("Update: got %v, want 6 records of the last commit", last)
	}
	failure := errors.New("failure")
	if err := s.Update(func(*Tx) error { return failure }); !errors.Is(err, failure) || len(said) > 0 {
		t.Errorf("an Update whose closure fails commits nothing; got %v, and %v is logged", err, said)
	}
	step("commit bulk", nil, func() error {
		b, err := s.Bulk(context.Background())
		if err != nil {
			return err
		}
		w, err := b.Column("x", KindInt)
		return errors.Join(err, w.Put(0, ValueOf(1)), b.Commit(nil))
	})
	step("commit sweep", nil, func() error { return s.Update(dropColumn("x")) })
	step("check", nil, func() error { return s.Check(t.Context(), nil, func(p Problem) { t.Error(p) }) })
	step("backup", nil, func() error {
		_, err := s.Backup(t.Context(), io.Discard, BackupOptions{})
		return err
	})
	step("commit bulk compact", nil, func() error { return s.Compact(t.Context(), nil) })

	key := record.PartKey(documentKey("d", "k"), 0)
	value := slices.Clone(rawValue(t, s, key))
	value[len(value)-1] ^= 1
	writeRaw(t, s, key, value)
	step("corrupt record", ErrCorrupt, func() error {
		return s.View(func(tx *Tx) error {
			var text string
			return tx.Documents("d").Get("k", &text)
		})
	})
	if last["level"] != slog.LevelError {
		t.Errorf("damage: got %v", last)
	}
	step("close", nil, s.Close)
}
