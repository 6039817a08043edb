package kv

import (
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/faults"
	"github.com/graphcleaner/graphcleaner/internal/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/quarantine"
)

// killedRepairVariable says, in the process that is killed, what it does to the store "store" in its working directory.
const killedRepairVariable = "GRAPHCLEANER_TEST_KILLED_REPAIR"

// repairOrUndo repairs a store, or undoes that, and counts what a repair tells of.
func repairOrUndo(t *testing.T, job, dir string) (corrections int, err error) {
	t.Helper()
	opt := Options{MemoryBudget: minMemoryBudget}
	if job == "undo" {
		return 0, UndoRepair(t.Context(), dir, opt, nil)
	}
	_, err = Repair(t.Context(), dir, opt, nil, func(Correction) { corrections++ })
	return corrections, err
}

// TestKilledRepair kills processes that repair a store, or undo the repair, in place of operations on files. The store is
// then as it was, or does not open, or is repaired. The same again comes to the end that it would have come to, and
// undoing puts every byte back.
func TestKilledRepair(t *testing.T) {
	if job := os.Getenv(killedRepairVariable); job != "" {
		must.Do(t, faults.Begin())
		must.Get(repairOrUndo(t, job, "store"))(t)
		return
	}
	if err := faults.CheckSupport(); err != nil {
		t.Skip(err)
	}
	t.Parallel()
	dirs := map[string]string{"repair": newMergedStore(t).crashed}
	want, err := contentsOf(t, copyStore(t, dirs["repair"]))
	must.Do(t, err)
	must.Do(t, inFile("MANIFEST", func(text []byte) []byte { return text[:len(text)-3] })(dirs["repair"]))
	before := bytesOf(t, dirs["repair"])
	dirs["undo"] = copyStore(t, dirs["repair"])
	repaired(t, dirs["undo"])
	after := bytesOf(t, dirs["undo"])
	for job, from := range dirs {
		run := func(plan faults.Plan) (outcome faults.Outcome, dir string) {
			parent := filepath.Dir(copyStore(t, from))
			dir = filepath.Join(parent, "store")
			must.Do(t, os.Rename(filepath.Join(parent, "copy"), dir))
			child := exec.Command(os.Args[0], "-test.run=^TestKilledRepair$")
			child.Dir, child.Env = parent, append(os.Environ(), killedRepairVariable+"="+job)
			plan.Dir, plan.Kind = dir, faults.Kill
			if outcome, err = faults.Run(child, plan); err != nil {
				t.Fatal(err)
			}
			return outcome, dir
		}
		whole, _ := run(faults.Plan{})
		if whole.Err != nil || whole.Operations < 20 {
			t.Fatalf("%s: %v after %d operations", job, whole.Err, whole.Operations)
		}
		operations := rand.New(rand.NewPCG(1, 1)).Perm(int(whole.Operations))
		operations = operations[:min(longtest.Of(4, 1000), len(operations))]
		for i := range longtest.Of(6, 60) { // the last ones, of the files that change places
			operations = append(operations, max(int(whole.Operations)-1-3*i, 0))
		}
		for _, at := range operations {
			killed, dir := run(faults.Plan{At: int64(at) + 1})
			if killed.Operation == "" {
				continue
			}
			if now := bytesOf(t, dir); !maps.Equal(now, before) && !maps.Equal(now, after) && quarantine.Check(dir) == nil &&
				!slices.Equal(sortedNames(now), sortedNames(after)) { // a repair does not make its logs the same twice
				t.Errorf("%s killed at %d, %s: the files are neither those before nor those after", job, at, killed.Operation)
			}
			if quarantine.Check(dir) != nil {
				if _, err := Open(dir, Options{}); !errors.Is(err, ErrCorrupt) || !IsStore(dir) {
					t.Errorf("%s killed at %d, %s: opening half of it: got %v, want ErrCorrupt", job, at, killed.Operation, err)
				}
			}
			switching := quarantine.Check(dir) != nil
			corrections, err := repairOrUndo(t, job, dir)
			if err != nil && !errors.Is(err, ErrNoRepair) {
				t.Errorf("%s killed at %d, %s: again: %v", job, at, killed.Operation, err)
			}
			if job == "repair" && switching && corrections == 0 {
				t.Errorf("repair killed at %d, %s: the next does not tell what was done", at, killed.Operation)
			}
			if job == "repair" {
				if got, err := contentsOf(t, copyStore(t, dir)); err != nil || !maps.Equal(got, want) {
					t.Errorf("repair killed at %d, %s: %d records after the next, want %d (%v)", at, killed.Operation, len(got), len(want), err)
				}
				if _, err := repairOrUndo(t, "undo", dir); err != nil {
					t.Errorf("repair killed at %d, %s: undoing: %v", at, killed.Operation, err)
				}
			}
			if got := bytesOf(t, dir); !maps.Equal(got, before) {
				t.Errorf("%s killed at %d, %s: after undoing the files are %v, want %v", job, at, killed.Operation, sortedNames(got), sortedNames(before))
			}
			must.Do(t, os.RemoveAll(filepath.Dir(dir)))
		}
	}
}
