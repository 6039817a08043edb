package load

import (
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/dict"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// randomID draws an id of a style, seldom one that was drawn before.
func randomID(r *rand.Rand, style, i int) string {
	switch style {
	case 0:
		return strconv.Itoa(i)
	case 1:
		return strconv.Itoa(r.IntN(5000))
	case 2:
		return strconv.FormatInt(int64(r.Uint64())>>r.IntN(60), 10)
	case 3:
		return "pé" + strconv.Itoa(r.IntN(5000))
	}
	return strings.Repeat("é", r.IntN(dict.MaxID/2)) + strconv.Itoa(i)
}

// A load finds the position of each id, of repeated ones the first, and of others none, in each of its ways.
func TestIDsAgainstMap(t *testing.T) {
	var dense, integers, texts, joins int
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 21))
		budget := []int64{0, 64 << 10, 1 << 20, 256 << 20}[r.IntN(4)]
		l := must.Get(New(t.Context(), Options{Dir: t.TempDir(), MemoryBudget: budget}))(t)
		style, turn, count := r.IntN(5), r.IntN(3000), r.IntN(3000)
		first := map[string]int{}
		var want *RowError
		for i := range count {
			id := randomID(r, style, i)
			if i >= turn && seed%2 == 0 {
				id = randomID(r, (style+2)%5, i)
			}
			if there, known := first[id]; !known {
				first[id] = i
			} else if want == nil {
				want = &RowError{ID: id, Source: int64(i), First: int64(there), Err: record.ErrExists}
			}
			must.Do(t, l.AddNode(id, int64(i), 0, nil))
		}
		w := l.EdgeWriter()
		switch x := &l.ids; {
		case x.isDense:
			dense++
		case x.join != nil:
			joins++
			must.Do(t, l.joinIDs(t.Context()))
		case x.texts != nil:
			texts++
		default:
			integers++
		}
		if !reflect.DeepEqual(l.duplicate, want) {
			t.Fatalf("seed %d: got the repeated id %+v, want %+v", seed, l.duplicate, want)
		}
		if l.ids.join == nil {
			verifyIDs(t, w, first)
		}
		must.Do(t, l.Close())
	}
	if dense*integers*texts*joins == 0 {
		t.Errorf("got %d dense, %d by integer, %d by text, %d joined, want some of each", dense, integers, texts, joins)
	}
}

// verifyIDs looks the ids up, and as many others.
func verifyIDs(t *testing.T, w *EdgeWriter, positions map[string]int) {
	t.Helper()
	verify := func() {
		ends := make([]string, 2*w.edges)
		for end := range ends {
			ends[end] = strings.Clone(w.id(end))
		}
		must.Do(t, w.flush())
		for i := 0; i < len(ends); i += 2 { // loops are dropped, so that found positions stay where they are
			if p, known := positions[ends[i]]; known && w.positions[i] != uint32(p) {
				t.Fatalf("position of %q: got %d, want %d", ends[i], w.positions[i], p)
			} else if !known && w.positions[i] != notFound {
				t.Fatalf("position of %q: got %d, want none", ends[i], w.positions[i])
			}
		}
	}
	for id := range positions {
		for _, id := range []string{id, id + "0", "nobody"} {
			if w.edges+1 == batchEdges {
				verify()
			}
			must.Do(t, w.Add(id, id, 0))
		}
	}
	verify()
}
