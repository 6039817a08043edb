package kv

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graphcleaner/graphcleaner/internal/testing/logged"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// mustCount is the number that addOne has counted to.
func mustCount(t *testing.T, s *Store) (count int) {
	t.Helper()
	view(t, s, func(tx *Tx) error { return tx.Documents("test").Get("count", &count) })
	return count
}

// addOne counts one up, and returns what it has counted to.
func addOne(tx *Tx) (count int, err error) {
	if err := tx.Documents("test").Get("count", &count); err != nil && !errors.Is(err, ErrNotFound) {
		return 0, err
	}
	return count + 1, tx.Documents("test").Put("count", count+1)
}

// TestUpdatesAtOnce has many goroutines count, some of which give up after a write, panic, or change the catalogue:
// each sees the ones before it, what is given up is nowhere, and a Bulk, a Check and a Close in between find all that
// returned.
func TestUpdatesAtOnce(t *testing.T) {
	var seen sync.Map // commits, by their numbers
	dir := filepath.Join(t.TempDir(), "store")
	opt := Options{MemoryBudget: minMemoryBudget, Logger: logged.To(func(what string, attrs map[string]any) {
		if _, twice := seen.LoadOrStore(attrs["commit"], true); twice && what == "commit" && attrs["error"] == nil {
			t.Errorf("commit %d is told twice", attrs["commit"])
		}
	})}
	s := must.Get(Create(dir, opt))(t)
	setNodes(t, s, 100)
	update(t, s, func(tx *Tx) error {
		return tx.AddColumn("n", KindInt)
	})
	giveUp := errors.New("given up")
	const goroutines, times = 12, 60
	var all sync.WaitGroup
	var counted atomic.Int64
	for g := range goroutines {
		all.Go(func() {
			for i := range times {
				mine := 0
				err := func() (err error) {
					defer func() {
						if recover() != nil {
							err = giveUp
						}
					}()
					return s.Update(func(tx *Tx) (err error) {
						if mine, err = addOne(tx); err != nil {
							return err
						}
						err = tx.SetValue(NodeID(g), "n", ValueOf(int64(i)))
						switch {
						case err != nil:
							return err
						case i%7 == 3:
							return giveUp
						case i%11 == 5:
							panic("given up")
						case i%20 == 6:
							return tx.AddColumn(fmt.Sprintf("c%d %d", g, i), KindInt)
						}
						return nil
					})
				}()
				gone := i%7 == 3 || i%11 == 5
				if gone != errors.Is(err, giveUp) || !gone && err != nil {
					t.Errorf("got %v, given up: %t", err, gone)
					return
				}
				if gone {
					continue
				}
				counted.Add(1)
				if now := mustCount(t, s); now < mine {
					t.Errorf("an Update counted to %d and returned, and then it is %d", mine, now)
				}
				if g == 0 && i%16 == 0 {
					if b, err := s.Bulk(context.Background()); err != nil {
						t.Error(err)
					} else {
						b.Abort()
					}
				}
			}
		})
	}
	all.Wait()
	if got := mustCount(t, s); got != int(counted.Load()) {
		t.Errorf("got %d, want %d", got, counted.Load())
	}
	view(t, s, func(tx *Tx) error {
		last, err := tx.LastCommit()
		for number := uint64(1); number <= last; number++ {
			if _, ok := seen.Load(number); !ok {
				t.Errorf("commit %d of %d is not told", number, last)
			}
		}
		changes, err2 := tx.ChangesSince(last - 1)
		if err2 == nil && changes == nil {
			t.Error("got no changes")
		}
		return errors.Join(err, err2)
	})
	closeStore(t, s)
	s = openStore(t, dir, Options{})
	if got := mustCount(t, s); got != int(counted.Load()) {
		t.Errorf("opened again: got %d, want %d", got, counted.Load())
	}
}

// TestUpdatesShareSyncs holds the writer's lock until many Updates wait for it: they make one group, in the order
// they came, which nobody sees before it is durable.
func TestUpdatesShareSyncs(t *testing.T) {
	s := newStore(t, Options{})
	update(t, s, func(tx *Tx) error { _, err := addOne(tx); return err })
	const updates = 10
	var ran, early atomic.Int64
	one := func() {
		err := s.Update(func(tx *Tx) error {
			mine, err := addOne(tx)
			if mine != int(ran.Add(1))+1 {
				t.Errorf("got %d as number %d", mine, ran.Load())
			}
			if mustCount(t, s) > 1 {
				early.Add(1)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	inOneGroup(s, slices.Repeat([]func(){one}, updates)...)
	if s.lastGroup < updates-1 || early.Load() > 1 {
		t.Errorf("got a last group of %d, and %d Updates in which what was not synced was to be seen; want one group of %d",
			s.lastGroup, early.Load(), updates)
	}
	if got := mustCount(t, s); got != updates+1 {
		t.Errorf("got %d, want %d", got, updates+1)
	}
}

// TestFailsAfterWhatItSaw has Updates fail for what they saw of one before them: they return once that is durable,
// and to be seen.
func TestFailsAfterWhatItSaw(t *testing.T) {
	s := newStore(t, Options{})
	one := func() {
		err := s.Update(createX)
		var n int
		if seen := s.View(func(tx *Tx) error { return tx.Documents("test").Get("x", &n) }); seen != nil {
			t.Errorf("an Update returned %v, and then a View: %v", err, seen)
		}
	}
	inOneGroup(s, slices.Repeat([]func(){one}, 8)...)
}

// errXExists is the error of createX if the document is there.
var errXExists = errors.New("exists")

// createX writes a document that must not be there.
func createX(tx *Tx) error {
	var n int
	if err := tx.Documents("test").Get("x", &n); err == nil {
		return errXExists
	}
	return tx.Documents("test").Put("x", 1)
}

// inOneGroup holds the writer's lock until all of some functions, each of which calls Update, wait for it, one after
// another. It returns once all have.
func inOneGroup(s *Store, fns ...func()) {
	s.writer.Lock()
	var all sync.WaitGroup
	for _, fn := range fns {
		all.Go(fn)
		time.Sleep(5 * time.Millisecond) // until it waits
	}
	s.writer.Unlock()
	all.Wait()
}

// updateInOneGroup has Updates in one group, and returns what they return.
func updateInOneGroup(s *Store, updates ...func(tx *Tx) error) []error {
	got := make([]error, len(updates))
	fns := make([]func(), len(updates))
	for i, update := range updates {
		fns[i] = func() { got[i] = s.Update(update) }
	}
	inOneGroup(s, fns...)
	return got
}

// TestFailsWithItsGroup has Updates fail for what they saw of one whose commit fails: they say that, since what they
// saw is nowhere.
func TestFailsWithItsGroup(t *testing.T) {
	s := must.Get(Create(filepath.Join(t.TempDir(), "store"), Options{MemoryBudget: minMemoryBudget}))(t)
	fail := func(*Tx) error {
		s.db.Fail(errors.New("the disk is full"))
		return errXExists
	}
	for i, err := range updateInOneGroup(s, createX, createX, fail) {
		if !errors.Is(err, ErrFailed) || errors.Is(err, errXExists) {
			t.Errorf("Update %d: got %v, want ErrFailed", i, err)
		}
	}
	if err := s.Close(); !errors.Is(err, ErrFailed) {
		t.Errorf("Close: got %v, want ErrFailed", err)
	}
}

// TestCommitsLeaveOutClosures: the duration of a commit has nothing of the closures that ran while it waited for its
// sync.
func TestCommitsLeaveOutClosures(t *testing.T) {
	var ended time.Time // the last closure
	s := newStore(t, Options{Logger: logged.To(func(what string, attrs map[string]any) {
		if took, _ := attrs["duration"].(time.Duration); what == "commit" && !ended.IsZero() && took > time.Since(ended) {
			t.Errorf("a commit took %v, and the last closure ended %v ago", took, time.Since(ended))
		}
	})})
	write := func(tx *Tx) error {
		time.Sleep(20 * time.Millisecond)
		_, err := addOne(tx)
		ended = time.Now()
		return err
	}
	if err := errors.Join(updateInOneGroup(s, write, write, write)...); err != nil {
		t.Error(err)
	}
}
