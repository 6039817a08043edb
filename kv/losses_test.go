package kv

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// TestRepairOfATornJournal appends the end of a frame, without what comes before it, to the journal of a closed store: a repair cuts it
// off, loses nothing, and there is nothing left to repair.
func TestRepairOfATornJournal(t *testing.T) {
	t.Parallel()
	dir := everyKind(t, 5)
	damagedStores.Store(dir, true)
	want := must.Get(contentsOf(t, copyStore(t, dir)))(t)
	name := fileNames(t, dir, journalName+"-*.log")[0]
	must.Do(t, inFile(name, func(text []byte) []byte { return append(append(text, make([]byte, 1000)...), 1) })(dir))
	if done := fmt.Sprint(repaired(t, dir)); !strings.Contains(done, name) || !strings.Contains(done, "no commit is lost") {
		t.Errorf("repairing did %s, want the journal cut", done)
	}
	damagedStores.Delete(dir)
	sameContents(t, "repaired", dir, want)
	repairedAgain(t, dir)
}

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
		sum.add(loss)
	}
	if got, want := fmt.Sprint(sum), "at most 5 edges, an unknown number of entries of space x"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
