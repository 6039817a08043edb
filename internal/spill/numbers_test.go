package spill

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// randomNumbers draws numbers of one of several shapes, and the number of bits they take.
func randomNumbers(r *rand.Rand, n int) (keys []uint64, width int) {
	shape, width := r.IntN(4), 1+r.IntN(64)
	for i := range n {
		k := r.Uint64() >> (64 - width)
		switch shape {
		case 1: // many of a few
			k %= 7
		case 2: // one upper half, as of the edges of a hub
			k &= 1<<(width/2) - 1
		case 3: // in order
			k = uint64(i)
		}
		keys = append(keys, k)
		width = max(width, bits.Len64(k))
	}
	return keys, width
}

// addAll adds numbers through so many writers at once, some of which add one after another, and others many at once.
func addAll[T Number](s *Numbers[T], keys []T, writers int) error {
	errs := make([]error, writers)
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			w := s.Writer()
			var many []T
			for j := i; j < len(keys) && errs[i] == nil; j += writers {
				if i%2 == 0 {
					errs[i] = w.Add(keys[j])
				} else if many = append(many, keys[j]); len(many) > j%1000 {
					errs[i] = w.AddAll(many)
					many = many[:0]
				}
			}
			errs[i] = errors.Join(errs[i], w.AddAll(many), w.Close(), w.Close())
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func TestUint64(t *testing.T) {
	for seed := range uint64(longtest.Of(24, 240)) {
		r := rand.New(rand.NewPCG(seed, 0))
		dir := t.TempDir()
		limit := []int64{0, 1 << 14, 1 << 18, 1 << 30}[seed%4]
		workers := []int{1, 2, 4}[seed%3]
		added, width := randomNumbers(r, r.IntN(60000))
		s := NewNumbers[uint64](dir, limit, width, workers)
		if err := addAll(s, added, 1+r.IntN(5)); err != nil {
			t.Fatalf("seed %d: Add: %v", seed, err)
		}
		spilled := len(files(t, dir)) > 0
		if err := s.Sort(t.Context()); err != nil {
			t.Fatalf("seed %d: Sort: %v", seed, err)
		}
		if s.Len() != int64(len(added)) {
			t.Fatalf("seed %d: Len: got %d, want %d", seed, s.Len(), len(added))
		}
		want := slices.Compact(slices.Sorted(slices.Values(added)))
		for round := range 2 {
			var got []uint64
			for keys, err := range s.Stretches(t.Context()) {
				if err != nil {
					t.Fatalf("seed %d: Ordered: %v", seed, err)
				}
				got = append(got, keys...)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("seed %d, round %d, limit %d: got %d numbers, want %d, or another order",
					seed, round, limit, len(got), len(want))
			}
			var mu sync.Mutex
			got = got[:0]
			err := s.Each(t.Context(), func(worker int, keys []uint64) error {
				if worker < 0 || worker >= s.Workers() || !slices.IsSorted(keys) {
					return fmt.Errorf("worker %d of %d, %d numbers, out of order or not", worker, s.Workers(), len(keys))
				}
				mu.Lock()
				defer mu.Unlock()
				got = append(got, keys...)
				return nil
			})
			slices.Sort(got)
			if err != nil || !slices.Equal(got, want) {
				t.Fatalf("seed %d, round %d, limit %d: Each: got %d numbers, %v, want %d",
					seed, round, limit, len(got), err, len(want))
			}
		}
		if small := len(added) > 3000 && limit <= 1<<14; small && !spilled {
			t.Errorf("seed %d: %d numbers at a limit of %d bytes did not spill", seed, len(added), limit)
		}
		if limit == 1<<30 && spilled {
			t.Errorf("seed %d: %d numbers at a limit of %d bytes spilled", seed, len(added), limit)
		}
		if err := errors.Join(s.Close(), s.Close()); err != nil {
			t.Fatalf("seed %d: Close: %v", seed, err)
		}
		if left := files(t, dir); len(left) > 0 {
			t.Fatalf("seed %d: after Close: got files %q, want none", seed, left)
		}
	}
}

// readPairs returns all pairs of a sorter, and that no two which differ in the lowest bit of their keys alone are in
// two stretches.
func readPairs(s *Numbers[Pair]) (all []Pair, err error) {
	for stretch, err := range s.Stretches(context.Background()) {
		if err != nil {
			return all, err
		}
		if last := len(all) - 1; len(stretch) > 0 && last >= 0 && stretch[0].Key>>1 == all[last].Key>>1 {
			return all, fmt.Errorf("pairs of key %d are in two stretches", stretch[0].Key)
		}
		all = append(all, stretch...)
	}
	return all, nil
}

// TestPairs holds sorters of pairs, with and without runs, and what was kept of them, against slices.SortFunc.
func TestPairs(t *testing.T) {
	for seed := range uint64(longtest.Of(16, 160)) {
		r := rand.New(rand.NewPCG(seed, 1))
		dir := t.TempDir()
		limit := []int64{0, 1 << 15, 1 << 19, 1 << 30}[seed%4]
		keys, width := randomNumbers(r, r.IntN(40000))
		values := []uint32{1, 3, 1 << 30}[r.IntN(3)]
		var added []Pair
		for _, k := range keys {
			added = append(added, Pair{k, r.Uint32N(values)})
		}
		s := NewNumbers[Pair](dir, limit, width, 1+r.IntN(3))
		if err := errors.Join(addAll(s, added, 3), s.Sort(t.Context())); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		want := slices.Clone(added)
		slices.SortFunc(want, func(a, b Pair) int { return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Value, b.Value)) })
		for range 2 {
			if got, err := readPairs(s); err != nil || !slices.Equal(got, want) {
				t.Fatalf("seed %d, limit %d: got %d pairs, %v, want %d, or another order", seed, limit, len(got), err, len(want))
			}
		}
		must.Do(t, s.Close())
	}
}

func TestUint64StoppedEarly(t *testing.T) {
	for _, limit := range []int64{0, 1 << 30} {
		dir := t.TempDir()
		s := NewNumbers[uint64](dir, limit, 20, 2)
		var added []uint64
		for i := range uint64(200000) {
			added = append(added, i*7919%200000)
		}
		must.Do(t, addAll(s, added, 2))
		must.Do(t, s.Sort(t.Context()))
		for keys, err := range s.Stretches(t.Context()) {
			if err != nil || keys[0] != 0 {
				t.Fatalf("limit %d: first number: got %v, want 0", limit, err)
			}
			break
		}
		failure := errors.New("no more")
		if err := s.Each(t.Context(), func(int, []uint64) error { return failure }); !errors.Is(err, failure) {
			t.Fatalf("limit %d: Each with an error: got %v", limit, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		seen := 0
		var last error
		for _, err := range s.Stretches(ctx) {
			cancel()
			seen, last = seen+1, err
		}
		if !errors.Is(last, context.Canceled) || seen > 1+2*s.Workers() {
			t.Fatalf("limit %d: cancelled at the first numbers: got %d more stretches and %v", limit, seen, last)
		}
		if err := s.Each(ctx, func(int, []uint64) error { return nil }); !errors.Is(err, context.Canceled) {
			t.Fatalf("limit %d: cancelled Each: got %v", limit, err)
		}
		if err := s.Sort(ctx); !errors.Is(err, context.Canceled) {
			t.Fatalf("limit %d: cancelled Sort: got %v", limit, err)
		}
		must.Do(t, s.Close())
		if err := addAll(s, added, 1); err == nil {
			t.Errorf("limit %d: adding after Close: got no error", limit)
		}
		if left := files(t, dir); len(left) > 0 {
			t.Fatalf("after Close: got files %q, want none", left)
		}
	}
}

func TestUint64ClosedWhileItSpills(t *testing.T) {
	dir := t.TempDir()
	s := NewNumbers[uint64](dir, 0, 40, 2)
	w := s.Writer()
	for i := range uint64(5000) {
		must.Do(t, w.Add(i*7919))
	}
	must.Do(t, s.Close())
	if left := files(t, dir); len(left) > 0 {
		t.Fatalf("after Close: got files %q, want none", left)
	}
}

func TestUint64DirectoryMissing(t *testing.T) {
	s := NewNumbers[uint64](filepath.Join(t.TempDir(), "absent"), 0, 20, 2)
	err := errors.Join(addAll(s, make([]uint64, 100000), 2), s.Sort(t.Context()))
	if !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("spilling into a missing directory: got %v, want ErrNotExist", err)
	}
	if err := s.Close(); err != nil {
		t.Fatalf("Close after a failure: %v", err)
	}
}

func TestUint64RunDamaged(t *testing.T) {
	for _, damage := range []func(name string) error{
		func(name string) error { return os.Truncate(name, 3) },
		func(name string) error { return os.WriteFile(name, make([]byte, 1<<20), 0o600) },
		func(name string) error { return os.WriteFile(name, slices.Repeat([]byte{0xff}, 1<<20), 0o600) },
	} {
		dir := t.TempDir()
		s := NewNumbers[uint64](dir, 0, 63, 1)
		defer s.Close()
		r := rand.New(rand.NewPCG(1, 1))
		added := make([]uint64, 5000)
		for i := range added {
			added[i] = r.Uint64() >> 1
		}
		must.Do(t, errors.Join(addAll(s, added, 1), s.Sort(t.Context())))
		must.Do(t, damage(files(t, dir)[0]))
		if err := s.Each(t.Context(), func(int, []uint64) error { return nil }); err == nil {
			t.Error("a damaged temporary file: got no error")
		}
	}
}

func FuzzSortKeys(f *testing.F) {
	f.Add(uint64(1), 5000)
	f.Add(uint64(2), 70000)
	f.Fuzz(func(t *testing.T, seed uint64, n int) {
		keys, _ := randomNumbers(rand.New(rand.NewPCG(seed, 0)), int(uint(n)%100000))
		want := slices.Sorted(slices.Values(keys))
		sortKeys(keys, make([]uint64, leafKeys))
		if !slices.Equal(keys, want) {
			t.Fatalf("seed %d, %d keys: not sorted", seed, len(keys))
		}
		if got := distinct(keys); !slices.Equal(got, slices.Compact(want)) {
			t.Fatalf("seed %d, %d keys: got %d distinct ones", seed, len(keys), len(got))
		}
	})
}
