package cleaner

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// few is a store of five nodes, ids p0 … p4 of classes x, y and one unlabelled.
func few(t *testing.T) *kv.Store {
	t.Helper()
	p := plantedPartition{edges: [][2]int{{0, 1}, {1, 2}, {1, 3}}}
	for i, label := range []string{"x", "y", "x", "", "y"} {
		p.nodes = append(p.nodes, kv.Node{ID: fmt.Sprintf("p%d", i), Label: label, Values: []kv.Value{kv.ValueOf("train")}})
	}
	return p.load(t, true)
}

func TestPredictionWriterRefuses(t *testing.T) {
	good := []float64{0.5, 0.5}
	for name, c := range map[string]struct {
		classes []string
		rows    map[int][]float64 // by position; p4 last
		twice   bool              // put p1 once more
		want    string
		is      error
	}{
		"a class nobody has": {classes: []string{"x", "z"},
			want: `class "z" of the predictions: no node is given it, the labels have x, y`, is: ErrUnknownClass},
		"a class twice": {classes: []string{"x", "x"}, want: `class "x" of the predictions: it has two columns`,
			is: ErrUnknownClass},
		"a class left out": {classes: []string{"x"}, want: `is given class "y", and the predictions have only x:`,
			is: ErrUnknownClass},
		"a short row": {rows: map[int][]float64{2: {1}},
			want: "predictions of node p2: got 1 numbers, want 2, one a class"},
		"a negative number": {rows: map[int][]float64{0: {-0.5, 1.5}}, want: "predictions of node p0: class x is -0.5, " +
			"want a probability from 0 to 1"},
		"a sum off":       {rows: map[int][]float64{3: {0.5, 0.4}}, want: "predictions of node p3: they add up to 0.9"},
		"a row twice":     {twice: true, want: "predictions of node p1: got a second row, want one"},
		"one row missing": {rows: map[int][]float64{4: nil}, want: "node p4 has no row", is: ErrMissingRows},
		"several rows missing": {rows: map[int][]float64{4: nil, 1: nil, 2: nil}, want: "node p1 and 2 more have no row",
			is: ErrMissingRows},
	} {
		t.Run(name, func(t *testing.T) {
			s := few(t)
			if c.classes == nil {
				c.classes = []string{"x", "y"}
			}
			err := importPredictions(s, c.classes, PredictionOptions{}, func(w *PredictionWriter, tx *kv.Tx) error {
				for _, position := range []int{4, 3, 2, 1, 0} {
					row, special := c.rows[position]
					if special && row == nil {
						continue
					}
					if !special {
						row = good
					}
					v, err := nodeAt(tx, position)
					if err != nil {
						return err
					}
					if err := w.Put(v, row); err != nil {
						return err
					}
					if c.twice && position == 1 {
						if err := w.Put(v, row); err != nil {
							return err
						}
					}
				}
				return nil
			})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want it to say %q", err, c.want)
			}
			var row *RowError
			if c.is == nil && !errors.As(err, &row) || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("got %#v, want %v or else a *RowError", err, c.is)
			}
			view(t, s, func(tx *kv.Tx) error {
				if _, err := Predictions(tx); !errors.Is(err, kv.ErrNotFound) {
					t.Errorf("predictions after a refused import: got %v, want kv.ErrNotFound", err)
				}
				return nil
			})
		})
	}
}

func TestPredictionWriterTakesLogits(t *testing.T) {
	s := few(t)
	must.Do(t, importPredictions(s, []string{"y", "x"}, PredictionOptions{Logits: true},
		func(w *PredictionWriter, tx *kv.Tx) error {
			for v := range tx.NumNodes() {
				if err := w.Put(kv.NodeID(v), []float64{math.Log(3) + 500, 500}); err != nil {
					return err
				}
			}
			return nil
		}))
	view(t, s, func(tx *kv.Tx) error {
		wantPredictions(t, tx, 2, []float32{0.25, 0.75})
		if source, err := predictionSource(tx); source != SourceImported || err != nil {
			t.Errorf("prediction source: got %q, %v, want %q", source, err, SourceImported)
		}
		return nil
	})
}

func wantPredictions(t *testing.T, tx *kv.Tx, v kv.NodeID, want []float32) {
	t.Helper()
	predictions := must.Get(Predictions(tx))(t)
	for lo := range want {
		for hi := lo + 1; hi <= len(want); hi++ {
			got := make([]float32, hi-lo)
			must.Do(t, predictions.Read(kv.Range{First: v, End: v + 1}, lo, hi, got))
			if !slices.Equal(got, want[lo:hi]) {
				t.Errorf("predictions of node number %d, columns %d to %d: got %v, want %v", v, lo, hi, got, want[lo:hi])
			}
		}
	}
}

func TestPredictionsOfANewNode(t *testing.T) {
	s := few(t)
	setPredictions(t, s)
	must.Do(t, s.Update(func(tx *kv.Tx) error {
		_, err := tx.AddNode(kv.Node{ID: "late", Label: "x"})
		return err
	}))
	view(t, s, func(tx *kv.Tx) error {
		if _, err := Predictions(tx); !errors.Is(err, ErrMissingRows) ||
			!strings.Contains(err.Error(), "node late has no row") {
			t.Errorf("predictions with a new node: got %v, want ErrMissingRows naming it", err)
		}
		return nil
	})
}
