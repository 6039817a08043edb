package matrix

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/recordtest"
	"github.com/graphcleaner/graphcleaner/kv/internal/snapshot"
)

// newMatrix makes a matrix of random rows, of which the first are in blocks, some unwritten, and some are changed. It
// returns the cells.
func newMatrix(t *testing.T, r *rand.Rand, e codec.MatrixEncoding, width, rows, nodes, changes int) (Matrix, codec.Window) {
	t.Helper()
	records := recordtest.New()
	m := Matrix{Records: records, Entry: Entry{
		Generation: 7, Columns: make([]string, width), Rows: uint32(rows), BlockRows: uint32(e.BlockRows(width)),
		Deltas: changes > 0, Half: e.Half, Kept: uint32(e.Kept),
	}}
	all := codec.Window{Values: make([]float32, nodes*width), Stride: width}
	codec.FillWith(all.Values, float32(math.NaN()))
	fills := make([]float32, rows)
	draw := func(v int) {
		row := all.Row(v, 0, width)
		codec.FillWith(row, float32(r.IntN(3)))
		for range min(width, max(1, e.Kept)) {
			row[r.IntN(width)] = float32(r.NormFloat64())
		}
		must.Do(t, m.Conform(row))
		if v < rows && e.Shares(width) {
			fills[v], _ = e.Share(row)
		}
	}
	present := make([]bool, rows)
	for v := range present {
		if present[v] = r.IntN(4) > 0; present[v] {
			draw(v)
		}
	}
	height, step := int(m.BlockRows), m.TileWidth()
	for first := 0; first < rows; first += height {
		end := min(first+height, rows)
		for lo := 0; lo < width; lo += step {
			block, of := codec.Window{Values: all.Values[first*width : end*width], Stride: width}, fills[first:end]
			if !e.Shares(width) {
				of = nil
			}
			body := e.AppendTile(nil, block, present[first:end], of, lo, min(lo+step, width))
			must.Do(t, records.Put(Key(m.Generation, uint32(lo/step), uint32(first/height)), body))
		}
	}
	for range changes {
		v := r.IntN(nodes)
		draw(v)
		body := AppendRow(nil, all.Row(v, 0, width))
		must.Do(t, snapshot.PutChain(records, DeltaKey(m.Generation, record.NodeID(v)), body))
	}
	return m, all
}

func TestMatrix(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0))
	for _, e := range []codec.MatrixEncoding{{}, {Half: true}, {Kept: 3}, {Half: true, Kept: 3}} {
		for _, size := range []struct{ width, rows, nodes, changes int }{
			{1, 0, 1, 0}, {1, 1, 1, 0}, {1, 1, 1, 1}, {5, 0, 9, 4}, {37, 40, 40, 0}, {37, 1030, 1040, 60}, {20_000, 3, 4, 2},
		} {
			what := fmt.Sprintf("%+v, %+v", e, size)
			m, want := newMatrix(t, r, e, size.width, size.rows, size.nodes, size.changes)
			for i := range 16 {
				first, lo := r.IntN(size.nodes), r.IntN(size.width)
				rows := record.Range{First: record.NodeID(first), End: record.NodeID(first + 1 + r.IntN(size.nodes-first))}
				if i%2 == 1 { // few rows, which are read in another way
					rows.End = min(rows.End, rows.First+fewChanges+2)
				}
				hi := lo + 1 + r.IntN(size.width-lo)
				got := codec.Window{Values: make([]float32, rows.Len()*(hi-lo)), Stride: hi - lo}
				if err := m.Read(rows, lo, hi, got); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				for i := range rows.Len() {
					for j, want := range want.Row(first+i, lo, hi) {
						if got := got.Row(i, j, j+1)[0]; math.Float32bits(got) != math.Float32bits(want) && (got == got || want == want) {
							t.Fatalf("%s, node %d, column %d: got %v, want %v", what, first+i, lo+j, got, want)
						}
					}
				}
			}
		}
	}
}

// TestConform expects rows that an encoding cannot keep to be refused, and the cells of others to be rounded.
func TestConform(t *testing.T) {
	e := Entry{Columns: make([]string, 5), BlockRows: 4, Half: true, Kept: 1}
	if err := e.Conform([]float32{1, 2, 3, 3, 3}); !errors.Is(err, record.ErrInvalidValue) {
		t.Errorf("two cells beside the others: got %v, want ErrInvalidValue", err)
	}
	row := []float32{0.1, 0.1, 0.3, 0.1, 0.1}
	if err := e.Conform(row); err != nil || row[0] != 0.1 || row[2] != codec.RoundHalf(0.3) {
		t.Errorf("got %v, %v, want the third cell alone rounded", row, err)
	}
}

func TestDamage(t *testing.T) {
	const width, rows = 20, 1030
	whole, _ := newMatrix(t, rand.New(rand.NewPCG(2, 0)), codec.MatrixEncoding{}, width, rows, rows, 0)
	whole.Deltas = true
	records := whole.Records.(*recordtest.Records)
	tile, delta := Key(whole.Generation, 1, 1), record.PartKey(DeltaKey(whole.Generation, rows-1), 0)
	good := records.Body(tile)
	for name, damage := range map[string]struct{ key, body []byte }{
		"a missing tile":       {tile, nil},
		"a cut tile":           {tile, good[:len(good)-1]},
		"a tile of other rows": {tile, records.Body(Key(whole.Generation, 1, 0))},
		"an empty tile":        {tile, []byte{}},
		"a damaged change":     {delta, []byte{1, 0xff}},
		"an empty change":      {delta, []byte{}},
		"a narrow change":      {delta, append([]byte{1}, AppendRow(nil, make([]float32, width-1))...)},
	} {
		records.Change(damage.key, damage.body, func(changed *recordtest.Records) {
			m := whole
			m.Records = changed
			dst := codec.Window{Values: make([]float32, rows*width), Stride: width}
			if err := m.Read(record.Range{End: rows}, 0, width, dst); !errors.Is(err, record.ErrCorrupt) {
				t.Errorf("%s: got %v, want ErrCorrupt", name, err)
			}
			for range 2 {
				if err := m.Read(record.Range{First: rows - 1, End: rows}, 0, width, dst); !errors.Is(err, record.ErrCorrupt) {
					t.Errorf("%s, one row: got %v, want ErrCorrupt", name, err)
				}
			}
			m.Deltas = false
			if err := m.Read(record.Range{End: 1024}, 0, width, dst); err != nil {
				t.Errorf("%s, another block: got %v", name, err)
			}
		})
	}
}
