package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// Records dealt by several goroutines at once are all there, ascending in each sorter, those of an id in one of them.
func TestDealtSorters(t *testing.T) {
	for _, c := range []struct {
		name                          string
		limit                         int64
		workers, sorters, dealers, of int // of: records of each dealer
	}{
		{"many in memory", 64 << 20, 3, 3, 4, 3000},
		{"many on disk", 2 * leastDealt, 2, 2, 3, 20000},
		{"little memory", leastDealt, 4, 1, 2, 3000},
		{"one worker", 64 << 20, 1, 1, 2, 3000},
		{"nothing", 64 << 20, 3, 3, 2, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			dealt := newDealtSorters(t.TempDir(), c.limit, c.workers)
			defer func() { must.Do(t, dealt.close()) }()
			if len(dealt) != c.sorters {
				t.Fatalf("got %d sorters, want %d", len(dealt), c.sorters)
			}
			want := map[string][]string{} // the values of each id
			errs := make([]error, c.dealers)
			var wg sync.WaitGroup
			for i := range c.dealers {
				r := rand.New(rand.NewPCG(uint64(i), 9))
				var ids []string
				for j := range c.of {
					id := randomID(r, 3, j)
					ids, want[id] = append(ids, id), append(want[id], fmt.Sprint(i, " ", j))
				}
				wg.Go(func() {
					d := dealt.dealer()
					for j, id := range ids {
						errs[i] = errors.Join(errs[i], d.add(id, fmt.Append(nil, i, " ", j)))
					}
					errs[i] = errors.Join(errs[i], d.flush())
				})
			}
			wg.Wait()
			must.Do(t, errors.Join(errs...))
			got := make([]map[string][]string, len(dealt))
			must.Do(t, dealt.each(t.Context(), func(ctx context.Context, i int) error {
				got[i] = map[string][]string{}
				var last []byte
				for r, err := range dealt[i].Records(ctx) {
					if err != nil {
						return err
					}
					if bytes.Compare(r.Key, last) < 0 {
						return fmt.Errorf("sorter %d: %q follows %q", i, r.Key, last)
					}
					last = append(last[:0], r.Key...)
					got[i][string(last)] = append(got[i][string(last)], string(r.Value))
				}
				return nil
			}))
			all := map[string][]string{}
			for _, part := range got {
				for id, values := range part {
					if _, there := all[id]; there {
						t.Fatalf("got %q in two sorters", id)
					}
					all[id] = slices.Sorted(slices.Values(values))
				}
			}
			for _, values := range want {
				slices.Sort(values)
			}
			if !maps.EqualFunc(all, want, slices.Equal) {
				t.Errorf("got %d ids, want the values of %d", len(all), len(want))
			}
		})
	}
}

// What one dealer adds under an id stays in order, and so the first of repeated ids is the first.
func TestDealtInOrder(t *testing.T) {
	dealt := newDealtSorters(t.TempDir(), 2*leastDealt, 2)
	defer func() { must.Do(t, dealt.close()) }()
	d := dealt.dealer()
	const ids, rounds = 100, 300
	for round := range rounds {
		for i := range ids {
			must.Do(t, d.add(fmt.Sprintf("id %02d", i), fmt.Appendf(nil, "%06d", round)))
		}
	}
	must.Do(t, d.flush())
	count := 0
	for _, s := range dealt {
		var last []byte // id and value
		for r, err := range s.Records(t.Context()) {
			must.Do(t, err)
			record := slices.Concat(r.Key, r.Value)
			if bytes.Compare(record, last) <= 0 {
				t.Fatalf("%q follows %q", record, last)
			}
			last = record
			count++
		}
	}
	if count != ids*rounds {
		t.Errorf("got %d records, want %d", count, ids*rounds)
	}
}
