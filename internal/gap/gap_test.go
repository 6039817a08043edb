package gap

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// randomRows draws lists over nodes < limit: many empty, some short, some dense stretches, some with giant gaps.
func randomRows(r *rand.Rand, rows int, limit uint32) [][]uint32 {
	lists := make([][]uint32, rows)
	for i := range lists {
		var list []uint32
		switch r.IntN(5) {
		case 0: // isolated
		case 1:
			for v := r.Uint32N(limit); v < limit && len(list) < 100; v++ {
				list = append(list, v)
			}
		default:
			for range r.IntN(40) {
				list = append(list, r.Uint32N(limit)>>r.IntN(20))
			}
		}
		slices.Sort(list)
		lists[i] = slices.Compact(list)
	}
	return lists
}

func encode(lists [][]uint32) []byte {
	var e Encoder[uint32]
	e.Append([]uint32{1, 2, 9})
	e.Reset() // which leaves nothing of it
	for _, list := range lists {
		e.Append(list)
	}
	return e.AppendTo(nil)
}

func TestRoundTrip(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 0))
		limit := []uint32{1, 2, 100, 1 << 14, 1 << 20, math.MaxUint32}[seed%6]
		lists := randomRows(r, r.IntN(200), limit)
		data := encode(lists)
		b, err := Parse(data, limit)
		if err != nil {
			t.Fatalf("seed %d: Parse: %v", seed, err)
		}
		if b.Rows() != len(lists) {
			t.Fatalf("seed %d: Rows: got %d, want %d", seed, b.Rows(), len(lists))
		}
		offsets, neighbors, err := AppendAll([]int64{0}, []uint32(nil), b)
		if err != nil {
			t.Fatalf("seed %d: AppendAll: %v", seed, err)
		}
		degrees, err := AppendDegrees([]uint32(nil), b)
		if err != nil {
			t.Fatalf("seed %d: AppendDegrees: %v", seed, err)
		}
		if len(degrees) != len(lists) || len(offsets) != len(lists)+1 {
			t.Fatalf("seed %d: got %d degrees and %d offsets of %d rows", seed, len(degrees), len(offsets), len(lists))
		}
		for i, want := range lists {
			if got := neighbors[offsets[i]:offsets[i+1]]; !slices.Equal(got, want) {
				t.Fatalf("seed %d: AppendAll row %d: got %v, want %v", seed, i, got, want)
			}
			got, err := AppendRow([]uint32{7}, b, i)
			if err != nil || got[0] != 7 || !slices.Equal(got[1:], want) {
				t.Fatalf("seed %d: AppendRow %d: got %v, %v, want %v", seed, i, got, err, want)
			}
			if d, err := b.Degree(i); err != nil || d != len(want) || int(degrees[i]) != d {
				t.Fatalf("seed %d: Degree %d: got %d, %v and %d among all, want %d", seed, i, d, err, degrees[i], len(want))
			}
		}
	}
}

func TestAppendRefusesDisorder(t *testing.T) {
	for _, list := range [][]uint32{{2, 1}, {3, 3}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Append(%v): got no panic, want one", list)
				}
			}()
			var e Encoder[uint32]
			e.Append(list)
		}()
	}
}

func TestNeighborBeyondLimit(t *testing.T) {
	b := must.Get(Parse(encode([][]uint32{{1}, {5, 10}}), 10))(t)
	if _, _, err := AppendAll(nil, []uint32(nil), b); !errors.Is(err, ErrDamaged) {
		t.Errorf("AppendAll with neighbour 10 of nodes < 10: got %v, want ErrDamaged", err)
	}
	if _, err := AppendRow([]uint32(nil), b, 1); !errors.Is(err, ErrDamaged) {
		t.Errorf("AppendRow with neighbour 10 of nodes < 10: got %v, want ErrDamaged", err)
	}
}

// readEverything calls every reader; it is for bytes that may be damaged, where an error is as good as a value.
func readEverything(data []byte) error {
	b, err := Parse(data, 1<<20)
	if err != nil {
		return err
	}
	_, neighbors, err := AppendAll(nil, []uint32(nil), b)
	if len(neighbors) > len(data) {
		return fmt.Errorf("%d neighbours from %d bytes", len(neighbors), len(data))
	}
	if _, other := AppendDegrees([]uint32(nil), b); other != nil && err == nil {
		return fmt.Errorf("AppendDegrees: %w, but AppendAll reads it", other)
	}
	for i := range b.Rows() {
		if _, other := AppendRow([]uint32(nil), b, i); other != nil && err == nil {
			return fmt.Errorf("AppendRow(%d): %w, but AppendAll reads it", i, other)
		}
		if _, other := b.Degree(i); other != nil && err == nil {
			return fmt.Errorf("Degree(%d): %w, but AppendAll reads it", i, other)
		}
	}
	return err
}

func TestTruncatedBlock(t *testing.T) {
	data := encode(randomRows(rand.New(rand.NewPCG(3, 0)), 70, 1000))
	for n := range data {
		if err := readEverything(data[:n]); !errors.Is(err, ErrDamaged) {
			t.Fatalf("first %d of %d bytes: got %v, want ErrDamaged", n, len(data), err)
		}
	}
	if err := readEverything(append(data, 0)); !errors.Is(err, ErrDamaged) {
		t.Fatalf("one byte too many: got %v, want ErrDamaged", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 1})
	f.Add(encode(nil))
	f.Add(encode(randomRows(rand.New(rand.NewPCG(1, 0)), 40, 5000)))
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := readEverything(data); err != nil && !errors.Is(err, ErrDamaged) {
			t.Fatal(err)
		}
	})
}
