package audit

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// labels yields labels with scores.
func labels(scores []float64) func(do func(uint32, float64)) error {
	return func(do func(uint32, float64)) error {
		for v, score := range scores {
			do(uint32(v), score)
		}
		return nil
	}
}

func draw(t testing.TB, scores []float64, seed uint64) *Sample {
	t.Helper()
	return must.Get(New(seed, labels(scores)))(t)
}

func randomScores(n int) []float64 {
	chance := rand.New(rand.NewPCG(1, 2))
	scores := make([]float64, n)
	for v := range scores {
		scores[v] = math.Round(chance.Float64()*20) / 20 // ties
	}
	return scores
}

func TestDraws(t *testing.T) {
	for _, n := range []int{0, 1, 4, 5, 24, 25, 26, 60, 1000, 3200, 5000, 70_000} {
		s := draw(t, randomScores(n), 7)
		if want := min(n, MostDraws); len(s.Draws) != want || s.Labels() != int64(n) {
			t.Fatalf("%d labels: %d draws of %d, want %d", n, len(s.Draws), s.Labels(), want)
		}
		seen := map[uint32]bool{}
		taken := make([]float64, countStrata)
		for i, d := range s.Draws {
			if seen[d.Node] || int(d.Node) >= n {
				t.Fatalf("%d labels: draw %d is node %d again", n, i, d.Node)
			}
			seen[d.Node] = true
			taken[d.Stratum]++
			if i+1 != s.NextLook(i) {
				continue
			}
			for h, size := range s.Sizes { // the draws up to a look are shared out by size
				if due := float64(i+1) * float64(size) / float64(n); math.Abs(taken[h]-due) >= 1.5 {
					t.Errorf("%d labels, look %d: %v draws of stratum %d, want about %v", n, i+1, taken[h], h, due)
				}
			}
		}
		if n >= countStrata && n <= mostCuts && slices.Max(s.Sizes)-slices.Min(s.Sizes) > 1 {
			t.Errorf("%d labels: strata of %d", n, s.Sizes)
		}
	}
}

func TestStrataFollowScores(t *testing.T) {
	scores := randomScores(1000)
	s := draw(t, scores, 1)
	lowest, highest := make([]float64, countStrata), make([]float64, countStrata)
	for h := range lowest {
		lowest[h] = math.Inf(1)
	}
	for _, d := range s.Draws {
		lowest[d.Stratum] = min(lowest[d.Stratum], scores[d.Node])
		highest[d.Stratum] = max(highest[d.Stratum], scores[d.Node])
	}
	for h := 1; h < countStrata; h++ {
		if lowest[h] < highest[h-1] {
			t.Errorf("stratum %d begins at %v, where stratum %d ends at %v", h, lowest[h], h-1, highest[h-1])
		}
	}
}

func TestSeeds(t *testing.T) {
	scores := randomScores(1000)
	if a, b := draw(t, scores, 1), draw(t, scores, 1); !slices.Equal(a.Draws, b.Draws) {
		t.Error("the same seed gives other draws")
	}
	if a, b := draw(t, scores, 1), draw(t, scores, 2); slices.Equal(a.Draws, b.Draws) {
		t.Error("another seed gives the same draws")
	}
}

// Each label is drawn as often as every other.
func TestChances(t *testing.T) {
	const n, runs, first = 100, 4000, 25
	scores := randomScores(n)
	counts := make([]float64, n)
	for seed := range uint64(runs) {
		for _, d := range draw(t, scores, seed).Draws[:first] {
			counts[d.Node]++
		}
	}
	const want = runs * first / n
	for v, count := range counts {
		if math.Abs(count-want) > 5*math.Sqrt(want*(1-float64(first)/n)) {
			t.Errorf("label %d was drawn %v times, want about %d", v, count, want)
		}
	}
}

func TestPassesThatFail(t *testing.T) {
	failed := errors.New("failed")
	for fails := 1; fails <= 2; fails++ {
		for name, pass := range map[string]func(each func(func(uint32, float64)) error) error{
			"draws": func(each func(func(uint32, float64)) error) error { _, err := New(1, each); return err },
			"a list": func(each func(func(uint32, float64)) error) error {
				_, err := NewList(1, 0, 24, 0.1, 0.08, each)
				return err
			},
		} {
			calls := 0
			err := pass(func(do func(uint32, float64)) error {
				if calls++; calls == fails {
					return failed
				}
				return labels(randomScores(10))(do)
			})
			if !errors.Is(err, failed) {
				t.Errorf("%s, pass %d: %v", name, fails, err)
			}
		}
	}
}

func TestLooks(t *testing.T) {
	s := draw(t, randomScores(130), 1)
	var looks []int
	for at := 0; at < len(s.Draws); {
		at = s.NextLook(at)
		looks = append(looks, at)
	}
	if want := []int{25, 50, 100, 130}; !slices.Equal(looks, want) {
		t.Errorf("looks at %d, want %d", looks, want)
	}
	answers := make([]decide.Judgement, 130)
	for _, c := range []struct{ answered, look int }{{0, 0}, {24, 0}, {25, 25}, {49, 25}, {50, 50}, {129, 100},
		{130, 130}} {
		clear(answers)
		for i := range c.answered {
			answers[i] = decide.Right + decide.Judgement(i%3)
		}
		if got := s.Look(answers); got != c.look {
			t.Errorf("%d answers: look %d, want %d", c.answered, got, c.look)
		}
	}
	clear(answers)
	for i := range answers {
		if i != 30 {
			answers[i] = decide.Right
		}
	}
	if got := s.Look(answers); got != 25 {
		t.Errorf("draw 31 is open: look %d, want 25", got)
	}
}

// Of one stratum without an end, the interval is that of Clopper and Pearson; the values are from tables.
func TestExactInterval(t *testing.T) {
	for _, c := range []struct {
		wrong, draws   float64
		err, low, high float64
	}{
		{0, 10, 0.05, 0, 0.3085}, {1, 10, 0.05, 0.0025, 0.4450}, {5, 10, 0.05, 0.1871, 0.8129}, {10, 10, 0.05, 0.6915, 1},
		{3, 50, 0.1, 0.0166, 0.1478},
	} {
		low, high := clopperPearson(c.wrong/c.draws, c.draws, c.err)
		if math.Abs(low-c.low) > 1e-4 || math.Abs(high-c.high) > 1e-4 {
			t.Errorf("%v of %v: %.4f to %.4f, want %.4f to %.4f", c.wrong, c.draws, low, high, c.low, c.high)
		}
	}
}

func TestAllLooked(t *testing.T) {
	s := draw(t, randomScores(30), 1)
	answers := make([]decide.Judgement, 30)
	for i := range answers {
		answers[i] = decide.Right
	}
	answers[3], answers[17], answers[20] = decide.Wrong, decide.Wrong, decide.Unsettled
	e := s.Estimate(answers, 30)
	if !near(e.Low, 2./30) || !near(e.High, 3./30) || e.Rate < e.Low || e.Rate > e.High {
		t.Errorf("%+v, want 2/30 to 3/30", e)
	}
	groups := make([]int, 30)
	groups[3], groups[20] = 1, 1
	if g := s.ByGroup(answers, groups, 30, 2)[1]; g.Rate != 1 || !near(g.Low, 0.5) || g.High != 1 {
		t.Errorf("of a group of two, one wrong and one unsure: %+v, want 1, .5 to 1", g)
	}
	if e.Right != 27 || e.Wrong != 2 {
		t.Errorf("%d right and %d wrong, want 27 and 2", e.Right, e.Wrong)
	}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-12 }

func TestEdges(t *testing.T) {
	s := draw(t, randomScores(1000), 1)
	all := func(of decide.Judgement) Estimate { return s.Estimate(slices.Repeat([]decide.Judgement{of}, 50), 50) }
	if e := all(decide.Right); e.Rate != 0 || e.Low != 0 || !near(e.High, 1-math.Pow(lookError/2, 1./50)) {
		t.Errorf("none wrong: %+v", e)
	}
	if e := all(decide.Wrong); !near(e.Rate, 1) || !near(e.Low, math.Pow(lookError/2, 1./50)) || e.High != 1 {
		t.Errorf("all wrong: %+v", e)
	}
	if e := all(decide.Unsettled); e.Low != 0 || e.High != 1 || !math.IsNaN(e.Rate) {
		t.Errorf("all unsure: %+v", e)
	}
	// The rate is of those that are settled, if they are half of the draws.
	half := slices.Repeat([]decide.Judgement{decide.Unsettled}, 50)
	copy(half[25:], slices.Repeat([]decide.Judgement{decide.Right}, 25))
	if e := s.Estimate(half, 50); e.Rate != 0 || e.Low != 0 || e.High < 0.5 {
		t.Errorf("half unsure: %+v", e)
	}
	half[25] = decide.Unsettled
	if e := s.Estimate(half, 50); !math.IsNaN(e.Rate) || e.Low != 0 || e.High < 0.5 {
		t.Errorf("more than half unsure: %+v", e)
	}
}

// The intervals of all looks contain the true share in at least nine tenths of audits, also where people are unsure of
// every tenth label, where scores say nothing, and where they say all.
func TestCoverage(t *testing.T) {
	const n, runs = 1000, 150
	for _, rate := range []float64{0.02, 0.3} {
		for _, scores := range []string{"none", "some", "all"} {
			for _, unsure := range []float64{0, 0.1} {
				chance := rand.New(rand.NewPCG(3, uint64(rate*100)))
				wrong, score := make([]bool, n), make([]float64, n)
				var truth float64
				for v := range wrong {
					if wrong[v] = chance.Float64() < rate; wrong[v] {
						truth += 1. / n
					}
					switch score[v] = chance.Float64(); {
					case scores == "some" && wrong[v]:
						score[v] = math.Sqrt(score[v])
					case scores == "all" && wrong[v]:
						score[v]++
					}
				}
				var held, width, plain float64
				for seed := range uint64(runs) {
					s := draw(t, score, seed)
					answers := make([]decide.Judgement, 200)
					for i := range answers {
						switch {
						case chance.Float64() < unsure:
							answers[i] = decide.Unsettled
						case wrong[s.Draws[i].Node]:
							answers[i] = decide.Wrong
						default:
							answers[i] = decide.Right
						}
					}
					all := 1.
					for look := firstLook; look <= len(answers); look = s.NextLook(look) {
						e := s.Estimate(answers, look)
						if truth < e.Low || truth > e.High {
							all = 0
						}
						if look == 200 {
							width += (e.High - e.Low) / 2 / runs
							plain += 1.645 * math.Sqrt(truth*(1-truth)/200) / runs
						}
					}
					held += all / runs
				}
				name := fmt.Sprintf("rate %v, scores say %s, %v unsure", rate, scores, unsure)
				t.Logf("%s: held in %.3f, half-width at 200 %.3f (plain %.3f)", name, held, width, plain)
				if held < 0.87 { // Level, less 1.2 standard errors
					t.Errorf("%s: all looks held in %.3f of audits", name, held)
				}
			}
		}
	}
}

func TestGroups(t *testing.T) {
	s := draw(t, randomScores(1000), 1)
	answers, groups := make([]decide.Judgement, 100), make([]int, 100)
	for i := range answers {
		answers[i], groups[i] = decide.Right, i%4/2 // 50 draws each of groups 0 and 1
		switch {
		case i%10 == 0:
			answers[i] = decide.Wrong
		case i == 99:
			groups[i] = 2
		}
	}
	all := s.ByGroup(answers, groups, 100, 4)
	if g := all[0]; g.Answered != 50 || g.Wrong != 5 || g.Low > 0.1 || g.High < 0.1 {
		t.Errorf("%+v, want 5 wrong of 50", g)
	}
	if low, high := clopperPearson(all[0].Rate, 50, 1-Level); !near(low, all[0].Low) || !near(high, all[0].High) {
		t.Errorf("%+v, want %v to %v", all[0], low, high)
	}
	if g := all[2]; g.Answered != 1 || !math.IsNaN(g.Rate) {
		t.Errorf("%+v, want too few answers", g)
	}
	if all[3].Answered != 0 {
		t.Errorf("%+v, want none", all[3])
	}
}
