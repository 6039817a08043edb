package kv

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// TestLosses damages records that cannot be rebuilt, and counts what is lost.
func TestLosses(t *testing.T) {
	t.Parallel()
	dir := everyKind(t, 700)
	for _, test := range []struct {
		kind record.Kind
		want string
	}{
		{record.KindIDs, "251 ids"}, {record.KindDocument, "1 document"}, {record.KindSpace, "1 entry of space lent"}, // 5 of 256 are of removed nodes
		{record.KindRowDelta, "at most 1 row of matrix m"}, {record.KindIDLookup, "nothing"}, {record.KindAdjacencyDirectory, "nothing"},
	} {
		copied := copyStore(t, dir)
		s := must.Get(Open(copied, Options{MemoryBudget: minMemoryBudget}))(t)
		key := firstKey(t, s, test.kind)
		value := []byte(strings.Clone(string(rawValue(t, s, key))))
		value[len(value)-1] ^= 1
		writeRaw(t, s, key, value)
		damagedStores.Store(copied, true)
		closeStore(t, s)
		lost, err := Repair(t.Context(), copied, Options{MemoryBudget: minMemoryBudget}, nil, func(Correction) {})
		if err != nil || lost.String() != test.want {
			t.Errorf("%s: lost %q (%v), want %q", test.kind.String(), lost, err, test.want)
		}
	}
	var sum Losses
	for _, loss := range []Loss{{Kind: "edge", Count: 2}, {Kind: "edge", Count: 3, AtMost: true}, {Kind: "entry of space x", Count: UnknownCount}, {Kind: "entry of space x", Count: 1}, {Kind: "id"}} {
		sum.Add(loss)
	}
	if got, want := fmt.Sprint(sum), "at most 5 edges, an unknown number of entries of space x"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
