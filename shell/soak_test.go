package shell

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

const (
	soakAsked = "GRAPHCLEANER_TEST_SOAK" // how long TestSoak takes, such as 10m
	soakRuns  = 2                        // without it, how often the store is cleaned
)

// TestSoak has readers, one who decides, and one who cleans at the same store at once: every snapshot holds the scores of
// one run, as they were when that run ended, and the decisions that were acknowledged before it.
func TestSoak(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(templateDir(t, "cleaned"))); err != nil {
		t.Fatal(err)
	}
	least := time.Duration(0)
	if text := os.Getenv(soakAsked); text != "" {
		var err error
		if least, err = time.ParseDuration(text); err != nil {
			t.Fatalf("%s: %v", soakAsked, err)
		}
	}
	store, err := openStore(filepath.Join(dir, "g"), kv.Options{MemoryBudget: 1})
	if err != nil {
		t.Fatal(err)
	}
	leaks := goleak.IgnoreCurrent()
	ctx, cancel := context.WithCancel(t.Context())
	s := &soak{store: store, scores: map[int64]string{}}
	began := time.Now()
	defer func() {
		tried, failed := s.operations.Load(), s.failed.Load()
		if t.Failed() {
			failed = max(failed, 1) // what was checked at the end
		}
		t.Logf("durability: soak: %.1f minutes, operations: %d of %d", time.Since(began).Minutes(), tried-failed, tried)
	}()
	var working sync.WaitGroup
	for reader := range 3 {
		working.Go(func() { s.until(ctx, t, func() error { return s.read(ctx, reader) }) })
	}
	r := rand.New(rand.NewPCG(1, 2))
	working.Go(func() { s.until(ctx, t, func() error { return s.decide(ctx, r) }) })
	for seed := uint64(2); (seed < 2+soakRuns || time.Since(began) < least) && !t.Failed(); seed++ {
		s.do(ctx, t, func() error {
			_, err := cleaner.Clean(ctx, store, cleaner.Options{Seed: seed, Hops: 2, Workers: 2})
			return err
		})
		s.do(ctx, t, func() error { return errors.Join(store.Compact(ctx, nil), index.Compact(ctx, store)) })
	}
	cancel()
	working.Wait()
	if err := store.Close(); err != nil {
		t.Error(err)
	}
	goleak.VerifyNone(t, leaks)
	mustRun(t, "check", filepath.Join(dir, "g"))
	if s.operations.Load() == 0 {
		t.Error("nothing was done")
	}
}

// A soak is what those who work at a store know of it.
type soak struct {
	store      *kv.Store
	operations atomic.Int64
	failed     atomic.Int64 // of them
	decided    atomic.Int64 // the last entry of the history that was acknowledged

	mu     sync.Mutex
	scores map[int64]string // of each run that was met
}

// until does something again and again.
func (s *soak) until(ctx context.Context, t *testing.T, do func() error) {
	for ctx.Err() == nil && s.do(ctx, t, do) {
	}
}

// do does something once, and reports whether to go on: one that was interrupted does not count.
func (s *soak) do(ctx context.Context, t *testing.T, do func() error) bool {
	err := do()
	if err != nil && ctx.Err() != nil {
		return false
	}
	s.operations.Add(1)
	if err != nil {
		s.failed.Add(1)
		t.Error(err)
	}
	return err == nil
}

// read asks one of several questions, and holds the scores of a snapshot to be those of one run.
func (s *soak) read(ctx context.Context, reader int) error {
	if reader > 0 {
		question := []string{"suspects limit 5", "count suspects group by label", "nodes where score > 0.5 limit 3"}[reader%3]
		return s.store.View(func(tx *kv.Tx) error {
			found, err := query.Query(ctx, tx, query.Options{}, question)
			if err != nil {
				return err
			}
			for _, err := range found.Rows() {
				if err != nil {
					return fmt.Errorf("%s: %w", question, err)
				}
			}
			return nil
		})
	}
	acknowledged := s.decided.Load()
	return s.store.View(func(tx *kv.Tx) error {
		run, scores := int64(0), ""
		for v := range kv.NodeID(tx.NumNodes()) {
			value, err := tx.Value(v, cleaner.RunColumn)
			if err != nil {
				return err
			}
			score, err := tx.Value(v, cleaner.ScoreColumn)
			if err != nil {
				return err
			}
			if v == 0 {
				run = value.Int()
			}
			if value.Int() != run {
				return fmt.Errorf("node %d is of run %d, and node 0 of run %d", v, value.Int(), run)
			}
			scores += score.String() + " "
		}
		last, err := cleaner.LastRun(tx)
		if err != nil {
			return err
		}
		if last.ID != run {
			return fmt.Errorf("the last run is %d, and the scores are of run %d", last.ID, run)
		}
		seen := int64(0)
		for d, err := range decide.History(ctx, tx, kv.NoNode) {
			if err != nil {
				return err
			}
			seen = d.Seq
		}
		if seen < acknowledged {
			return fmt.Errorf("decision %d was acknowledged, and the history ends with %d", acknowledged, seen)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if before, known := s.scores[run]; known && before != scores {
			return fmt.Errorf("run %d: the scores changed", run)
		}
		s.scores[run] = scores
		return nil
	})
}

// decide makes or takes back a decision.
func (s *soak) decide(ctx context.Context, r *rand.Rand) error {
	var made []decide.Decision
	var err error
	if s.decided.Load() > 0 && r.IntN(3) == 0 {
		back, err := cleaner.Undo(ctx, s.store, 1, decide.Options{Who: "soak"})
		if errors.Is(err, decide.ErrNothingToUndo) {
			return nil
		}
		if err == nil {
			s.decided.Store(back.Last)
		}
		return err
	} else {
		request := decide.Request{Node: kv.NodeID(r.IntN(60)), Kind: decide.Unsure}
		if r.IntN(2) == 0 {
			request.Kind = decide.Accept
		}
		made, err = decide.Write(ctx, s.store, []decide.Request{request}, decide.Options{Who: "soak"})
	}
	if err == nil && len(made) > 0 {
		s.decided.Store(made[len(made)-1].Seq)
	}
	return err
}
