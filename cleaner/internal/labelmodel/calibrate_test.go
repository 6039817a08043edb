package labelmodel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/graphcleaner/graphcleaner/kv"
)

// TestFollow wants scores whose mean is the rate of the audit, and log-odds that are a line in those of the fit.
func TestFollow(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 0))
	m, _ := randomModel(r, 3, 3)
	m.Scale = Scale{}
	rows := Rows{Classes: 3, Width: 3}
	added := make([]bool, 400)
	for i := range added {
		rows.Labels, rows.Truth = append(rows.Labels, kv.Class(r.IntN(3))), append(rows.Truth, kv.NoClass)
		for range 9 {
			rows.Z = append(rows.Z, r.Float32()*r.Float32())
		}
		if i%8 == 0 {
			added[i] = i%16 == 0
			rows.Truth[i] = kv.Class(r.IntN(3))
		}
	}
	before := m.Scorer().LogOdds(rows)
	for _, asked := range []float64{0, 0.9} {
		m.Calibrate(rows, Sampling{Added: added, Threshold: asked})
		fitted := m.Scale
		m.Follow(0.3, 50, rows, added)
		if m.Told != 0.3 || m.Fitted != fitted {
			t.Fatalf("follow: got %+v", m)
		}
		if asked > 0 && m.Threshold != asked || asked == 0 && m.Threshold == fitted.Threshold {
			t.Errorf("asked for a threshold of %v: got %v", asked, m.Threshold)
		}
		var mean, count float64
		after := m.Scorer().LogOdds(rows)
		for i, l := range after {
			if want := m.Shift + math.Exp(m.Bend)*before[i]; !near(l, want, 1e-6) {
				t.Fatalf("row %d: got log-odds %v, want %v", i, l, want)
			}
			if !added[i] {
				mean, count = mean+1/(1+math.Exp(-l)), count+1
			}
		}
		if !near(mean/count, 0.3, 1e-6) {
			t.Errorf("the mean of the scores is %v, want .3", mean/count)
		}
	}
}
