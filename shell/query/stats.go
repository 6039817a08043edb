package query

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"math"
	"path/filepath"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// stats answers stats.
func (q *query) stats(ctx context.Context) (*Result, error) {
	labels, err := index.NewPlan(q.tx, index.Query{Where: index.Not{Term: index.IsNull{Property: "label"}}, Limit: -1})
	if err != nil {
		return nil, err
	}
	labelled, err := labels.Count(ctx)
	if err != nil {
		return nil, err
	}
	runs, err := countedRuns(ctx, q.tx)
	if err != nil {
		return nil, err
	}
	bytes, err := DiskBytes(q.tx.Store().Dir())
	if err != nil {
		return nil, err
	}
	predictions, err := q.predictions()
	if err != nil {
		return nil, err
	}
	wrong, err := q.wrongLabels(ctx, runs)
	if err != nil {
		return nil, err
	}
	stale, err := q.staleScores(ctx, runs)
	if err != nil {
		return nil, err
	}
	age, err := q.classifierAge(ctx)
	if err != nil {
		return nil, err
	}
	columns, indexes, matrices := []string{}, []string{}, append([]string{}, q.tx.Matrices()...)
	for _, c := range q.tx.Columns() {
		columns = append(columns, c.Name)
		if c.Indexed {
			indexes = append(indexes, c.Name)
		}
	}
	fields := slices.Concat([]field{
		{"store", kv.KindString, kv.ValueOf(cmp.Or(q.Name, q.tx.Store().Dir()))},
		{"nodes", kv.KindInt, kv.ValueOf(int64(q.tx.Shape().Present))},
		{"edges", kv.KindInt, kv.ValueOf(q.tx.Shape().Edges)},
		{"directed", kv.KindBool, kv.ValueOf(q.tx.Shape().Directed)},
		{"weighted", kv.KindBool, kv.ValueOf(q.tx.Shape().Weighted)},
		{"labelled", kv.KindInt, kv.ValueOf(labelled)},
		{"classes", kv.KindInt, kv.ValueOf(int64(len(q.tx.Classes())))},
		{"columns", kv.KindString, kv.ValueOf(joinNames(columns))},
		{"indexes", kv.KindString, kv.ValueOf(joinNames(indexes))},
		{"matrices", kv.KindString, kv.ValueOf(joinNames(matrices))},
		{"predictions", kv.KindString, predictions},
		{"runs", kv.KindInt, kv.ValueOf(len(runs))},
	}, wrong, stale, age, []field{
		{"disk_bytes", kv.KindInt, kv.ValueOf(bytes)},
	})
	r, o := recordOf(fields), objectOf(fields)
	for i := range o {
		switch o[i].name {
		case "columns":
			o[i].value = columns
		case "indexes":
			o[i].value = indexes
		case "matrices":
			o[i].value = matrices
		}
	}
	r.Object = o
	return r, nil
}

// wrongLabels says what is known of wrong labels: the suspects that all evidence contradicts, null without a run, and what
// the last look of an audit tells, null before; the rate also if fewer than half of the answers name a label.
func (q *query) wrongLabels(ctx context.Context, runs []*cleaner.Run) ([]field, error) {
	audit, err := LastAudit(ctx, q.tx)
	if err != nil {
		return nil, err
	}
	contradicted, rates := kv.Value{}, [4]kv.Value{}
	if len(runs) > 0 {
		contradicted = kv.ValueOf(runs[len(runs)-1].Contradicted)
		q.notices = append(q.notices, wording.HowMany(audit))
	}
	if audit != nil && audit.Look > 0 {
		for i, x := range []float64{audit.Rate, audit.Low, audit.High, math.Round(audit.Left())} {
			rates[i] = number(x)
		}
	}
	return []field{
		{"contradicted", kv.KindInt, contradicted},
		{"mislabel_rate", kv.KindFloat, rates[0]}, {"rate_low", kv.KindFloat, rates[1]}, {"rate_high", kv.KindFloat, rates[2]},
		{"mislabels_left", kv.KindFloat, rates[3]},
	}, nil
}

// mostStaleStats is how many stale scores stats looks for at most: it may take longer than what is asked often.
const mostStaleStats = 1 << 14

// staleScores counts the scores that are older than changes around them; null without a run, or if they are too many to count.
func (q *query) staleScores(ctx context.Context, runs []*cleaner.Run) ([]field, error) {
	stale := kv.Value{}
	if len(runs) > 0 {
		run, err := LastRun(q.tx) // with its model
		if err != nil {
			return nil, err
		}
		q.tellElsewhere(run)
		count, err := cleaner.CountStale(ctx, q.tx, run, mostStaleStats)
		if err != nil {
			return nil, err
		}
		if stale = kv.ValueOf(int64(count)); count < 0 {
			stale = kv.Value{}
			q.notices = append(q.notices, wording.Stale(count, mostStaleStats))
		}
	}
	return []field{{"stale_scores", kv.KindInt, stale}}, nil
}

// classifierAge says how old the kept classifier is: null if none is kept.
func (q *query) classifierAge(ctx context.Context) ([]field, error) {
	fields := []field{{"classifier_unseen", kv.KindInt, kv.Value{}}, {"classifier_agreement", kv.KindFloat, kv.Value{}}}
	age, err := cleaner.ClassifierAge(ctx, q.tx)
	if errors.Is(err, kv.ErrNotFound) {
		return fields, nil
	}
	if err != nil {
		return nil, err
	}
	fields[0].value, fields[1].value = kv.ValueOf(age.Nodes), ratio(age.Agree, age.Labelled)
	if age.Nodes > 0 {
		q.notices = append(q.notices, "the kept classifier: "+age.String())
	}
	return fields, nil
}

// predictions says how the predictions are stored; null without predictions.
func (q *query) predictions() (encoding kv.Value, err error) {
	e, _, err := cleaner.PredictionsEncoding(q.tx)
	if errors.Is(err, kv.ErrNotFound) {
		return encoding, nil
	}
	if err != nil {
		return encoding, err
	}
	matrix, err := q.tx.Matrix(cleaner.PredictionsMatrix)
	if err != nil {
		return encoding, err
	}
	return kv.ValueOf(wording.Encoding(e, matrix.Width())), nil
}

// DiskBytes is how many bytes the files of a store take on disk. A file that is removed meanwhile counts nothing.
func DiskBytes(dir string) (int64, error) {
	total := int64(0)
	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		total += allocated(info)
		return nil
	})
	return total, err
}
