package labelmodel

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/calibration"
	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// predictedRows are rows of three classes in turn, of which sure ones, the first, have a prediction of 0.9 for their class
// and the others one of 0.4, with so many labels of that class among them.
func predictedRows(n, sure, sureAgree, otherAgree int) *Rows {
	of := &Rows{Classes: 3, Width: 2, Votes: make([]float32, 3*n)}
	for r := range n {
		p, agree := float32(0.9), r < sureAgree
		if r >= sure {
			p, agree = 0.4, r-sure < otherAgree
		}
		for k := range 3 {
			if k == r%3 {
				of.Z = append(of.Z, p, 0)
			} else {
				of.Z = append(of.Z, (1-p)/2, 0)
			}
		}
		y := r % 3
		if !agree {
			y = (y + 1) % 3
		}
		of.Labels = append(of.Labels, kv.Class(y))
	}
	return of
}

func TestSeeDoubt(t *testing.T) {
	for _, c := range []struct {
		name                           string
		n, sure, sureAgree, otherAgree int
		neighborsAgree                 bool
		doubtful                       bool
		joint                          float64 // of .7
	}{
		{"all agree", 1000, 100, 95, 850, false, false, 0.7},
		{"flips everywhere", 1000, 100, 60, 540, false, false, 0.7},
		{"only the surest agree", 1000, 100, 80, 300, false, true, 21. / 102},
		{"only the surest agree, as neighbours do", 1000, 100, 80, 300, true, false, 0.7},
		{"half of the surest agree", 1000, 100, 52, 450, false, true, 49. / 102},
		{"hardly half of them", 1000, 100, 45, 450, false, true, calibration.PriorRate},
		{"hardly half of them, and neighbours agree", 1000, 100, 45, 450, true, false, 0.7},
		{"a third of the surest agree, and neighbours agree", 1000, 100, 34, 300, true, true, calibration.PriorRate},
		{"few rows", 99, 9, 0, 10, false, false, 0.7},
	} {
		of := predictedRows(c.n, c.sure, c.sureAgree, c.otherAgree)
		if c.neighborsAgree {
			of.Votes = nil
		}
		if of.SeeDoubt(0.7); of.Doubtful != c.doubtful || !near(of.Joint, c.joint, 1e-12) {
			t.Errorf("%s: got doubtful %t and joint %v, want %t and %v", c.name, of.Doubtful, of.Joint, c.doubtful, c.joint)
		}
	}
	of := predictedRows(1002, 102, 82, 300)
	of.Labels[0], of.Z[6] = kv.NoClass, float32(math.NaN())
	if of.SeeDoubt(0.7); !near(of.Joint, 21./102, 1e-12) {
		t.Errorf("without two rows: got %v, want %v", of.Joint, 21./102)
	}
	if of.SeeDoubt(math.NaN()); !math.IsNaN(of.Joint) {
		t.Errorf("where nothing was counted: got %v, want NaN", of.Joint)
	}
}

// TestPredictionsThatKnowNothing: of two classes chance agrees with half of the labels.
func TestPredictionsThatKnowNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 0))
	for _, known := range []bool{false, true} {
		of := &Rows{Classes: 2, Width: 2}
		for range 2000 {
			y, p := kv.Class(r.IntN(2)), float32(0.5+0.4*r.Float64())
			top := kv.Class(r.IntN(2))
			if known && r.Float64() < 0.6 {
				top = y
			}
			for k := range kv.Class(2) {
				if k == top {
					of.Z = append(of.Z, p, 0)
				} else {
					of.Z = append(of.Z, 1-p, 0)
				}
			}
			of.Labels = append(of.Labels, y)
		}
		if of.SeeDoubt(0.45); of.Doubtful == known || known != (of.Joint == 0.45) {
			t.Errorf("known %t: got doubtful %t and joint %v", known, of.Doubtful, of.Joint)
		}
	}
}

// TestDoubtIsNoFlip: of labels that are all right, and that predictions tell from the next class no better than by a hint, a
// model takes nearly every second for wrong unless it knows that they are doubtful.
func TestDoubtIsNoFlip(t *testing.T) {
	const n, c, width = 3000, 5, 3
	r := rand.New(rand.NewPCG(11, 0))
	rows := Rows{Classes: c, Width: width, Votes: make([]float32, n*c)}
	for range n {
		truth, top := r.IntN(c), r.IntN(c)
		if r.Float64() < 0.5 {
			top = truth
			if sure := r.Float64() < 0.3; !sure {
				top = (truth + r.IntN(3) + c - 1) % c
			}
		}
		for k := range c {
			p := float32(0.1)
			if k == top {
				p = 0.6
			}
			rows.Z = append(rows.Z, p, 0, 0)
		}
		rows.Labels = append(rows.Labels, kv.Class(truth))
	}
	rate := func() float64 {
		m, _, err := Fit(context.Background(), scratch.Temporary(t.TempDir()), rows, 1, nil)
		must.Do(t, err)
		if rows.Doubtful && len(m.Background)+len(m.Flips) > 0 {
			t.Errorf("doubtful rows: got background %v and flips %v, want none", m.Background, m.Flips)
		}
		return m.Rate
	}
	unaware := rate()
	if rows.SeeDoubt(0.7); !rows.Doubtful {
		t.Fatal("the rows are not doubtful")
	}
	if aware := rate(); !(aware < 0.15 && 0.25 < unaware) {
		t.Errorf("want below 0.15 and above 0.25: rate: got %.3f where the rows are known to be doubtful, %.3f where they are not", aware, unaware)
	}
}
