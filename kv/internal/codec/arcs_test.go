package codec

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// allForms are all that a graph can be.
var allForms = []ArcForm{{false, false}, {true, false}, {false, true}, {true, true}}

// randomArcs draws what a record of the form can hold, with few or many distinct weights.
func randomArcs(r *rand.Rand, f ArcForm, n int) []Arc {
	kinds := []func() float32{
		func() float32 { return 3 },
		func() float32 { return float32(1 + r.IntN(5)) },
		func() float32 { return float32(1 + r.IntN(300)) },
		func() float32 { return r.Float32() + 1e-30 },
		func() float32 { return math.Float32frombits(1 + r.Uint32N(math.Float32bits(math.MaxFloat32/2))) },
	}
	draw := kinds[r.IntN(len(kinds))]
	arcs := make([]Arc, n)
	for i := range arcs {
		out, in := float32(1), float32(1)
		if f.Weighted {
			out, in = draw(), draw()
		}
		switch {
		case !f.Directed:
			in = out
		case r.IntN(3) == 0:
			in = 0
		case r.IntN(2) == 0:
			out = 0
		}
		arcs[i] = Arc{out, in}
	}
	return arcs
}

func TestArcsRoundTrip(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 0))
		for _, f := range allForms[1:] {
			e := ArcEncoder{Form: f}
			for range 2 { // the encoder is used again
				want := randomArcs(r, f, []int{0, 1, 3, 4, 5, 60, 700}[r.IntN(7)])
				e.Append(want[:len(want)/2])
				e.Append(want[len(want)/2:])
				bound := e.Size()
				body := e.AppendTo(nil)
				if len(body) > bound {
					t.Fatalf("seed %d, %+v: got %d bytes of %d arcs, want at most %d", seed, f, len(body), len(want), bound)
				}
				before := []Arc{{7, 7}}
				got, err := f.AppendArcs(before, body, len(want))
				if err != nil || !slices.Equal(got, append(before, want...)) {
					t.Fatalf("seed %d, %+v: got %v, %v, want %v", seed, f, got, err, want)
				}
				if len(want) > 0 {
					if _, err := f.AppendArcs(nil, body, len(want)-1); err == nil {
						t.Fatalf("seed %d, %+v: %d arcs where there is room for one less: got no error", seed, f, len(want))
					}
				}
			}
		}
	}
}

func TestArcsOfFewWeightsAreSmall(t *testing.T) {
	for _, c := range []struct {
		form    ArcForm
		weights int
		want    int // bytes of 1000 entries
	}{
		{ArcForm{Directed: true}, 1, 2 + 250},
		{ArcForm{Weighted: true}, 1, 2 + 1 + 4},
		{ArcForm{Weighted: true}, 5, 2 + 1 + 20 + 1000},
		{ArcForm{Weighted: true}, 900, 2 + 1 + 4000},
		{ArcForm{true, true}, 1, 2 + 250 + 1 + 4},
	} {
		e := ArcEncoder{Form: c.form}
		for i := range 1000 {
			w := float32(1 + i%c.weights)
			e.Append([]Arc{{w, w}})
		}
		if got := len(e.AppendTo(nil)); got != c.want {
			t.Errorf("%+v, %d weights: got %d bytes, want %d", c.form, c.weights, got, c.want)
		}
	}
}

func FuzzArcs(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 20 {
		form := allForms[1+i%3]
		e := ArcEncoder{Form: form}
		e.Append(randomArcs(r, form, r.IntN(20)))
		f.Add(uint8(i%3), e.AppendTo(nil))
	}
	f.Fuzz(func(t *testing.T, number uint8, body []byte) {
		form := allForms[1+int(number)%3]
		arcs, err := form.AppendArcs(nil, body, 100)
		if err != nil {
			return
		}
		if len(arcs) > 100 {
			t.Fatalf("got %d arcs, want at most 100", len(arcs))
		}
		for _, a := range arcs {
			for _, w := range []float32{a.Out, a.In} {
				if w != 0 && !ValidWeight(w) || !form.Weighted && w > 1 {
					t.Fatalf("got weight %v", w)
				}
			}
			if a == (Arc{}) || !form.Directed && a.Out != a.In {
				t.Fatalf("%+v: got %+v", form, a)
			}
		}
		e := ArcEncoder{Form: form}
		e.Append(arcs)
		again, err := form.AppendArcs(nil, e.AppendTo(nil), 100)
		if err != nil || !slices.Equal(again, arcs) {
			t.Fatalf("got %v, %v, want %v", again, err, arcs)
		}
	})
}
