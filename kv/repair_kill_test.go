package kv

import (
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/faults"
	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/quarantine"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// killedRepairVariable is set in the process that is killed, which repairs the store "store" in its working directory.
const killedRepairVariable = "GRAPHCLEANER_TEST_KILLED_REPAIR"

// repairAndCount repairs a store, and counts what the repair tells of.
func repairAndCount(t *testing.T, dir string) (corrections int, err error) {
	t.Helper()
	_, err = Repair(t.Context(), dir, Options{MemoryBudget: minMemoryBudget}, nil, func(Correction) { corrections++ })
	return corrections, err
}

// TestKilledRepair kills processes that repair a store in place of operations on files. The store is then as it was, or does
// not open, or is repaired. The next repair comes to the end that the killed one would have come to, and the quarantine has
// every byte of what was there.
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
	from := newMergedStore(t).crashed
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
		plan.Dir, plan.Kind = dir, faults.Kill
		if outcome, err = faults.Run(child, plan); err != nil {
			t.Fatal(err)
		}
		return outcome, dir
	}
	counted, _ := run(faults.Plan{})
	if counted.Err != nil || counted.Operations < 20 {
		t.Fatalf("%v after %d operations", counted.Err, counted.Operations)
	}
	operations := rand.New(rand.NewPCG(1, 1)).Perm(int(counted.Operations))
	operations = operations[:min(longtest.Of(4, 1000), len(operations))]
	for i := range longtest.Of(6, 60) { // the last ones, of the files that change places
		operations = append(operations, max(int(counted.Operations)-1-3*i, 0))
	}
	for _, at := range operations {
		killed, dir := run(faults.Plan{At: int64(at) + 1})
		if killed.Operation == "" {
			continue
		}
		stopped := quarantine.Check(dir) != nil
		if now := bytesOf(t, dir); !stopped && !maps.Equal(now, before) && !maps.Equal(now, after) &&
			!slices.Equal(sortedNames(now), sortedNames(after)) { // a repair does not make its logs the same twice
			t.Errorf("killed at %d, %s: the files are neither those before nor those after", at, killed.Operation)
		}
		if stopped {
			if _, err := Open(dir, Options{}); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "repair it again") || !isStore(dir) {
				t.Errorf("killed at %d, %s: opening half of it: got %v, want ErrCorrupt", at, killed.Operation, err)
			}
		}
		corrections, err := repairAndCount(t, dir)
		if err != nil || stopped && corrections == 0 {
			t.Errorf("killed at %d, %s: the next repair tells of %d things that were done, %v", at, killed.Operation, corrections, err)
		}
		if got, err := contentsOf(t, copyStore(t, dir)); err != nil || !maps.Equal(got, want) {
			t.Errorf("killed at %d, %s: %d records after the next, want %d (%v)", at, killed.Operation, len(got), len(want), err)
		}
		kept, err := filepath.Glob(filepath.Join(dir, storedir.QuarantineName, "*", "before"))
		if err != nil || len(kept) != 1 {
			t.Fatalf("killed at %d, %s: got the files of %v, %v, want those of one repair", at, killed.Operation, kept, err)
		}
		if got := bytesOf(t, kept[0]); !maps.Equal(got, before) {
			t.Errorf("killed at %d, %s: the quarantine has %v, want %v", at, killed.Operation, sortedNames(got), sortedNames(before))
		}
		must.Do(t, os.RemoveAll(filepath.Dir(dir)))
	}
}
