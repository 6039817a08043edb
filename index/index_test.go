package index

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

func TestCreateAndDrop(t *testing.T) {
	ctx := context.Background()
	s := emptyStore(t, 3)
	for _, c := range []struct {
		what string
		err  error
		is   error
		says string
	}{
		{"create one that is there", Create(ctx, s, "title"), kv.ErrExists, "title"},
		{"create on a missing column", Create(ctx, s, "venue"), kv.ErrNoColumn, "venue"},
		{"create on id", Create(ctx, s, "id"), kv.ErrNoColumn, "id"},
		{"create on degree", Create(ctx, s, "degree"), kv.ErrNoColumn, "degree"},
		{"drop one that is not there", Drop(s, "label"), kv.ErrNotFound, "label"},
		{"drop on a missing column", Drop(s, "venue"), kv.ErrNotFound, "venue"},
	} {
		if !errors.Is(c.err, c.is) || !strings.Contains(c.err.Error(), c.says) {
			t.Errorf("%s: got %v, want %v naming %s", c.what, c.err, c.is, c.says)
		}
	}
	set := func(v kv.NodeID, title string) {
		update(t, s, func(tx *kv.Tx) error { return tx.SetValue(v, "title", text(title)) })
	}
	set(1, "a")
	if err := Drop(s, "title"); err != nil {
		t.Fatalf("drop: %v", err)
	}
	set(1, "b")
	set(2, "a")
	if err := Create(ctx, s, "title"); err != nil {
		t.Fatalf("create again: %v", err)
	}
	mustBeSound(t, s)
	view(t, s, func(tx *kv.Tx) error {
		plan := must.Get(NewPlan(tx, Query{Where: Compare{"title", Eq, text("a")}, Limit: -1}))(t)
		if got := rowsOf(t, plan); !slices.Equal(got, []kv.NodeID{2}) || plan.way != byRange {
			t.Errorf("after drop and create: got %v, want [2], through the index\n%v", got, plan)
		}
		return nil
	})
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if err := Create(cancelled, s, "label"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled create: got %v, want %v", err, context.Canceled)
	}
}

// An index built with its column in one Bulk replaces the old one, changes and all, and the old one stays when the Bulk
// is given up.
func TestBuilderReplacesIndex(t *testing.T) {
	s := scoredStore(t, 3000)
	for round := range 3 {
		update(t, s, func(tx *kv.Tx) error {
			for v := range kv.NodeID(200) {
				must.Do(t, tx.SetValue(v, "score", number(float64(round)/8)))
			}
			return nil
		})
		mustBeSound(t, s)
		writeScores(t, s, rand.New(rand.NewPCG(uint64(round), 9)))
		mustBeSound(t, s)
		m := modelOf(t, s)
		view(t, s, func(tx *kv.Tx) error {
			plan := must.Get(NewPlan(tx, suspects))(t)
			if got, want := rowsOf(t, plan), m.answer(suspects); !slices.Equal(got, want) {
				t.Errorf("round %d: got %v, want %v", round, got, want)
			}
			return nil
		})
	}
}

func TestBuilderFindsSlips(t *testing.T) {
	s := emptyStore(t, 4)
	for _, c := range []struct {
		what string
		put  []float64
		add  []float64
		want string
	}{
		{"not rounded as the column", []float64{0.97}, []float64{0.97},
			"index on score: node number 0 was added with 0.97, the column holds 0.9700000286102295"},
		{"null in the column", nil, []float64{0.5},
			"index on score: node number 0 was added with 0.5, the column holds null"},
		{"an entry twice", []float64{0.5}, []float64{0.5, 0.5}, "index on score: kv: node given twice: node number 0"},
	} {
		bulk := must.Get(s.Bulk(context.Background()))(t)
		column := must.Get(bulk.Column("score", kv.KindSingle))(t)
		b, err := NewBuilder(bulk, "score")
		must.Do(t, err)
		for _, f := range c.put {
			must.Do(t, column.Put(0, number(f)))
		}
		for _, f := range c.add {
			must.Do(t, b.Add(0, number(f)))
		}
		err = b.Finish()
		if err == nil {
			err = bulk.Commit(b.Mark)
		}
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: got %v, want %s", c.what, err, c.want)
		}
		if err := b.Close(); err != nil {
			t.Errorf("%s: close: %v", c.what, err)
		}
		bulk.Abort()
	}
	view(t, s, func(tx *kv.Tx) error {
		if _, ok := tx.Column("score"); ok {
			t.Error("a Bulk that failed left its column")
		}
		return nil
	})
}

func TestWritesNeedTheIndex(t *testing.T) {
	s := emptyStore(t, 2)
	dir := s.Dir()
	must.Do(t, s.Close())
	bare, err := kv.Open(dir, kv.Options{MemoryBudget: 64 << 20})
	must.Do(t, err)
	err = bare.Update(func(tx *kv.Tx) error { return tx.SetValue(0, "title", text("a")) })
	if !errors.Is(err, kv.ErrIndexed) {
		t.Errorf("a write to an indexed column without its index: got %v, want %v", err, kv.ErrIndexed)
	}
	must.Do(t, bare.Close())
	var seen []kv.Value
	s = must.Get(Open(dir, kv.Options{MemoryBudget: 64 << 20,
		OnWrite: func(_ *kv.Tx, _ kv.NodeID, _ string, _, after kv.Value) error {
			seen = append(seen, after)
			return nil
		}}))(t)
	update(t, s, func(tx *kv.Tx) error { return tx.SetValue(0, "title", text("a")) })
	mustBeSound(t, s)
	if len(seen) != 1 || seen[0] != text("a") {
		t.Errorf("the caller's own OnWrite: got %+v, want one write of a", seen)
	}
	must.Do(t, s.Close())
}

// TestCancelWhileWaiting holds that whoever waits for another writer stops waiting when the context ends.
func TestCancelWhileWaiting(t *testing.T) {
	s := emptyStore(t, 3)
	bulk := must.Get(s.Bulk(context.Background()))(t)
	defer bulk.Abort()
	for name, job := range map[string]func(ctx context.Context) error{
		"Create":     func(ctx context.Context) error { return Create(ctx, s, kv.LabelColumn) },
		"Compact":    func(ctx context.Context) error { return Compact(ctx, s) },
		"kv.Compact": func(ctx context.Context) error { return s.Compact(ctx, nil) },
	} {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		if err := job(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: got %v, want the error of its context", name, err)
		}
		cancel()
	}
}
