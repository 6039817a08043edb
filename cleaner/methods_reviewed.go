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

// review is PresetDefault behind a person who knows the truth: with again a new clean follows, else a rescore. What the
// person has said of a node stands: its score is 1 if the label is wrong, else 0.
func review(again bool) func(context.Context, trial, Options) (*judgement, error) {
	return func(ctx context.Context, t trial, opt Options) (_ *judgement, err error) {
		if opt, err = opt.withDefaults(); err != nil {
			return nil, err
		}
		before, err := t.clean(ctx, variant{preset: PresetDefault}, opt)
		if err != nil {
			return nil, err
		}
		verdicts := t.decide(before.scores.Data, reviewedFirst)
		var result *judgement
		if again {
			if err := before.Close(); err != nil {
				return nil, err
			}
			result, err = t.cleanAgain(ctx, verdicts, opt)
		} else {
			result, err = t.rescore(before, verdicts), before.Close()
		}
		if err != nil {
			return nil, err
		}
		result.decided = make(map[kv.NodeID]bool)
		for _, verdict := range verdicts {
			v, wrong := verdict.Node, verdict.Now != verdict.Before
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
	verdicts := make([]decide.Verdict, 0, count)
	for _, v := range nodes[:min(count, len(nodes))] {
		verdicts = append(verdicts, decide.Verdict{Node: v, Before: t.labels[v], Now: t.truth[v], Score: float64(scores[v])})
	}
	return verdicts
}

// rescore does what Rescore does after decisions.
func (t *trial) rescore(before *scoring, verdicts []decide.Verdict) *judgement {
	knows := before.model.Calibration.Clone()
	was := calibration.Estimate{Shift: before.model.Shift, Lapse: before.model.Lapse}
	for _, verdict := range verdicts {
		l := was.LogOdds(verdict.Score)
		knows.Observe(l, l, verdict.Now != verdict.Before)
	}
	is := knows.Estimate()
	result := newJudgement(len(t.labels))
	result.rate = is.Rate
	result.judge(is.Threshold, func(v int) float64 {
		s := float64(before.scores.Data[v])
		if s != s {
			return s
		}
		return is.Score(was.LogOdds(s))
	})
	result.believe(is)
	return result
}

// cleanAgain cleans anew after decisions. The built-in classifier learns from what was said; predictions from
// outside stay.
func (t trial) cleanAgain(ctx context.Context, verdicts []decide.Verdict, opt Options) (_ *judgement, err error) {
	t.labels = slices.Clone(t.labels)
	t.verdicts = slices.SortedFunc(slices.Values(verdicts), func(a, b decide.Verdict) int { return cmp.Compare(a.Node, b.Node) })
	for _, verdict := range verdicts {
		t.labels[verdict.Node] = verdict.Now
	}
	if t.base.labels = t.labels; !t.foreign {
		predictions, _, err := trainBase(ctx, t.base, PredictOptions{Seed: opt.Seed, Workers: opt.Workers, MemoryBudget: opt.MemoryBudget})
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, predictions.Close()) }()
		t.predictions = predictions
	}
	after, err := t.clean(ctx, variant{preset: PresetDefault}, opt)
	if err != nil {
		return nil, err
	}
	result := after.judgement()
	result.rate += after.model.Calibration.Corrected // of the labels that the person has seen
	result.low += after.model.Calibration.Corrected
	result.high += after.model.Calibration.Corrected
	return result, after.Close()
}
