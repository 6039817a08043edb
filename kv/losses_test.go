package kv

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// TestLosses takes records away, or damages one, and counts what is lost.
func TestLosses(t *testing.T) {
	t.Parallel()
	dir := everyKind(t, 700)
	damaged := func(s *Store) {
		key := firstKey(t, s, record.KindDocument)
		value := slices.Clone(rawValue(t, s, key))
		value[len(value)-1] ^= 1
		writeRaw(t, s, key, value)
	}
	withoutPart := func(s *Store) {
		update(t, s, func(tx *Tx) error {
			return tx.Documents("documents").Put("long", strings.Repeat("x", 3*record.PartSize))
		})
		writeRaw(t, s, record.PartKey(documentKey("documents", "long"), 1), nil)
	}
	without := func(k record.Kind) func(s *Store) {
		return func(s *Store) { writeRaw(t, s, firstKey(t, s, k), nil) }
	}
	for _, test := range []struct {
		name   string
		damage func(s *Store)
		want   string
	}{
		{"id block", without(record.KindIDs), "251 ids"}, // 5 of 256 are of removed nodes
		{"id lookup bucket", without(record.KindIDLookup), "nothing"},
		{"adjacency partition", without(record.KindAdjacencyPartition), "nothing"},
		{"part of a document", withoutPart, "1 document"},
		{"record of a sound block", damaged, "1 record of tables"},
	} {
		copied := copyStore(t, dir)
		s := must.Get(Open(copied, Options{MemoryBudget: minMemoryBudget}))(t)
		test.damage(s)
		damagedStores.Store(copied, true)
		closeStore(t, s)
		lost, err := Repair(t.Context(), copied, Options{MemoryBudget: minMemoryBudget}, nil, func(Correction) {})
		if err != nil || lost.String() != test.want {
			t.Errorf("%s: lost %q (%v), want %q", test.name, lost, err, test.want)
		}
		exported(t, copied)
	}
	var sum Losses
	for _, loss := range []lsm.Loss{{Kind: "edge", Count: 2}, {Kind: "edge", Count: 3, AtMost: true},
		{Kind: "entry of space x", Count: UnknownCount}, {Kind: "entry of space x", Count: 1}, {Kind: "id"}} {
		sum.Add(loss)
	}
	if got, want := fmt.Sprint(sum), "at most 5 edges, an unknown number of entries of space x"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
