package kv

import (
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/faults"
	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// killedRepairVariable is set in the process that is killed, which repairs the store "store" in its working directory.
const killedRepairVariable = "GRAPHCLEANER_TEST_KILLED_REPAIR"

// repairAndCount repairs a store, and counts what the repair tells of.
func repairAndCount(t *testing.T, dir string) (corrections int, err error) {
	t.Helper()
	_, err = Repair(t.Context(), dir, Options{MemoryBudget: minMemoryBudget}, nil, func(Correction) { corrections++ })
	return corrections, err
}

// TestKilledRepair kills processes that repair a store in place of operations on files, also as a power failure does,
// which leaves what was synced. The store is then as it was, or it is repaired and has what it was beside it. The next
// repair comes to the end that the killed one would have come to. If a sync fails, the store is as it was.
func TestKilledRepair(t *testing.T) {
	if os.Getenv(killedRepairVariable) != "" {
		must.Do(t, faults.Begin())
		must.Get(repairAndCount(t, "store"))(t)
		return
	}
	if err := faults.CheckSupport(); err != nil {
		t.Skip(err)
	}
	t.Parallel()
	from := newLayeredStore(t).crashed
	want, err := contentsOf(t, copyStore(t, from))
	must.Do(t, err)
	must.Do(t, inFile("MANIFEST", func(text []byte) []byte { return text[:len(text)-3] })(from))
	before := bytesOf(t, from)
	whole := copyStore(t, from)
	repaired(t, whole)
	after := bytesOf(t, whole)
	run := func(plan faults.Plan) (outcome faults.Outcome, dir string) {
		parent := filepath.Dir(copyStore(t, from))
		dir = filepath.Join(parent, "store")
		must.Do(t, os.Rename(filepath.Join(parent, "copy"), dir))
		child := exec.Command(os.Args[0], "-test.run=^TestKilledRepair$")
		child.Dir, child.Env = parent, append(os.Environ(), killedRepairVariable+"=1")
		plan.Dir = parent
		if outcome, err = faults.Run(child, plan); err != nil {
			t.Fatal(err)
		}
		return outcome, dir
	}
	counted, _ := run(faults.Plan{Kind: faults.Count})
	if counted.Err != nil || counted.Operations < 20 {
		t.Fatalf("%v after %d operations", counted.Err, counted.Operations)
	}
	operations := rand.New(rand.NewPCG(1, 1)).Perm(int(counted.Operations))
	operations = operations[:min(longtest.Of(4, 1000), len(operations))]
	operations = append(operations, int(counted.Operations)+100) // once it has ended
	for i := range longtest.Of(6, 60) {                          // the last ones, of the directories that change places
		operations = append(operations, max(int(counted.Operations)-1-i, 0))
	}
	var plans []faults.Plan
	for _, at := range operations {
		plans = append(plans, faults.Plan{Kind: faults.Kill, At: int64(at) + 1})
		for torn := range uint64(longtest.Of(3, 6)) { // 0: what was synced is left, and nothing else
			plans = append(plans, faults.Plan{Kind: faults.Power, At: int64(at) + 1, Torn: torn})
		}
	}
	counted, _ = run(faults.Plan{Kind: faults.IO}) // which meets none
	for i := range int64(5) {                      // the renames and syncs of the directories that change places
		plans = append(plans, faults.Plan{Kind: faults.IO, At: counted.Operations - i})
	}
	swaps := map[bool]int{}
	for _, plan := range plans {
		kind, at := plan.Kind, plan.At
		killed, dir := run(plan)
		if killed.Operation == "" {
			continue
		}
		if err := undoSwap(dir); err != nil { // as Open does
			t.Errorf("%s at %d, %s: %v", kind, at, killed.Operation, err)
		}
		now := bytesOf(t, dir)
		swapped := !maps.Equal(now, before)
		if swapped && !slices.Equal(sortedNames(now), sortedNames(after)) { // a repair does not make its logs the same twice
			t.Errorf("%s at %d, %s: the files are neither those before nor those after", kind, at, killed.Operation)
		}
		if kind == faults.IO && (swapped || killed.Err == nil) {
			t.Errorf("%s at %d, %s: got %v, and the store is another: %v", kind, at, killed.Operation, killed.Err, swapped)
		}
		swaps[swapped]++
		if !swapped {
			if corrections, err := repairAndCount(t, dir); err != nil || corrections == 0 {
				t.Errorf("%s at %d, %s: the next repair tells of %d things that were done, %v",
					kind, at, killed.Operation, corrections, err)
			}
		}
		if got, err := contentsOf(t, copyStore(t, dir)); err != nil || !maps.Equal(got, want) {
			t.Errorf("%s at %d, %s: %d records after the next, want %d (%v)",
				kind, at, killed.Operation, len(got), len(want), err)
		}
		if got := bytesOf(t, dir+BeforeRepair); !maps.Equal(got, before) {
			t.Errorf("%s at %d, %s: beside the store are %v, want %v",
				kind, at, killed.Operation, sortedNames(got), sortedNames(before))
		}
		if swapped { // of a process that is killed at its end, it may stay
			must.Do(t, os.RemoveAll(dir+repairMark))
		}
		if entries := must.Get(os.ReadDir(filepath.Dir(dir)))(t); len(entries) != 2 {
			t.Errorf("%s at %d, %s: %v are left, want the store and what it was", kind, at, killed.Operation, entries)
		}
		must.Do(t, os.RemoveAll(filepath.Dir(dir)))
	}
	if swaps[true] == 0 || swaps[false] == 0 {
		t.Errorf("got %v stores before and after the directories changed places, want both", swaps)
	}
}
