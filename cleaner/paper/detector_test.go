package paper

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/method"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/nn"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// gaussians are rows of width features, each around −1 or, where planted, +1; one row in three is planted.
func gaussians(seed uint64, rows, width int, spread float64) (z []float32, planted []bool) {
	r := rand.New(rand.NewPCG(seed, 0))
	for i := range rows {
		planted = append(planted, i%3 == 0)
		for range width {
			center := -1.0
			if planted[i] {
				center = 1
			}
			z = append(z, float32(center+spread*r.NormFloat64()))
		}
	}
	return z, planted
}

// fitAll fits a detector on all rows and features.
func fitAll(ctx context.Context, z []float32, width int, planted []bool, seed uint64) (*detector, error) {
	rows := fittingRows{z: z, width: width, planted: func(row uint32) bool { return planted[row] }}
	for r := range planted {
		rows.order = append(rows.order, uint32(r))
	}
	for f := range width {
		rows.columns = append(rows.columns, f)
	}
	return rows.fit(ctx, seed)
}

// areaUnderROC is the share of pairs of a planted row and another in which the planted one has the greater score.
func areaUnderROC(scores []float64, planted []bool) float64 {
	var pairs, right float64
	for r, s := range scores {
		for q, other := range scores {
			if planted[r] && !planted[q] {
				if pairs++; s > other {
					right++
				}
			}
		}
	}
	return right / pairs
}

func scoresOf(d *detector, z []float32) []float64 {
	return d.score(new(nn.Activations), slices.Clone(z), nil)
}

func TestDetectorTellsPlantedRows(t *testing.T) {
	for _, c := range []struct {
		rows   int
		spread float64
	}{{150, 0.7}, {10, 0.3}, {2, 0.1}} {
		z, planted := gaussians(1, c.rows, 3, c.spread)
		d := must.Get(fitAll(t.Context(), z, 3, planted, 1))(t)
		other, truth := gaussians(2, 400, 3, c.spread)
		scores := scoresOf(d, other)
		if slices.ContainsFunc(scores, func(s float64) bool { return !(s >= 0 && s <= 1) }) {
			t.Fatalf("%d rows: got scores %v, want numbers from 0 to 1", c.rows, scores)
		}
		if got := areaUnderROC(scores, truth); got < 0.95 {
			t.Errorf("%d rows: got AUROC %.3f on other rows, want 0.95 or more", c.rows, got)
		}
		for r, s := range scores[:20] {
			if one := scoresOf(d, other[3*r:3*r+3])[0]; one != s {
				t.Errorf("row %d: scores %v alone, %v among all", r, one, s)
			}
		}
	}
}

func TestDetectorLeavesOutRowsThatAreNotFinite(t *testing.T) {
	z, planted := gaussians(4, 30, 2, 1)
	want := must.Get(fitAll(t.Context(), z, 2, planted, 1))(t)
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	mixed, marks := append([]float32{nan, nan, 0, nan, inf, 1}, z...), append([]bool{true, false, true}, planted...)
	got := must.Get(fitAll(t.Context(), mixed, 2, marks, 1))(t)
	if !reflect.DeepEqual(got, want) {
		t.Error("rows that are not finite change the detector")
	}
	for r, s := range scoresOf(got, mixed) {
		if math.IsNaN(s) != (r < 3) {
			t.Errorf("row %v scores %v, want NaN for those that are not finite alone", mixed[2*r:2*r+2], s)
		}
	}
}

func TestDetectorOfAwkwardFeatures(t *testing.T) {
	z, planted := gaussians(5, 30, 1, 0.5)
	var wide []float32
	for _, value := range z {
		wide = append(wide, value, 42, value*1e30) // one never varies, one is huge
	}
	d := must.Get(fitAll(t.Context(), wide, 3, planted, 1))(t)
	for _, row := range [][]float32{{0, 42, 0}, {3e38, -3e38, 3e38}, {0, 41.9, 1e-30}} {
		if s := scoresOf(d, row)[0]; !(s >= 0 && s <= 1) {
			t.Errorf("score of %v: got %v, want a number from 0 to 1", row, s)
		}
	}
}

func TestFitRefuses(t *testing.T) {
	for _, c := range []struct {
		z       []float32
		planted []bool
		says    string
	}{
		{nil, nil, "0 of 0"},
		{[]float32{1, 2}, []bool{true, true}, "2 of 2"},
		{[]float32{1, 2}, []bool{false, false}, "0 of 2"},
		{[]float32{1, float32(math.NaN())}, []bool{false, true}, "0 of 1"},
	} {
		_, err := fitAll(t.Context(), c.z, 1, c.planted, 0)
		if !errors.Is(err, method.ErrFewFittingNodes) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v planted: got %v, want ErrFewFittingNodes that says %q", c.planted, err, c.says)
		}
	}
}
