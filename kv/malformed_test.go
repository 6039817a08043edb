package kv

import (
	"errors"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A malformed is a change of the first record of a kind, which gets a checksum that is right.
type malformed struct {
	kind   record.Kind
	change func(body []byte) []byte
}

func cutBody(b []byte) []byte  { return b[:len(b)-1] }
func longBody(b []byte) []byte { return append(b, 0) }
func noBody([]byte) []byte     { return nil }

// largeBody has the greatest numbers in place of others.
func largeBody(b []byte) []byte {
	for i := range b {
		b[i] = 0xff
	}
	return b
}

// checkFinds makes each change on its own: Check tells.
func checkFinds(t *testing.T, s *Store, changes []malformed) {
	t.Helper()
	for i, c := range changes {
		key := firstKey(t, s, c.kind)
		value := rawValue(t, s, key)
		rewrite(t, s, key, c.change)
		if found := problems(t, s); len(found) == 0 {
			t.Errorf("change %d, %s changed from % .20x… to % .20x…: Check found nothing", i, c.kind.String(), value,
				rawValue(t, s, key))
		}
		writeRaw(t, s, key, value)
	}
	checkClean(t, s)
}

// TestCheckFindsMalformedRecords has records of every kind that no encoder writes.
func TestCheckFindsMalformedRecords(t *testing.T) {
	t.Parallel()
	s := openStore(t, copyStore(t, everyKind(t, 300)), Options{})
	update(t, s, func(tx *Tx) error {
		return errors.Join(tx.SetValue(3, "year", ValueOf(5)), tx.SetRow("m", 3, []float32{1, 2, 3}))
	})
	var changes []malformed
	for _, k := range []record.Kind{
		record.KindColumn, record.KindMatrix, record.KindRowDelta, record.KindIDs, record.KindNodeAt, record.KindPosition,
		record.KindAddedID,
	} {
		changes = append(changes, malformed{k, cutBody}, malformed{k, noBody}, malformed{k, largeBody})
	}
	row := func(width int) []byte { return make([]byte, 1+4*width) } // of one part
	checkFinds(t, s, append(changes,
		malformed{record.KindColumn, func(b []byte) []byte { // a block of other rows
			return codec.AppendColumn(b[:1], KindClass, make([]Value, 5))
		}},
		malformed{record.KindColumnDelta, largeBody}, malformed{record.KindColumnDelta, noBody},
		malformed{record.KindRowDelta, func([]byte) []byte { return row(2) }},
	))
}

func TestCheckFindsDamagedArcs(t *testing.T) {
	t.Parallel()
	s := arcStore(t, codec.ArcForm{Directed: true, Weighted: true})
	addNodes(t, s, 300)
	for v := range NodeID(299) { // in blocks, and then as deltas
		if v == 200 {
			must.Do(t, s.Compact(t.Context(), nil))
		}
		update(t, s, func(tx *Tx) error { return setEdge(tx, 0, v+1, float32(v+1)) })
	}
	checkFinds(t, s, []malformed{
		{record.KindArcs, noBody},   // no count
		{record.KindArcs, longBody}, // too long
		{record.KindArcs, cutBody},  // too short
		// an arc more than weights
		{record.KindArcs, func(b []byte) []byte { b[3] |= 2; return b }},
		// an entry without arcs
		{record.KindArcs, func(b []byte) []byte { b[3] &^= 3; return b }},
		{record.KindArcs, func(b []byte) []byte { b[len(b)-1] = 0x7f; b[len(b)-2] = 0xff; return b }}, // NaN
		// not what the other end says
		{record.KindArcs, func(b []byte) []byte { b[len(b)-2]++; return b }},
		{record.KindEdgeDelta, func(b []byte) []byte { return []byte{0, 0} }},
		{record.KindEdgeDelta, func(b []byte) []byte { b[len(b)-2]++; return b }},
		{record.KindEdgeDelta, func(b []byte) []byte { b[1] |= 0x10; return b }}, // padding
		{record.KindEdgeDelta, func([]byte) []byte { return []byte{1} }},
		{record.KindDegreeDelta, func(b []byte) []byte { b[len(b)-1]--; return b }},
		{record.KindDegreeDelta, longBody},
	})
	key := firstKey(t, s, record.KindArcs)
	value := rawValue(t, s, key)
	writeRaw(t, s, key, nil)
	if found := problems(t, s); len(found) == 0 {
		t.Error("no record of arcs: Check found nothing")
	}
	writeRaw(t, s, key, value)
	checkClean(t, s)
}
