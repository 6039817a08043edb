package kv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// besideClose are the operations of a store, each to be run again and again by a goroutine of its own. They return an
// error that says that the store is closed, sooner or later.
var besideClose = map[string]func(ctx context.Context, s *Store) error{
	"compact": func(ctx context.Context, s *Store) error { return s.Compact(ctx, nil) },
	"check": func(ctx context.Context, s *Store) error {
		var found error
		err := s.Check(ctx, nil, func(p Problem) { found = fmt.Errorf("problem: %s", p) })
		return errors.Join(found, err)
	},
	"backup": func(ctx context.Context, s *Store) error {
		_, err := s.Backup(ctx, io.Discard, BackupOptions{})
		return err
	},
	"update": func(_ context.Context, s *Store) error {
		return s.Update(func(tx *Tx) error { return tx.SetValue(3, "year", ValueOf(4)) })
	},
	"drop": func(_ context.Context, s *Store) error {
		err := s.Update(func(tx *Tx) error { return tx.Space("dropped").Put([]byte("key"), []byte("value")) })
		if err != nil {
			return err
		}
		return s.Update(func(tx *Tx) error { return tx.Space("dropped").Drop() })
	},
	"bulk": func(_ context.Context, s *Store) error {
		b, err := s.Bulk(context.Background())
		if err != nil {
			return err
		}
		defer b.Abort()
		w, err := b.Column("bulk", KindInt)
		if err != nil {
			return err
		}
		w.Sort()
		for v := range NodeID(100) {
			if err := w.Put(100-v, ValueOf(int64(v))); err != nil {
				return err
			}
		}
		return b.Commit(nil)
	},
	"work": func(ctx context.Context, s *Store) error {
		_, done, err := s.Work(ctx)
		if err != nil {
			return err
		}
		return errors.Join(s.View(func(*Tx) error { return nil }), done())
	},
	"read": func(_ context.Context, s *Store) error {
		tx := s.Begin()
		defer tx.Close()
		if err := tx.Err(); err != nil {
			return err
		}
		for v := range NodeID(600) {
			_, err := tx.Value(v, "year")
			_, err2 := tx.Degree(v)
			_, err3 := tx.Node(fmt.Sprintf("n%d", v))
			if err := errors.Join(err, err2, err3); err != nil {
				return err
			}
		}
		_, err := tx.Version(nil, nil)
		return err
	},
	"walk": func(_ context.Context, s *Store) error {
		tx := s.Begin()
		defer tx.Close()
		for _, err := range allEdges(tx) {
			if err != nil {
				return err
			}
		}
		for _, err := range tx.IDs() {
			if err != nil {
				return err
			}
		}
		return nil
	},
}

// TestOperationsBesideClose closes a store while everything else is done with it. Nothing but ErrClosed comes of
// that, and the store is whole after it.
func TestOperationsBesideClose(t *testing.T) {
	for round := range longtest.Of(4, 100) {
		s := checkedStore(t)
		var running, started sync.WaitGroup
		for name, operation := range besideClose {
			started.Add(1)
			running.Go(func() {
				for first := true; ; first = false {
					err := operation(t.Context(), s)
					if first {
						started.Done()
					}
					if errors.Is(err, ErrClosed) {
						return
					}
					if err != nil {
						t.Errorf("%s beside Close: got %v, want ErrClosed", name, err)
						return
					}
				}
			})
		}
		if round%2 == 0 {
			started.Wait()
		}
		for {
			err := s.Close()
			if err == nil {
				break
			}
			if !errors.Is(err, ErrBusy) { // a Bulk was open
				t.Fatal(err)
			}
		}
		running.Wait()
		if t.Failed() {
			return
		}
		checkClean(t, openTest(t, s.Dir()))
	}
}

// TestNothingBeginsAfterClose uses transactions that have ended, and a store that is closed.
func TestNothingBeginsAfterClose(t *testing.T) {
	s := checkedStore(t)
	var kept *Tx
	view(t, s, func(tx *Tx) error { kept = tx; return nil })
	if _, err := kept.Value(0, LabelColumn); !errors.Is(err, ErrClosed) {
		t.Errorf("a Tx after its View: got %v, want ErrClosed", err)
	}
	update(t, s, func(tx *Tx) error { kept = tx; return nil })
	if err := kept.SetLabel(0, "a"); !errors.Is(err, ErrClosed) {
		t.Errorf("a Tx after its Update: got %v, want ErrClosed", err)
	}
	closeStore(t, s)
	closeStore(t, s) // again does nothing
	_, bulk := s.Bulk(context.Background())
	for name, err := range map[string]error{
		"View": s.View(func(*Tx) error { return nil }), "Update": s.Update(func(*Tx) error { return nil }), "Bulk": bulk,
	} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s: got %v, want ErrClosed", name, err)
		}
	}
	if _, err := s.NewPatch(PatchOptions{}); !errors.Is(err, ErrClosed) {
		t.Errorf("NewPatch: got %v, want ErrClosed", err)
	}
	for range 2 { // the first lets the next job in
		if _, _, err := s.Work(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("Work: got %v, want ErrClosed", err)
		}
	}
}

// errorOf is the error among what a method has returned, or the first that an iterator of it yields.
func errorOf(results []reflect.Value) (err error, has bool) {
	isError := reflect.TypeFor[error]()
	for _, result := range results {
		switch typ := result.Type(); {
		case typ == isError:
			err, _ = result.Interface().(error)
			return err, true
		case typ.CanSeq2() && typ.Kind() == reflect.Func && typ.In(0).In(1) == isError:
			for _, second := range result.Seq2() {
				err, _ = second.Interface().(error)
				return err, true
			}
			return nil, true
		}
	}
	return nil, has
}

// TestClosedSnapshotsSaySo calls every method of a Tx whose store was closed before it began, while it was open, and
// of one that was closed itself: it is an ErrClosed, whatever the method is given.
func TestClosedSnapshotsSaySo(t *testing.T) {
	s := checkedStore(t)
	before, closed := s.Begin(), s.Begin()
	closed.Close()
	closeStore(t, s)
	after := s.Begin()
	names := []string{"", "id", "degree", "label", "year", "m", "none"}
	for _, tx := range []*Tx{before, closed, after} {
		targets := []any{tx, tx.Space("space"), tx.Undirected()}
		for _, target := range targets {
			methods := reflect.ValueOf(target)
			for i := range methods.NumMethod() {
				method, name := methods.Method(i), reflect.TypeOf(target).Method(i).Name
				for _, text := range names {
					arguments := make([]reflect.Value, method.Type().NumIn())
					for j := range arguments {
						arguments[j] = reflect.Zero(method.Type().In(j))
						switch arguments[j].Interface().(type) {
						case string:
							arguments[j] = reflect.ValueOf(text)
						case *Adjacency:
							arguments[j] = reflect.ValueOf(new(Adjacency))
						}
					}
					got := method.Call(arguments)
					if err, has := errorOf(got); has && !errors.Is(err, ErrClosed) {
						t.Errorf("%T.%s(%q): got %v, want ErrClosed", target, name, text, err)
					}
				}
			}
		}
	}
}

// TestLoaderFinishBesideReaders begins snapshots while the Bulks of a load's finish have Badger opened anew.
func TestLoaderFinishBesideReaders(t *testing.T) {
	l := must.Get(NewLoader(t.Context(), filepath.Join(t.TempDir(), "graph"),
		LoadOptions{MemoryBudget: minMemoryBudget}))(t)
	for i := range 50 {
		must.Do(t, l.AddNode(Node{ID: fmt.Sprint(i), Label: "a"}))
	}
	must.Get(l.Commit(t.Context(), func(s *Store) error {
		done := make(chan struct{})
		var readers sync.WaitGroup
		for range 4 {
			readers.Go(func() {
				for {
					select {
					case <-done:
						return
					default:
					}
					err := s.View(func(tx *Tx) error {
						_, err := tx.Label(7)
						return err
					})
					if err != nil && !errors.Is(err, ErrClosed) { // the snapshot ends as the store is opened anew
						t.Errorf("reading beside Bulk.Commit: %v", err)
						return
					}
				}
			})
		}
		defer readers.Wait()
		defer close(done)
		for i := range longtest.Of(2, 200) {
			b, err := s.Bulk(context.Background())
			if err != nil {
				return err
			}
			defer b.Abort()
			w, err := b.Column(fmt.Sprint("column", i), KindInt)
			if err != nil {
				return err
			}
			if err := w.Put(0, ValueOf(int64(i))); err != nil {
				return err
			}
			if err := b.Commit(nil); err != nil {
				return err
			}
		}
		return nil
	}))(t)
}

// TestAbandonedStores has a finish leave a Bulk open, so that the store cannot be closed. Nothing stays, neither
// files nor what Badger runs (see TestMain).
func TestAbandonedStores(t *testing.T) {
	parent := t.TempDir()
	l, err := NewLoader(t.Context(), filepath.Join(parent, "graph"), LoadOptions{MemoryBudget: minMemoryBudget})
	must.Do(t, err)
	must.Do(t, l.AddNode(Node{ID: "a"}))
	_, err = l.Commit(t.Context(), func(s *Store) error {
		_, err := s.Bulk(context.Background())
		return err
	})
	if !errors.Is(err, ErrBusy) {
		t.Errorf("got %v, want ErrBusy", err)
	}
	emptyAfter(t, parent, "Commit")
}

// TestPlaceIsLast has a load fail that cannot give back what it holds: nothing is at its target then.
func TestPlaceIsLast(t *testing.T) {
	parent := t.TempDir()
	target := filepath.Join(parent, "graph")
	l, err := NewLoader(t.Context(), target, LoadOptions{MemoryBudget: minMemoryBudget})
	must.Do(t, err)
	must.Do(t, l.AddNode(Node{ID: "a"}))
	_, err = l.Commit(t.Context(), func(*Store) error {
		return os.Remove(filepath.Join(l.work.sort(), fileNames(t, l.work.sort(), "spool-*")[0]))
	})
	if err == nil || !strings.Contains(err.Error(), "spool-") {
		t.Errorf("got %v, want an error about the file of rows", err)
	}
	emptyAfter(t, parent, "Commit")
	if _, err := os.Stat(target); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the store is there (%v), and Commit returned an error", err)
	}
}
