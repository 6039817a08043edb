package cleaner

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/calibration"
	"github.com/graphcleaner/graphcleaner/kv"
)

// reviewedFirst is how many nodes, those with the highest scores, a person has decided on before rescored and recleaned
// judge the others.
const reviewedFirst = 50

// reviewed is PresetDefault behind a person who knows the truth: again is a new clean, else scores are rescored. What the
// person has said of a node stands: its score is 1 if the label is wrong, else 0.
func reviewed(again bool) func(context.Context, trial, Options) (*judgement, error) {
	return func(ctx context.Context, t trial, opt Options) (_ *judgement, err error) {
		if opt, err = opt.withDefaults(); err != nil {
			return nil, err
		}
		scored, err := t.clean(ctx, variant{preset: PresetDefault}, opt)
		if err != nil {
			return nil, err
		}
		decided := t.decide(scored.scores.Data, reviewedFirst)
		var result *judgement
		if again {
			if err := scored.Close(); err != nil {
				return nil, err
			}
			result, err = t.cleanAgain(ctx, decided, opt)
		} else {
			result, err = t.rescored(scored, decided), scored.Close()
		}
		if err != nil {
			return nil, err
		}
		result.decided = make(map[kv.NodeID]bool)
		for _, said := range decided {
			v, wrong := said.Node, said.Now != said.Before
			result.decided[v], result.flagged[v], result.scores[v] = true, wrong, 0
			if wrong {
				result.scores[v] = 1
			}
		}
		return result, nil
	}
}

// decide says the truth about the nodes with the highest scores, so many of them.
func (t *trial) decide(scores []float32, count int) []decide.Verdict {
	var nodes []kv.NodeID
	for v, s := range scores {
		if s == s && t.truth[v] != kv.NoClass {
			nodes = append(nodes, kv.NodeID(v))
		}
	}
	slices.SortStableFunc(nodes, func(a, b kv.NodeID) int { return cmp.Compare(scores[b], scores[a]) })
	decided := make([]decide.Verdict, 0, count)
	for _, v := range nodes[:min(count, len(nodes))] {
		decided = append(decided, decide.Verdict{Node: v, Before: t.labels[v], Now: t.truth[v], Score: float64(scores[v])})
	}
	return decided
}

// rescored is what Rescore makes of scores when nodes were decided on.
func (t *trial) rescored(scored *scored, decided []decide.Verdict) *judgement {
	knows := scored.model.Calibration.Clone()
	was := calibration.Estimate{Shift: scored.model.Shift, Lapse: scored.model.Lapse}
	for _, said := range decided {
		l := was.LogOdds(said.Score)
		knows.Observe(l, l, said.Now != said.Before)
	}
	is := knows.Estimate()
	result := newJudgement(len(t.labels))
	result.rate = is.Rate
	result.judge(is.Threshold, func(v int) float64 {
		s := float64(scored.scores.Data[v])
		if s != s {
			return s
		}
		return is.Score(was.LogOdds(s))
	})
	result.believe(is)
	return result
}

// cleanAgain is a new clean when nodes were decided on. The built-in classifier learns from what was said; predictions from
// outside stay.
func (t trial) cleanAgain(ctx context.Context, decided []decide.Verdict, opt Options) (_ *judgement, err error) {
	t.labels = slices.Clone(t.labels)
	t.verdicts = slices.SortedFunc(slices.Values(decided), func(a, b decide.Verdict) int { return cmp.Compare(a.Node, b.Node) })
	for _, said := range decided {
		t.labels[said.Node] = said.Now
	}
	if t.base.labels = t.labels; !t.foreign {
		learned, _, err := trainBase(ctx, t.base, PredictOptions{Seed: opt.Seed, Workers: opt.Workers, MemoryBudget: opt.MemoryBudget})
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, learned.Close()) }()
		t.predictions = learned
	}
	scored, err := t.clean(ctx, variant{preset: PresetDefault}, opt)
	if err != nil {
		return nil, err
	}
	result := scored.judgement()
	result.rate += scored.model.Calibration.Corrected // of the labels that the person has seen
	result.low += scored.model.Calibration.Corrected
	result.high += scored.model.Calibration.Corrected
	return result, scored.Close()
}
