package kv

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
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
	if corrections := repaired(t, dir); len(corrections) > 0 {
		t.Errorf("repairing again did %v", corrections)
	}
}
