package detector

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
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
func fitAll(ctx context.Context, z []float32, width int, planted []bool, seed uint64) (Detector, error) {
	rows := Rows{Z: z, Width: width, Planted: func(row uint32) bool { return planted[row] }}
	for r := range planted {
		rows.Order = append(rows.Order, uint32(r))
	}
	for f := range width {
		rows.Columns = append(rows.Columns, f)
	}
	return rows.Fit(ctx, seed)
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

func fit(t *testing.T, z []float32, width int, planted []bool, seed uint64) Detector {
	t.Helper()
	d, err := fitAll(context.Background(), z, width, planted, seed)
	if err != nil {
		t.Fatalf("fitting %d rows of %d features: %v", len(planted), width, err)
	}
	return d
}

func scoresOf(d *Detector, z []float32, width int) []float64 {
	scores := make([]float64, len(z)/width)
	d.Score(z, width, scores)
	return scores
}

func TestDetectorTellsPlantedRows(t *testing.T) {
	for _, c := range []struct {
		rows   int
		spread float64
		least  float64 // AUROC on other rows
	}{{150, 0.7, 0.95}, {10, 0.3, 0.95}, {2, 0.1, 0.95}} {
		z, planted := gaussians(1, c.rows, 3, c.spread)
		d := fit(t, z, 3, planted, 1)
		other, truth := gaussians(2, 400, 3, c.spread)
		scores := scoresOf(&d, other, 3)
		for r, s := range scores {
			if !(s >= 0 && s <= 1) {
				t.Fatalf("%d rows: row %d scores %v, want a number from 0 to 1", c.rows, r, s)
			}
		}
		if got := areaUnderROC(scores, truth); got < c.least {
			t.Errorf("%d rows: got AUROC %.3f on other rows, want %v or more", c.rows, got, c.least)
		}
	}
}

func TestDetectorIsTheSameBits(t *testing.T) {
	z, planted := gaussians(3, 40, 4, 1)
	want := fit(t, z, 4, planted, 7)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, processors := range []int{1, 4} {
		runtime.GOMAXPROCS(processors)
		if got := fit(t, z, 4, planted, 7); !reflect.DeepEqual(got, want) {
			t.Errorf("%d processors: the detector differs", processors)
		}
	}
	if other := fit(t, z, 4, planted, 8); slices.Equal(other.Network.Weights[0], want.Network.Weights[0]) {
		t.Error("another seed: the network is the same")
	}
	all := scoresOf(&want, z, 4)
	for r, s := range all {
		if one := scoresOf(&want, z[4*r:4*r+4], 4)[0]; one != s {
			t.Errorf("row %d: scores %v alone, %v among all", r, one, s)
		}
	}
}

func TestDetectorLeavesOutRowsThatAreNotFinite(t *testing.T) {
	z, planted := gaussians(4, 30, 2, 1)
	want := fit(t, z, 2, planted, 1)
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	mixed, marks := []float32{nan, nan, 0, nan, inf, 1}, []bool{true, false, true}
	mixed, marks = append(mixed, z...), append(marks, planted...)
	got := fit(t, mixed, 2, marks, 1)
	if !reflect.DeepEqual(got, want) {
		t.Error("rows that are not finite change the detector")
	}
	for r, s := range scoresOf(&got, mixed, 2) {
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
	d := fit(t, wide, 3, planted, 1)
	for _, row := range [][]float32{{0, 42, 0}, {3e38, -3e38, 3e38}, {0, 41.9, 1e-30}} {
		if s := scoresOf(&d, row, 3)[0]; !(s >= 0 && s <= 1) {
			t.Errorf("score of %v: got %v, want a number from 0 to 1", row, s)
		}
	}
	d.Score(nil, 3, nil) // of no rows
}

func TestFitRefuses(t *testing.T) {
	nan := float32(math.NaN())
	for _, c := range []struct {
		name    string
		z       []float32
		width   int
		planted []bool
		want    error
		says    string
	}{
		{"no rows", nil, 2, nil, ErrFewFittingNodes, "0 of 0"},
		{"all planted", []float32{1, 2}, 1, []bool{true, true}, ErrFewFittingNodes, "2 of 2"},
		{"none planted", []float32{1, 2}, 1, []bool{false, false}, ErrFewFittingNodes, "0 of 2"},
		{"the planted one is NaN", []float32{1, nan}, 1, []bool{false, true}, ErrFewFittingNodes, "0 of 1"},
	} {
		_, err := fitAll(context.Background(), c.z, c.width, c.planted, 0)
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want %v that says %q", c.name, err, c.want, c.says)
		}
	}
}

// A countedContext ends after some looks at it.
type countedContext struct {
	context.Context
	left, looks int
}

func (c *countedContext) Err() error {
	if c.looks++; c.looks > c.left {
		return context.DeadlineExceeded
	}
	return nil
}

// TestFitStops ends the context in the middle of a fit, which looks at it in every step and not once more.
func TestFitStops(t *testing.T) {
	z, planted := gaussians(6, 2000, 7, 1)
	ctx := &countedContext{Context: context.Background(), left: 20}
	if _, err := fitAll(ctx, z, 7, planted, 0); !errors.Is(err, context.DeadlineExceeded) || ctx.looks != 21 {
		t.Errorf("cancelled at the 21st look: got %v after %d looks, want context.DeadlineExceeded after 21", err, ctx.looks)
	}
}
