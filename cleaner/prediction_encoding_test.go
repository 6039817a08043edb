package cleaner

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/float16"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// peaked draws c probabilities that add up to 1, most of them small, some equal.
func peaked(r *rand.Rand, c int) []float64 {
	row, sum := make([]float64, c), 0.0
	for j := range row {
		row[j] = math.Pow(float64(r.IntN(8)), float64(r.IntN(9)))
		sum += row[j]
	}
	if sum == 0 {
		row[0], sum = 1, 1
	}
	for j := range row {
		row[j] /= sum
	}
	return row
}

// plainKeep is what an encoding keeps of a row, from its definition.
func plainKeep(e PredictionEncoding, row []float64) []float64 {
	c, round := len(row), func(p float64) float64 { return float64(float32(p)) }
	if e.Float16 {
		round = func(p float64) float64 { return float64(float16.Round(float32(p))) }
	}
	order := make([]int, c)
	for j := range order {
		order[j] = j
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(row[b], row[a]) })
	k := c
	if e.TopK > 0 && 2*e.TopK < c {
		k = e.TopK
	}
	kept, left := make([]float64, c), 1.0
	for _, j := range order[:k] {
		kept[j] = round(row[j])
		left -= kept[j]
	}
	for _, j := range order[k:] {
		kept[j] = float64(float32(max(left, 0) / float64(c-k)))
	}
	return kept
}

// TestPredictionEncodings writes random rows in every encoding and expects what the definition keeps of them, and rows
// that still add up to 1.
func TestPredictionEncodings(t *testing.T) {
	const n = 300
	for _, c := range []int{2, 7, 50} {
		names := make([]string, c)
		for j := range names {
			names[j] = fmt.Sprintf("c%02d", j)
		}
		dir := filepath.Join(t.TempDir(), "graph")
		l := must.Get(kv.NewLoader(t.Context(), dir, kv.LoadOptions{Classes: names}))(t)
		for v := range n {
			must.Do(t, l.AddNode(kv.Node{ID: fmt.Sprint(v)}))
		}
		must.Get(l.Commit(t.Context(), nil))(t)
		s := must.Get(kv.Open(dir, kv.Options{}))(t)
		t.Cleanup(func() { must.Do(t, s.Close()) })
		for _, e := range []PredictionEncoding{{}, {Float16: true}, {TopK: 1}, {TopK: 3, Float16: true}, {TopK: 10}} {
			r := rand.New(rand.NewPCG(uint64(c), uint64(e.TopK)))
			want := make([][]float64, n)
			err := importPredictions(s, names, PredictionOptions{PredictionEncoding: e}, func(w *PredictionWriter, _ *kv.Tx) error {
				for v := range want {
					row := peaked(r, c)
					want[v] = plainKeep(e, row)
					if err := w.Put(kv.NodeID(v), row); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatalf("%d classes, %+v: %v", c, e, err)
			}
			// One more by itself, which is kept in the same way.
			row := peaked(r, c)
			want[5] = plainKeep(e, row)
			must.Do(t, s.Update(func(tx *kv.Tx) error { return setRow(tx, 5, row) }))
			view(t, s, func(tx *kv.Tx) error {
				verifyKept(t, tx, e, want)
				return nil
			})
		}
	}
}

func verifyKept(t *testing.T, tx *kv.Tx, e PredictionEncoding, want [][]float64) {
	t.Helper()
	src := must.Get(Predictions(tx))(t)
	c := src.Width()
	got := make([]float32, len(want)*c)
	must.Do(t, src.Read(kv.Range{End: kv.NodeID(len(want))}, 0, c, got))
	for v := range want {
		sum := 0.0
		for j, p := range got[v*c : (v+1)*c] {
			// A row that is given as it is kept is scaled to add up to 1 exactly, which moves the last bit.
			if math.Abs(float64(p)-want[v][j]) > 1e-6*want[v][j] && (!e.Float16 || math.Abs(float64(p)-want[v][j]) > 0x1p-10*want[v][j]) {
				t.Fatalf("%d classes, %+v: row %d: class %d: got %v, want %v", c, e, v, j, p, want[v][j])
			}
			sum += float64(p)
		}
		most := 1e-5
		if e.Float16 {
			most = 0x1p-11
		}
		if math.Abs(sum-1) > most {
			t.Fatalf("%d classes, %+v: row %d adds up to %v", c, e, v, sum)
		}
	}
	kept := must.Get(PredictionsEncoding(tx))(t)
	effective := e
	if 2*e.TopK >= c {
		effective.TopK = 0
	}
	if kept != effective {
		t.Errorf("%d classes: got %+v, want %+v", c, kept, effective)
	}
}
