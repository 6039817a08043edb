package web

import (
	"context"
	"errors"
	"iter"
	"math"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/figure"
)

// A bin has the scores above a value, up to the next value.
type bin struct {
	From     float64 `json:"from"`
	Nodes    int64   `json:"nodes"`
	Suspects int64   `json:"suspects"` // of them: another label is suggested, and nobody has decided
	Wrong    float64 `json:"expected_wrong"`
}

// A cut says what a threshold finds.
type cut struct {
	Threshold float64  `json:"threshold"`
	Suspects  int64    `json:"suspects"`
	Precision *float64 `json:"expected_precision"`
	Recall    *float64 `json:"expected_recall"`
}

// bins is how fine the histogram is.
const bins = 200

// scoresOf yields each score with whether its node is undecided and another label is suggested.
func scoresOf(ctx context.Context, tx *kv.Tx) iter.Seq2[scored, error] {
	return func(yield func(scored, error) bool) {
		scores, err := tx.Reader(cleaner.ScoreColumn)
		if err != nil {
			yield(scored{}, err)
			return
		}
		var readers [3]*kv.ColumnReader
		for i, name := range []string{kv.LabelColumn, cleaner.SuggestedColumn, decide.Column} {
			if readers[i], err = tx.Reader(name); err != nil && !errors.Is(err, kv.ErrNoColumn) {
				yield(scored{}, err)
				return
			}
		}
		undecided := kv.Range{} // of a block of decisions that are all null
		for v := range kv.NodeID(tx.NumNodes()) {
			if v%(1<<14) == 0 && ctx.Err() != nil {
				yield(scored{}, ctx.Err())
				return
			}
			score, err := scores.At(v)
			if err == nil && readers[2] != nil && v >= undecided.End {
				undecided, err = nullsFrom(readers[2], v)
			}
			if err != nil {
				yield(scored{}, err)
				return
			}
			if score.IsNull() {
				continue
			}
			var values [3]kv.Value
			for i, reader := range readers {
				if reader == nil || i == 2 && v < undecided.End {
					continue
				}
				if values[i], err = reader.At(v); err != nil {
					yield(scored{}, err)
					return
				}
			}
			if !yield(scored{score.Float(), values[0] != values[1] && !values[0].IsNull() && !values[1].IsNull() &&
				values[2].IsNull()}, nil) {
				return
			}
		}
	}
}

// nullsFrom is the block of a node, if all its values are null, and else an empty one.
func nullsFrom(reader *kv.ColumnReader, v kv.NodeID) (kv.Range, error) {
	block, least, _, err := reader.Block(v)
	if !least.IsNull() {
		return kv.Range{}, err
	}
	return block, err
}

type scored struct {
	score   float64
	suspect bool // above some threshold
}

// countScores counts scores, and what the threshold of the run finds.
func (o *overview) countScores(ctx context.Context, tx *kv.Tx) error {
	o.Histogram = make([]bin, bins)
	for i := range o.Histogram {
		o.Histogram[i].From = float64(i) / bins
	}
	found, above := int64(0), 0.0
	for n, err := range scoresOf(ctx, tx) {
		if err != nil {
			return err
		}
		b := &o.Histogram[binOf(n.score)]
		b.Nodes++
		o.Expected += n.score
		if n.suspect {
			b.Suspects++
			b.Wrong += n.score
			if n.score > o.run.Threshold {
				found++
				above += n.score
			}
		}
	}
	if o.run.Preset != cleaner.PresetDefault {
		o.Expected = 0
	}
	o.Threshold = o.cut(o.run.Threshold, found, above)
	return nil
}

// binOf is the bin of a score: a score at the end of a bin is not above its end.
func binOf(score float64) int { return min(max(int(math.Ceil(score*bins))-1, 0), bins-1) }

// cut says what a threshold finds: so many suspects, the sum of whose scores is above.
func (o *overview) cut(threshold float64, suspects int64, above float64) cut {
	found := cut{Threshold: threshold, Suspects: suspects}
	if o.run.Preset == cleaner.PresetDefault {
		found.Precision, found.Recall = finite(above/float64(suspects)), finite(above/o.Expected)
	}
	return found
}

// cutAt says what a threshold finds: the bins above it are counted, and of the bin that it cuts the index tells the
// scores above it.
func (o *overview) cutAt(ctx context.Context, tx *kv.Tx, threshold float64) (found cut, err error) {
	if threshold == o.run.Threshold {
		return o.Threshold, nil
	}
	whole := int(math.Ceil(threshold * bins)) // the first bin that is all above it
	suspects, above := int64(0), 0.0
	for _, b := range o.Histogram[whole:] {
		suspects += b.Suspects
		above += b.Wrong
	}
	if end := float64(whole) / bins; end != threshold {
		plan, err := index.NewPlan(tx, index.Query{
			Where: index.And{Terms: []index.Predicate{
				cleaner.Suspects(threshold), index.Compare{Property: cleaner.ScoreColumn, Op: index.Le, Value: kv.FloatValue(end)},
			}},
			Order: []index.Order{{Property: cleaner.ScoreColumn}}, Limit: -1,
		})
		if err != nil {
			return found, err
		}
		scores, err := tx.Reader(cleaner.ScoreColumn)
		if err != nil {
			return found, err
		}
		for v, err := range plan.Rows(ctx) {
			if err != nil {
				return found, err
			}
			score, err := scores.At(v)
			if err != nil {
				return found, err
			}
			suspects++
			above += score.Float()
		}
	}
	return o.cut(threshold, suspects, above), nil
}

// chartOf draws the histogram with the threshold.
func chartOf(counted []bin, threshold float64) string {
	h := figure.NewHistogram()
	for _, b := range counted {
		h.Add(b.From+0.5/bins, b.Nodes)
	}
	return h.Chart("Scores of the labelled nodes", threshold)
}
