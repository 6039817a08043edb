package kv

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
)

// sharedRow draws a row with one value but in at most kept cells.
func sharedRow(r *rand.Rand, width, kept int) []float32 {
	row := make([]float32, width)
	codec.FillWith(row, float32(r.IntN(3))/1000)
	for range r.IntN(kept + 1) {
		row[r.IntN(width)] = r.Float32()
	}
	return row
}

// TestMatrixEncodings writes rows in each encoding, changes some, compacts, and reads windows all along: what is kept
// is what the encoding says, wherever a row is stored.
func TestMatrixEncodings(t *testing.T) {
	t.Parallel()
	const n = 1500
	for i, test := range []struct {
		width    int
		encoding MatrixEncoding
		shared   bool
	}{
		{7, MatrixEncoding{Half: true}, false},
		{700, MatrixEncoding{Half: true, Kept: 350}, false}, // as many cells as there are others
		{40, MatrixEncoding{Kept: 3}, true},
		{300, MatrixEncoding{Half: true, Kept: 10}, true},
	} {
		for _, ordered := range []bool{true, false} {
			if !longtest.Asked() && ordered == (i%2 == 1) {
				continue
			}
			t.Run(fmt.Sprintf("%+v/width=%d/ordered=%v", test.encoding, test.width, ordered), func(t *testing.T) {
				r := rand.New(rand.NewPCG(uint64(test.width), 1))
				if test.encoding.Shares(test.width) != test.shared {
					t.Fatalf("shares: got %v", !test.shared)
				}
				dir := filepath.Join(t.TempDir(), "graph")
				s := nodesOnly(t, dir, n)
				want := make([][]float32, n)
				draw := func() (given, kept []float32) {
					given = sharedRow(r, test.width, max(test.encoding.Kept, 3))
					kept = slices.Clone(given)
					if !test.encoding.Conform(kept) {
						t.Fatalf("%v does not conform", given)
					}
					return given, kept
				}
				b := must.Get(s.Bulk(context.Background()))(t)
				defer b.Abort()
				columns := make([]string, test.width)
				for j := range columns {
					columns[j] = fmt.Sprint("c", j)
				}
				w, err := b.Matrix("m", columns, test.encoding)
				must.Do(t, err)
				order := r.Perm(n)
				if ordered {
					slices.Sort(order)
				} else {
					w.Sort()
				}
				for _, v := range order {
					if v%50 == 49 {
						continue // never written
					}
					given, kept := draw()
					must.Do(t, w.Put(NodeID(v), given))
					want[v] = kept
				}
				must.Do(t, b.Commit(nil))
				verifyWindows(t, s, r, want)
				for range 20 {
					v := r.IntN(n)
					given, kept := draw()
					must.Do(t, s.Update(func(tx *Tx) error { return tx.SetRow("m", NodeID(v), given) }))
					want[v] = kept
				}
				verifyWindows(t, s, r, want)
				must.Do(t, s.Compact(t.Context(), nil))
				verifyWindows(t, s, r, want)
				checkClean(t, s)

				if !test.shared {
					return
				}
				varied := make([]float32, test.width)
				for j := range varied {
					varied[j] = float32(j)
				}
				err = s.Update(func(tx *Tx) error { return tx.SetRow("m", 0, varied) })
				if !errors.Is(err, ErrInvalidValue) {
					t.Errorf("a row of many values: got %v, want ErrInvalidValue", err)
				}
			})
		}
	}
}

// verifyWindows compares the whole matrix m, and parts of it, with rows, of which nil was never written.
func verifyWindows(t *testing.T, s *Store, r *rand.Rand, rows [][]float32) {
	t.Helper()
	must.Do(t, s.View(func(tx *Tx) error {
		m := must.Get(tx.Matrix("m"))(t)
		for k := range 30 {
			first, lo := r.IntN(len(rows)), r.IntN(m.Width())
			end, hi := first+1+r.IntN(len(rows)-first), lo+1+r.IntN(m.Width()-lo)
			if k == 0 {
				first, end, lo, hi = 0, len(rows), 0, m.Width()
			} else if m.Width() > 100 {
				end = min(end, first+100)
			}
			dst := make([]float32, (end-first)*(hi-lo))
			must.Do(t, m.Read(Range{First: NodeID(first), End: NodeID(end)}, lo, hi, dst))
			for i := range end - first {
				for j := range hi - lo {
					want := float32(math.NaN())
					if row := rows[first+i]; row != nil {
						want = row[lo+j]
					}
					if got := dst[i*(hi-lo)+j]; math.Float32bits(got) != math.Float32bits(want) {
						t.Fatalf("cell %d,%d: got %v, want %v", first+i, lo+j, got, want)
					}
				}
			}
		}
		return nil
	}))
}

// nodesOnly is a store of n nodes without edges.
func nodesOnly(t testing.TB, dir string, n int) *Store {
	t.Helper()
	l := must.Get(NewLoader(t.Context(), dir, LoadOptions{}))(t)
	for v := range n {
		must.Do(t, l.AddNode(Node{ID: fmt.Sprint(v)}))
	}
	must.Get(l.Commit(t.Context(), nil))(t)
	return openTest(t, dir)
}

func TestSharedTilesAreSmall(t *testing.T) {
	const width, kept = 1000, 10
	for half, most := range map[bool]int{false: 4 + 1 + kept*(2+4), true: 4 + 1 + kept*(2+2)} {
		e := MatrixEncoding{Half: half, Kept: kept}
		rows := e.BlockRows(width)
		r := rand.New(rand.NewPCG(1, 0))
		var values []float32
		for range rows {
			row := sharedRow(r, width, kept)
			e.Conform(row)
			values = append(values, row...)
		}
		got := len(e.AppendTile(nil, codec.Window{Values: values, Stride: width}, rows, 0, width))
		if got > rows*most+10 || got > codec.MaxTileBytes {
			t.Errorf("half=%v: got %d bytes for %d rows, want at most %d a row and %d in all", half, got, rows, most,
				codec.MaxTileBytes)
		}
	}
}
