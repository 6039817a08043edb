package cleaner

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/kv/scratch"
)

// predictedRows are rows of which sure ones, the first, have a prediction of 0.9 for class 0 and the others one of 0.4, with
// so many labels of class 0 among them.
func predictedRows(n, sure, sureAgree, otherAgree int) *labelRows {
	of := &labelRows{classes: 3, width: 2, votes: make([]float32, 3*n)}
	for r := range n {
		p, agree := float32(0.9), r < sureAgree
		if r >= sure {
			p, agree = 0.4, r-sure < otherAgree
		}
		for k := range 3 {
			of.z = append(of.z, []float32{p, (1 - p) / 2, (1 - p) / 2}[k], 0)
		}
		y := kv.Class(1)
		if agree {
			y = 0
		}
		of.given = append(of.given, y)
	}
	return of
}

func TestMostWrong(t *testing.T) {
	for _, c := range []struct {
		name                           string
		n, sure, sureAgree, otherAgree int
		want                           float64
	}{
		{"all agree", 1000, 100, 95, 850, 0},
		{"flips everywhere", 1000, 100, 60, 540, 0},
		{"only the surest agree", 1000, 100, 80, 300, 21. / 102},
		{"none agree", 1000, 100, 50, 450, 51. / 102},
		{"few rows", 99, 9, 9, 10, 0},
	} {
		of := predictedRows(c.n, c.sure, c.sureAgree, c.otherAgree)
		if got := of.mostWrong(); !near(got, c.want, 1e-12) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
		of.votes = nil
		if got := of.mostWrong(); got != 0 {
			t.Errorf("%s, neighbours that agree: got %v, want 0", c.name, got)
		}
	}
	of := predictedRows(1002, 102, 82, 300)
	of.given[0], of.z[6] = kv.NoClass, float32(math.NaN())
	if got, want := of.mostWrong(), 21./102; !near(got, want, 1e-12) {
		t.Errorf("without two rows: got %v, want %v", got, want)
	}
}

// TestDoubtIsNoFlip: of labels that are all right, and that predictions tell from the next class no better than by a hint, a
// model takes nearly every second for wrong unless it knows that they are doubtful.
func TestDoubtIsNoFlip(t *testing.T) {
	const n, c, width = 3000, 5, 3
	r := rand.New(rand.NewPCG(11, 0))
	rows := labelRows{classes: c, width: width, votes: make([]float32, n*c)}
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
			rows.z = append(rows.z, p, 0, 0)
		}
		rows.given = append(rows.given, kv.Class(truth))
	}
	rate := func() float64 {
		m, _, err := fitLabels(context.Background(), scratch.Temporary(t.TempDir()), rows, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		if rows.atMostWrong > 0 && len(m.Background)+len(m.Flips) > 0 {
			t.Errorf("doubtful rows: got background %v and flips %v, want none", m.Background, m.Flips)
		}
		return m.Rate
	}
	unaware := rate()
	if rows.atMostWrong = rows.mostWrong(); rows.atMostWrong == 0 {
		t.Fatal("the rows are not doubtful")
	}
	if aware := rate(); !(aware < 0.15 && 0.25 < unaware) {
		t.Errorf("want below 0.15 and above 0.25: rate: got %.3f where the rows are known to be doubtful, %.3f where they are not", aware, unaware)
	}
}

// TestDoubtBoundsTheRate: what confident learning counts says the less of the rate the less the surest predictions agree.
func TestDoubtBoundsTheRate(t *testing.T) {
	const n, c = 2000, 4
	r := rand.New(rand.NewPCG(5, 0))
	rows := labelRows{classes: c, width: 3}
	of := &sample{share: 1, added: make([]bool, n)}
	for range n {
		y := kv.Class(r.IntN(c))
		rows.given, of.given, of.truth = append(rows.given, y), append(of.given, y), append(of.truth, kv.NoClass)
		for range c {
			rows.z = append(rows.z, 1./c, 0, 0)
		}
	}
	rates := make(map[float64]float64)
	for _, most := range []float64{0, 0.3, 0.6} {
		rows.atMostWrong = most
		m, profile, err := fitLabels(context.Background(), scratch.Temporary(t.TempDir()), rows, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		m.calibrate(of, rows, profile, 0.7, Options{})
		rates[most] = m.Calibration.estimate().rate
	}
	if !(rates[0.6] < 0.15 && 0.15 < rates[0.3] && rates[0.3] < 0.35 && 0.35 < rates[0]) {
		t.Errorf("got rates %v by atMostWrong, want them to rise from 0.6 to 0.3 to 0", rates)
	}
}
