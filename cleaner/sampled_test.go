package cleaner

import (
	"bytes"
	"context"
	"errors"
	"math"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/golden"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

func TestCleanWithSampledDiagonals(t *testing.T) {
	s := newPlanted(31, 300).load(t, false)
	opt := Options{Seed: 3, Preset: PresetPaper, Diagonal: DiagonalSampled, Hops: 4, MemoryBudget: narrow, CheckpointInterval: 1}
	run := mustClean(t, s, opt)
	want := outcome(t, s)
	if run.Diagonal != DiagonalSampled || run.DiagonalSamples != diagonalSamples ||
		!(run.MeanFeatureError > 0 && run.MeanFeatureError <= run.LargestFeatureError) {
		t.Errorf("got diagonals %s of %d samples and errors of mean %v and largest %v, want sampled ones of %d and errors",
			run.Diagonal, run.DiagonalSamples, run.MeanFeatureError, run.LargestFeatureError, diagonalSamples)
	}
	view(t, s, func(tx *kv.Tx) error {
		diagonals, err := ops.SampleDiagonals(context.Background(), tx, 4, ops.SampleOptions{Samples: diagonalSamples, Seed: 3}, ops.Options{})
		if err != nil {
			return err
		}
		last, err := LastRun(tx)
		if err != nil {
			return err
		}
		if last.Diagonal != run.Diagonal || last.LargestFeatureError != run.LargestFeatureError {
			t.Errorf("last run as read: got diagonals %s and a largest error of %v", last.Diagonal, last.LargestFeatureError)
		}
		matrix, err := tx.Matrix(AgreementErrorMatrix)
		if err != nil {
			return err
		}
		for v := range tx.NumNodes() {
			label, err := tx.Label(kv.NodeID(v))
			if err != nil {
				return err
			}
			e := mustExplain(t, tx, kv.NodeID(v), ops.Options{})
			row := make([]float32, 9)
			if err := matrix.Read(kv.Range{First: kv.NodeID(v), End: kv.NodeID(v + 1)}, 0, 9, row); err != nil {
				return err
			}
			for f, got := range row {
				if label == kv.NoClass {
					if !math.IsNaN(float64(got)) {
						t.Fatalf("node %d is unlabelled: got an error of %v, want NaN", v, got)
					}
					continue
				}
				want, k := 0.0, f
				if f > 4 {
					k = f - 4
				}
				if k >= 3 {
					if want = diagonals.StandardError(k)[v]; f <= 4 {
						want *= e.Features[0].Value
					}
				}
				if !golden.Near(float64(got), want, 1e-7) || e.Features[f].StandardError != float64(got) {
					t.Fatalf("node %d, feature %d: got an error of %v, explained as %v, want %v", v, f, got, e.Features[f].StandardError, want)
				}
			}
		}
		return diagonals.Close()
	})

	// The same again, from kept diagonals, and interrupted.
	mustClean(t, s, opt)
	if !bytes.Equal(outcome(t, s), want) {
		t.Error("a second run: the outcome differs")
	}
	interrupted(t, s, opt, 8)
	mustClean(t, s, opt)
	if !bytes.Equal(outcome(t, s), want) {
		t.Error("an interrupted run: the outcome differs")
	}

	opt.Diagonal = DiagonalExact
	if run := mustClean(t, s, opt); run.Diagonal != DiagonalExact || run.DiagonalSamples != 0 || run.LargestFeatureError != 0 {
		t.Errorf("exact: got diagonals %s of %d samples with errors", run.Diagonal, run.DiagonalSamples)
	}
	view(t, s, func(tx *kv.Tx) error {
		if _, err := tx.Matrix(AgreementErrorMatrix); !errors.Is(err, kv.ErrNotFound) {
			t.Errorf("errors after an exact run: got %v, want kv.ErrNotFound", err)
		}
		return nil
	})
	for _, bad := range []Options{{Diagonal: "guessed"}, {Diagonal: DiagonalSampled, Hops: 5}} {
		if _, err := Clean(context.Background(), s, bad); !errors.Is(err, ErrOptions) {
			t.Errorf("%+v: got %v, want ErrOptions", bad, err)
		}
	}
}
