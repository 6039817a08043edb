package cleaner

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/cleaner/paper"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

func rescored(t *testing.T, s *kv.Store) (run *Run) {
	t.Helper()
	if ok, err := RescoreDecided(t.Context(), s, RescoreOptions{}); !ok || err != nil {
		t.Fatalf("rescore: %v, %v", ok, err)
	}
	view(t, s, func(tx *kv.Tx) (err error) {
		run, err = LastRun(tx)
		return err
	})
	return run
}

// TestScoresFollowLooks begins with a rate that is far too low: scores, threshold and suspects follow the audit at its
// looks.
func TestScoresFollowLooks(t *testing.T) {
	p := newPlanted(8, 1200)
	s := p.load(t, true)
	own := mustClean(t, s, Options{Seed: 2, Imported: AsGiven, Expect: 0.01})
	truths := p.truths(t, s)
	var wrong int
	view(t, s, func(tx *kv.Tx) error {
		for v, truth := range truths {
			if label := must.Get(tx.Value(v, kv.LabelColumn))(t); !label.IsNull() && label.Str() != truth {
				wrong++
			}
		}
		return nil
	})
	draws := drawAudit(t, s, 50).Draws
	// The last draw before the look is of a right label: that it is answered changes no label.
	last := slices.IndexFunc(draws, func(d AuditDraw) bool { return truths[d.Node] == d.Label })
	if last >= 25 {
		t.Fatal("the first draws are all wrong")
	}
	others := append(slices.Clone(draws[:last]), draws[last+1:25]...)
	answer(t, s, "", truths, others)
	before := rescored(t, s)
	if before.Look != 0 || before.Threshold != own.Threshold || before.MislabelRate != 0.01 {
		t.Fatalf("24 answers: look %d, threshold %v, rate %v, want those of the run: %v", before.Look, before.Threshold,
			before.MislabelRate, own.Threshold)
	}
	scores := givenScores(t, s)
	answer(t, s, "", truths, draws[last:last+1])
	first := rescored(t, s)
	a := mustAudit(t, s)
	if first.Look != 25 || first.MislabelRate != a.Rate || first.Threshold == own.Threshold ||
		first.Suspects <= before.Suspects {
		t.Fatalf("25 answers: %+v, want a rate of %v, another threshold than %v, and more than %d suspects", first, a.Rate,
			own.Threshold, before.Suspects)
	}
	mustKeepOrder(t, scores, givenScores(t, s))

	mustUndo(t, s, 1)
	undone := rescored(t, s)
	if undone.Look != 0 || undone.Threshold != own.Threshold || undone.MislabelRate != 0.01 {
		t.Errorf("undone: look %d, threshold %v, rate %v", undone.Look, undone.Threshold, undone.MislabelRate)
	}
	if got := givenScores(t, s); !slices.EqualFunc(got, scores, func(x, y float64) bool { return near(x, y, 1e-6) }) {
		t.Error("undone: the scores are not those before the look")
	}
	answer(t, s, "", truths, draws[last:last+1])
	if again := rescored(t, s); again.Threshold != first.Threshold || again.Model.Scale != first.Model.Scale {
		t.Errorf("answered again: got %+v, want %+v", again.Model.Scale, first.Model.Scale)
	}
	answer(t, s, "", truths, draws[25:49])
	if between := rescored(t, s); between.Look != 25 || between.Threshold != first.Threshold ||
		between.MislabelRate != first.MislabelRate {
		t.Errorf("49 answers: look %d, threshold %v, want those of the look at 25: %v", between.Look, between.Threshold,
			first.Threshold)
	}
	answer(t, s, "", truths, draws[49:])
	second := rescored(t, s)
	if second.Look != 50 || second.Threshold == first.Threshold {
		t.Errorf("50 answers: look %d, threshold %v", second.Look, second.Threshold)
	}
	a = mustAudit(t, s)
	left := wrong - int(a.Found)
	if flagged := int(second.Suspects); math.Abs(float64(flagged-left)) > 0.35*float64(left) {
		t.Errorf("%d suspects of %d wrong labels left, before the audit %d", flagged, left, own.Suspects)
	}

	// A clean follows the newest look, whatever is expected; every number of workers gives the same.
	var runs [2]*Run
	var all [2][]float64
	for i := range runs {
		var notices []string
		runs[i] = mustClean(t, s,
			Options{Seed: 2, Imported: AsGiven, Expect: 0.01, Workers: 1 + i,
				Notice: func(text string) { notices = append(notices, text) }})
		all[i] = givenScores(t, s)
		if len(notices) == 0 {
			t.Error("nothing says that the expected rate is not used")
		}
	}
	if runs[0].Look != 50 || runs[0].MislabelRate != a.Rate || runs[0].Model.Scale != runs[1].Model.Scale ||
		!slices.EqualFunc(all[0], all[1], func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) }) {
		t.Errorf("clean: %+v and %+v", runs[0].Model.Scale, runs[1].Model.Scale)
	}
	if asked := mustClean(t, s, Options{Seed: 2, Imported: AsGiven, Threshold: 0.8}); asked.Threshold != 0.8 ||
		asked.Look != 50 {
		t.Errorf("threshold .8: got %v, look %d", asked.Threshold, asked.Look)
	}
	if run := mustClean(t, s, Options{Seed: 2, Imported: AsGiven, Method: paper.Published}); run.Look != 0 {
		t.Errorf("preset paper: got look %d, want none", run.Look)
	}
}

// mustKeepOrder wants scores, NaN of none, in the order of others of the same nodes.
func mustKeepOrder(t *testing.T, before, after []float64) {
	t.Helper()
	order := make([]int, len(before))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(before[i], before[j]) })
	for i, v := range order[1:] {
		if u := order[i]; after[u] > after[v] {
			t.Fatalf("scores %v and %v have become %v and %v", before[u], before[v], after[u], after[v])
		}
	}
}

// TestLookThatSettlesLittle has people who do not know: the scores stay until half of the draws are settled.
func TestLookThatSettlesLittle(t *testing.T) {
	p := newPlanted(8, 600)
	s := p.load(t, true)
	own := mustClean(t, s, Options{Seed: 2, Imported: AsGiven})
	truths := p.truths(t, s)
	draws := drawAudit(t, s, 25).Draws
	for _, d := range draws {
		mustDecide(t, s, decide.Options{}, decide.Request{Node: d.Node, Kind: decide.Unsure})
	}
	for settled := range 14 {
		if settled > 0 {
			answer(t, s, "", truths, draws[settled-1:settled])
		}
		a := mustAudit(t, s)
		if a.Look != 25 || a.Right+a.Wrong != settled || a.Low > 0.3 || a.High < 0.7 {
			t.Fatalf("%d settled: %+v, want a wide interval", settled, a)
		}
		if isTold := settled == 13; a.Behind != isTold || math.IsNaN(a.Rate) == isTold || math.IsNaN(a.Left()) == isTold {
			t.Errorf("%d settled: %+v", settled, a)
		}
	}
	mustUndo(t, s, 1)
	if run := rescored(t, s); run.Look != 0 || run.Threshold != own.Threshold || run.MislabelRate != own.MislabelRate {
		t.Errorf("12 settled: look %d, threshold %v, rate %v, want those of the run", run.Look, run.Threshold,
			run.MislabelRate)
	}
	answer(t, s, "", truths, draws[12:13])
	if run := rescored(t, s); run.Look != 25 || run.MislabelRate != mustAudit(t, s).Rate {
		t.Errorf("13 settled: look %d, rate %v", run.Look, run.MislabelRate)
	}
}

// TestLookOfJudgedSuspects judges the first suspects outside of the audit: the labels as they came stay what the rate
// is of.
func TestLookOfJudgedSuspects(t *testing.T) {
	p := newPlanted(9, 1200)
	s := p.load(t, true)
	mustClean(t, s, Options{Seed: 2, Imported: AsGiven, Expect: 0.01})
	truths := p.truths(t, s)
	answer(t, s, "", truths, drawAudit(t, s, 50).Draws)
	plain := rescored(t, s)
	mustUndo(t, s, 1)
	judged := p.decideByTruth(t, s, 40, decide.Relabel)
	a := mustAudit(t, s)
	answer(t, s, "", truths, a.Open("ann"))
	got := rescored(t, s)
	if judged < 20 || got.Look != 50 || !near(got.Model.Shift, plain.Model.Shift, 0.5) {
		t.Errorf("%d found: shift %v, want near %v", judged, got.Model.Shift, plain.Model.Shift)
	}
}
