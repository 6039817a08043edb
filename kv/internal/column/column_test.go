package column

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/recordtest"
)

// newColumn makes a column of random values, those before rows in blocks, and changes some. It returns the values.
func newColumn(t *testing.T, r *rand.Rand, kind codec.Kind, rows, nodes, changes int) (Column, []codec.Value) {
	t.Helper()
	draw := func() codec.Value {
		n := r.IntN(5)
		switch {
		case n == 0:
			return codec.Value{}
		case kind == codec.KindString:
			return codec.StringValue([]string{"", "ü", "日本", "\x00"}[n-1])
		case kind == codec.KindFloat:
			return codec.FloatValue(r.NormFloat64())
		case kind == codec.KindBool:
			return codec.BoolValue(n%2 == 0)
		}
		return codec.IntValue(int64(n) << (n * 5))
	}
	records := recordtest.New()
	c := Column{
		Entry:   Entry{Generation: 7, Kind: kind, Rows: uint32(rows), Deltas: changes > 0},
		Records: records, Nodes: nodes,
	}
	values := make([]codec.Value, nodes)
	for first := 0; first < rows; first += codec.ColumnRows {
		block := values[first:min(first+codec.ColumnRows, rows)]
		for i := range block {
			block[i] = draw()
		}
		putBlock(t, c, uint32(first/codec.ColumnRows), codec.AppendColumn(nil, kind, block))
	}
	for range changes {
		v := r.IntN(nodes)
		values[v] = draw()
		must.Do(t, c.Set(records, record.NodeID(v), values[v]))
	}
	return c, values
}

// putBlock writes a block of one part.
func putBlock(t *testing.T, c Column, number uint32, body []byte) {
	t.Helper()
	put := c.Records.(*recordtest.Records).Put
	must.Get(record.PutParts(put, Key(c.Generation, number), body))(t)
}

// read returns the values of a range by its blocks and changes, in an array of all nodes.
func read(c Column, r record.Range) ([]codec.Value, error) {
	values := make([]codec.Value, c.Nodes)
	for v := r.First; v < min(r.End, record.NodeID(c.Rows)); v++ {
		block, err := c.Lookup(uint32(v) / codec.ColumnRows)
		if err != nil {
			return nil, err
		}
		values[v] = block.Cell(int(v)%codec.ColumnRows, c.Kind)
	}
	return values, c.ReadDeltas(r, func(v record.NodeID, cell codec.Value) { values[v] = cell })
}

func TestColumn(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0))
	sizes := []struct{ rows, nodes, changes int }{
		{0, 0, 0}, {0, 1, 0}, {0, 3, 2}, {1, 1, 0}, {1, 1, 1}, {300, 300, 0}, {300, 310, 40},
		{codec.ColumnRows, codec.ColumnRows, 5}, {2*codec.ColumnRows + 1, 2*codec.ColumnRows + 9, 50},
	}
	for _, kind := range []codec.Kind{codec.KindInt, codec.KindString, codec.KindFloat, codec.KindBool, codec.KindClass} {
		for _, size := range sizes {
			what := fmt.Sprintf("column of %s, %d rows, %d nodes, %d changes", kind, size.rows, size.nodes, size.changes)
			c, want := newColumn(t, r, kind, size.rows, size.nodes, size.changes)
			for v, want := range want {
				if got, err := c.Cell(record.NodeID(v)); err != nil || got != want {
					t.Fatalf("%s, node %d: got %v, %v, want %v", what, v, got, err, want)
				}
			}
			keys := 0
			for key := range c.Keys(func(yield func(record.NodeID) bool) {
				for v := range want {
					if !yield(record.NodeID(v)) {
						return
					}
				}
			}) {
				keys++
				if err := c.Records.Get(key, func([]byte) error { return nil }); err != nil {
					t.Fatalf("%s: the record %x: %v", what, key, err)
				}
			}
			if blocks := (size.rows + codec.ColumnRows - 1) / codec.ColumnRows; keys != blocks {
				t.Fatalf("%s: got %d keys of blocks, want %d", what, keys, blocks)
			}
			for range 8 {
				rng := record.Range{First: record.NodeID(r.IntN(size.nodes + 1)), End: record.NodeID(size.nodes)}
				rng.End -= record.NodeID(r.IntN(rng.Len() + 1))
				got, err := read(c, rng)
				for v := range got {
					inside := record.NodeID(v) >= rng.First && record.NodeID(v) < rng.End
					if err != nil || inside && got[v] != want[v] || !inside && !got[v].IsNull() {
						t.Fatalf("%s, node %d of %v: got %v, %v, want %v", what, v, rng, got[v], err, want[v])
					}
				}
			}
		}
	}
}

// TestDeltasAscend expects each change of a range once, ascending, and none without Deltas.
func TestDeltasAscend(t *testing.T) {
	c, values := newColumn(t, rand.New(rand.NewPCG(2, 0)), codec.KindInt, 100, 120, 300)
	next := record.NodeID(30)
	set := func(v record.NodeID, cell codec.Value) {
		if v < next || v >= 90 || cell != values[v] {
			t.Errorf("got node %d with %v, want nodes %d to 89, and %v", v, cell, next, values[v])
		}
		next = v + 1
	}
	if err := c.ReadDeltas(record.Range{First: 30, End: 90}, set); err != nil || next < 80 {
		t.Errorf("got %v, the last node %d, want most nodes", err, next)
	}
	c.Deltas = false
	if err := c.ReadDeltas(record.Range{End: 120}, func(v record.NodeID, _ codec.Value) { t.Errorf("got node %d", v) }); err != nil {
		t.Error(err)
	}
}

func TestDamage(t *testing.T) {
	const rows = codec.ColumnRows + 10
	whole, _ := newColumn(t, rand.New(rand.NewPCG(3, 0)), codec.KindString, rows, rows, 0)
	whole.Deltas = true
	block := record.PartKey(Key(whole.Generation, 1), 0)
	records := whole.Records.(*recordtest.Records)
	good := records.Body(block)
	for name, damage := range map[string]struct{ key, body []byte }{
		"a missing block":            {block, nil},
		"a cut block":                {block, good[:len(good)-1]},
		"a block of other rows":      {block, records.Body(record.PartKey(Key(whole.Generation, 0), 0))},
		"an empty block":             {block, []byte{}},
		"a damaged change":           {DeltaKey(whole.Generation, rows-1), []byte{0xff}},
		"a change of an absent node": {DeltaKey(whole.Generation, rows), codec.IntValue(1).Append(nil)},
	} {
		records.Change(damage.key, damage.body, func(changed *recordtest.Records) {
			c := whole
			c.Records = changed
			if _, err := read(c, record.Range{End: rows}); !errors.Is(err, record.ErrCorrupt) {
				t.Errorf("%s, Read: got %v, want ErrCorrupt", name, err)
			}
			_, err := c.Cell(rows - 1)
			if absent := string(damage.key) == string(DeltaKey(whole.Generation, rows)); errors.Is(err, record.ErrCorrupt) == absent {
				t.Errorf("%s, Cell: got %v", name, err)
			}
			if _, err := c.Cell(0); err != nil {
				t.Errorf("%s, a node of another block: got %v", name, err)
			}
		})
	}
}
