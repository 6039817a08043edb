package kv

import (
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/faults"
	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// killedTrackingVariable says that the process is one that is killed while it writes to the store "store" in its working directory.
const killedTrackingVariable = "GRAPHCLEANER_TEST_KILLED_TRACKING"

const killedNodes = 200

// writeTracked writes steps to a store that tracks the column x. Step i sets x of some nodes to i, and keeps the mark before it.
func writeTracked(t *testing.T, s *Store) error {
	for i := 1; i <= 40; i++ {
		r := rand.New(rand.NewPCG(7, uint64(i)))
		mark := func(tx *Tx) error {
			last, err := tx.LastCommit()
			return errors.Join(err, tx.PutDocument("marks", strconv.Itoa(i), last))
		}
		write := func() error {
			return s.Update(func(tx *Tx) error {
				err := mark(tx)
				for range 1 + r.IntN(5) {
					err = errors.Join(err, tx.SetValue(NodeID(r.IntN(killedNodes)), "x", IntValue(int64(i))))
				}
				return err
			})
		}
		if i%8 == 0 {
			write = func() error { return bulkTracked(s, i, r, mark) }
		}
		err := write()
		if err == nil && i%13 == 0 {
			err = s.Compact(t.Context(), nil)
		}
		if err == nil && i%17 == 0 {
			err = s.Update(func(tx *Tx) error {
				var upTo uint64
				err := tx.Document("marks", strconv.Itoa(i-5), &upTo)
				return errors.Join(err, tx.TrackChanges("test", []string{"x"}, nil, upTo))
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// bulkTracked is a step by a Bulk.
func bulkTracked(s *Store, i int, r *rand.Rand, mark func(tx *Tx) error) error {
	b, err := s.Bulk()
	if err != nil {
		return err
	}
	defer b.Abort()
	w, err := b.Column("x", KindInt)
	if err != nil {
		return err
	}
	for v := range NodeID(killedNodes) {
		value, err := b.Tx().Value(v, "x")
		if err != nil {
			return err
		}
		if r.IntN(50) == 0 {
			value = IntValue(int64(i))
		}
		if err := w.Put(v, value); err != nil {
			return err
		}
	}
	return b.Commit(mark)
}

// checkTracked compares what changed since each mark with the steps that the values are of.
func checkTracked(t *testing.T, s *Store) (marks int) {
	t.Helper()
	view(t, s, func(tx *Tx) error {
		since := tx.cat.Tracking.Since
		for key, err := range tx.Documents("marks") {
			must.Do(t, err)
			step := must.Get(strconv.ParseInt(key, 10, 64))(t)
			var mark uint64
			must.Do(t, tx.Document("marks", key, &mark))
			c, err := tx.ChangesSince(mark)
			if mark < since && errors.Is(err, ErrNotTracked) {
				continue
			}
			must.Do(t, err)
			x := must.Get(c.Column("x"))(t)
			marks++
			for v := range NodeID(killedNodes) {
				value := must.Get(tx.Value(v, "x"))(t)
				if want := !value.IsNull() && value.Int() >= step; x.Has(v) != want || x.All {
					t.Errorf("since step %d: node %d of step %v: got %t, want %t", step, v, value, x.Has(v), want)
				}
			}
		}
		return nil
	})
	return marks
}

// TestKilledTracking kills processes, in place of operations on files, that write to a store which tracks changes: what is there
// then, and what the store says of its changes, agree.
func TestKilledTracking(t *testing.T) {
	if os.Getenv(killedTrackingVariable) != "" {
		must.Do(t, faults.Begin())
		s := must.Get(Open("store", Options{MemoryBudget: minMemoryBudget}))(t)
		must.Do(t, errors.Join(writeTracked(t, s), s.Close()))
		return
	}
	if err := faults.CheckSupport(); err != nil {
		t.Skip(err)
	}
	t.Parallel()
	s := newStore(t, Options{})
	addNodes(t, s, killedNodes)
	update(t, s, func(tx *Tx) error {
		return errors.Join(tx.AddColumn("x", KindInt), tx.TrackChanges("test", []string{"x"}, nil, 0))
	})
	closeStore(t, s)
	run := func(plan faults.Plan) (outcome faults.Outcome, dir string) {
		parent := filepath.Dir(copyStore(t, s.Dir()))
		dir = filepath.Join(parent, "store")
		must.Do(t, os.Rename(filepath.Join(parent, "copy"), dir))
		child := exec.Command(os.Args[0], "-test.run=^TestKilledTracking$")
		child.Dir, child.Env = parent, append(os.Environ(), killedTrackingVariable+"=1")
		plan.Dir, plan.Kind = dir, faults.Kill
		outcome = must.Get(faults.Run(child, plan))(t)
		return outcome, dir
	}
	whole, dir := run(faults.Plan{})
	if whole.Err != nil || whole.Operations < 50 {
		t.Fatalf("%v after %d operations", whole.Err, whole.Operations)
	}
	seen := checkTracked(t, openStore(t, dir, Options{}))
	for _, at := range rand.New(rand.NewPCG(1, 1)).Perm(int(whole.Operations))[:min(longtest.Of(15, 1000), int(whole.Operations))] {
		killed, dir := run(faults.Plan{At: int64(at) + 1})
		if killed.Operation == "" {
			continue
		}
		opened := openStore(t, dir, Options{})
		seen += checkTracked(t, opened)
		checkClean(t, opened)
		closeStore(t, opened)
		must.Do(t, os.RemoveAll(filepath.Dir(dir)))
	}
	t.Logf("%d operations, %d marks that were known", whole.Operations, seen)
	if seen < 20 {
		t.Errorf("got %d marks that were known, want many", seen)
	}
}
