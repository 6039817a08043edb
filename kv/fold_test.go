package kv

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/graphcleaner/graphcleaner/internal/testing/faults"
	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// foldNow folds a store, and returns when that has ended.
func foldNow(s *Store) error {
	if err := s.lockWriter(context.Background()); err != nil {
		return err
	}
	s.stopFold()
	err := s.fold(context.Background())
	f := s.folding
	s.writer.Unlock()
	if f != nil {
		<-f.done
	}
	return err
}

// step commits the step of a number: it writes an entry, overwrites one, and deletes one.
func step(s *Store, n int) error {
	return s.Update(func(tx *Tx) error {
		entries := tx.Space("steps")
		key := func(n int) []byte { return fmt.Appendf(nil, "%04d", n) }
		value := fmt.Append(nil, "of step ", n)
		err := errors.Join(entries.Put(key(n), value), entries.Put(key(0), value), tx.Documents("steps").Put("last", n))
		if n > 4 {
			err = errors.Join(err, entries.Delete(key(n-4)))
		}
		return err
	})
}

// lastStep is the step that a snapshot has come to, which must have all that the steps wrote.
func lastStep(t *testing.T, tx *Tx) (last int) {
	t.Helper()
	if err := tx.Documents("steps").Get("last", &last); errors.Is(err, ErrNotFound) {
		return 0
	} else if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"0000": fmt.Sprint("of step ", last)}
	for n := max(last-3, 1); n <= last; n++ {
		want[fmt.Sprintf("%04d", n)] = fmt.Sprint("of step ", n)
	}
	got := map[string]string{}
	for e, err := range tx.Space("steps").Ascend(nil) {
		must.Do(t, err)
		got[string(e.Key)] = string(e.Value)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("at step %d: got %v, want %v", last, got, want)
	}
	return last
}

// killedFoldVariable is set in the process that is killed, which folds the store "store" in its working directory.
const killedFoldVariable = "GRAPHCLEANER_TEST_KILLED_FOLD"

// TestKilledFold kills processes that commit and fold, in place of operations on files. The store then has every step
// that was acknowledged, and goes on.
func TestKilledFold(t *testing.T) {
	if os.Getenv(killedFoldVariable) != "" {
		must.Do(t, faults.Begin())
		s := openStore(t, "store", Options{})
		for n := range 8 {
			must.Do(t, step(s, n+1))
			must.Do(t, os.WriteFile("acknowledged", fmt.Append(nil, n+1), 0o600))
			if n%3 == 2 {
				must.Do(t, foldNow(s))
			}
		}
		must.Do(t, s.Close())
		return
	}
	if err := faults.CheckSupport(); err != nil {
		t.Skip(err)
	}
	t.Parallel()
	s := checkedStore(t)
	must.Do(t, s.Close())
	run := func(plan faults.Plan) (outcome faults.Outcome, dir string) {
		dir = t.TempDir()
		must.Do(t, os.CopyFS(filepath.Join(dir, "store"), os.DirFS(s.Dir())))
		child := exec.Command(os.Args[0], "-test.run=^TestKilledFold$")
		child.Dir, child.Env = dir, append(os.Environ(), killedFoldVariable+"=1")
		plan.Dir, plan.Kind = dir, faults.Kill
		return must.Get(faults.Run(child, plan))(t), dir
	}
	counted, _ := run(faults.Plan{})
	if counted.Err != nil || counted.Operations < 50 {
		t.Fatalf("%v after %d operations", counted.Err, counted.Operations)
	}
	operations := rand.New(rand.NewPCG(2, 1)).Perm(int(counted.Operations))
	killed := 0
	for _, at := range operations[:min(longtest.Of(12, 1000), len(operations))] {
		outcome, dir := run(faults.Plan{At: int64(at) + 1})
		if outcome.Operation == "" {
			continue
		}
		killed++
		acknowledged := 0
		if text, err := os.ReadFile(filepath.Join(dir, "acknowledged")); err == nil {
			acknowledged, _ = strconv.Atoi(string(text)) //nolint:errcheck // an empty file is of a kill before its text
		}
		after := openStore(t, filepath.Join(dir, "store"), Options{})
		last := 0
		view(t, after, func(tx *Tx) error {
			last = lastStep(t, tx)
			return nil
		})
		if last < acknowledged {
			t.Errorf("killed at %d, %s: the store has come to step %d, and %d was acknowledged",
				at, outcome.Operation, last, acknowledged)
		}
		must.Do(t, errors.Join(foldNow(after), step(after, last+1)))
		checkClean(t, after)
		closeStore(t, after)
	}
	if killed < 5 {
		t.Errorf("%d processes were killed, want more", killed)
	}
}

// TestFoldBesideOthers commits and reads while a store folds again and again: each snapshot sees one step as a whole,
// as long as it lives.
func TestFoldBesideOthers(t *testing.T) {
	t.Parallel()
	s := checkedStore(t)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 3)
	go func() {
		var err error
		for n := 1; ctx.Err() == nil && err == nil; n++ {
			err = step(s, n)
		}
		done <- err
	}()
	for range 2 {
		go func() {
			for ctx.Err() == nil && !t.Failed() {
				tx := s.Begin()
				first := lastStep(t, tx)
				time.Sleep(time.Millisecond)
				if again := lastStep(t, tx); again != first {
					t.Errorf("a snapshot has come from step %d to %d", first, again)
				}
				tx.Close()
				time.Sleep(time.Millisecond)
			}
			done <- nil
		}()
	}
	for range longtest.Of(20, 200) {
		must.Do(t, foldNow(s))
	}
	stop()
	must.Do(t, errors.Join(<-done, <-done, <-done))
	checkClean(t, s)
}

// TestFoldIsDue makes as many tables as make a fold due by closing a store again and again: it folds when it closes.
func TestFoldIsDue(t *testing.T) {
	t.Parallel()
	s := checkedStore(t)
	dir := s.Dir()
	must.Do(t, s.Close())
	most := 0
	for n := range 30 {
		s := openStore(t, dir, Options{})
		must.Do(t, step(s, n+1))
		closeStore(t, s)
		most = max(most, len(fileNames(t, dir, "0000*.sst")))
	}
	if most < 12 || most > 14 {
		t.Errorf("there were up to %d tables, want some more than 12", most)
	}
}

// TestFoldsWhileOpen writes so much to a store that stays open that it has to fold its tables by itself.
func TestFoldsWhileOpen(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{MemoryBudget: minMemoryBudget})
	tables := func() int { return len(fileNames(t, s.Dir(), "0000*.sst")) }
	value := make([]byte, MaxSpaceValue)
	written, most := 0, 0
	for ; most < 12; most = max(most, tables()) {
		must.Do(t, s.Update(func(tx *Tx) (err error) {
			for key := range 8 {
				err = errors.Join(err, tx.Space("much").Put([]byte{byte(key)}, value))
				written += len(value)
			}
			return err
		}))
		if written > 1<<30 {
			t.Fatalf("there are %d tables after %d bytes", tables(), written)
		}
	}
	for deadline := time.Now().Add(time.Minute); tables() >= most; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("there are still %d tables", tables())
		}
		must.Do(t, step(s, 1)) // a fold ends with a commit
	}
	checkClean(t, s)
}
