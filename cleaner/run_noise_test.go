package cleaner

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
)

// TestCleanOfManyClasses cleans a small graph with more classes than a transaction holds pairs of.
func TestCleanOfManyClasses(t *testing.T) {
	const n, c = 4000, 2000
	dir := filepath.Join(t.TempDir(), "store")
	l, err := kv.NewLoader(dir, kv.LoadOptions{MemoryBudget: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	for v := range n {
		if err := l.AddNode(kv.Node{ID: fmt.Sprint(v), Label: fmt.Sprintf("class %d", v%c)}); err != nil {
			t.Fatal(err)
		}
	}
	for v := range n {
		for _, u := range []int{(v + c) % n, (v + 1) % n} {
			if err := l.AddEdge(fmt.Sprint(v), fmt.Sprint(u), 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := l.Commit(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	s, err := index.Open(dir, kv.Options{MemoryBudget: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		mustEndSound(t, s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	var classes []string
	view(t, s, func(tx *kv.Tx) error { classes = tx.Classes(); return nil })
	row := make([]float64, c)
	err = importPredictions(s, classes, PredictionOptions{}, func(w *PredictionWriter, tx *kv.Tx) error {
		for v := range kv.NodeID(n) {
			y, err := tx.Label(v)
			if err != nil {
				return err
			}
			clear(row)
			row[(int(y)+int(v)%3)%c] = 1
			if err := w.Put(v, row); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	run, err := Clean(context.Background(), s, Options{Preset: PresetPaper, MemoryBudget: 64 << 20})
	if err != nil {
		t.Fatalf("cleaning %d classes: %v", c, err)
	}
	view(t, s, func(tx *kv.Tx) error {
		back, err := LastRun(tx)
		if err == nil && !reflect.DeepEqual(back.ConfidentJoint, run.ConfidentJoint) {
			t.Error("the confident joint read back is not the one of the run")
		}
		return err
	})
}

func TestDamagedJointIsAnError(t *testing.T) {
	s := newPlanted(7, 200).load(t, false)
	run := mustClean(t, s, Options{Preset: PresetPaper})
	for name, value := range map[string][]byte{
		"cut short":          {0},
		"a count of zero":    {0, 0},
		"beyond the classes": {16, 1},
		"no number":          {0xff, 0xff},
	} {
		err := s.Update(func(tx *kv.Tx) error {
			if err := tx.Space(jointSpace(runKey(run.ID))).Put(make([]byte, 8), value); err != nil {
				return err
			}
			_, err := LastRun(tx)
			return err
		})
		if !errors.Is(err, kv.ErrCorrupt) {
			t.Errorf("a joint that is %s: got %v, want kv.ErrCorrupt", name, err)
		}
	}
}
