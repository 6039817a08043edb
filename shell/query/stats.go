package query

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/internal/namelist"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// stats answers stats.
func (q *query) stats(ctx context.Context, _ *Statement) (*Result, error) {
	labels, err := index.NewPlan(q.tx, index.Query{Where: hasValue(kv.LabelColumn), Limit: -1})
	if err != nil {
		return nil, err
	}
	labelled, err := labels.Count(ctx)
	if err != nil {
		return nil, err
	}
	bytes, err := q.tx.Store().DiskBytes()
	if err != nil {
		return nil, err
	}
	scores, err := q.scoreFields(ctx)
	if err != nil {
		return nil, err
	}
	columns, indexes, matrices := []string{}, []string{}, append([]string{}, q.tx.Matrices()...)
	predictions := kv.Value{}
	if slices.Contains(matrices, cleaner.PredictionsMatrix) {
		predictions = kv.ValueOf("float32")
	}
	for _, c := range q.tx.Columns() {
		columns = append(columns, c.Name)
		if c.Indexed {
			indexes = append(indexes, c.Name)
		}
	}
	shape := q.tx.Shape()
	r := recordOf(slices.Concat([]field{
		{"store", kv.KindString, kv.ValueOf(cmp.Or(q.Name, q.tx.Store().Dir()))},
		{"nodes", kv.KindInt, kv.ValueOf(int64(shape.Present))},
		{"edges", kv.KindInt, kv.ValueOf(shape.Edges)},
		{"directed", kv.KindBool, kv.ValueOf(shape.Directed)},
		{"weighted", kv.KindBool, kv.ValueOf(shape.Weighted)},
		{"labelled", kv.KindInt, kv.ValueOf(labelled)},
		{"classes", kv.KindInt, kv.ValueOf(int64(len(q.tx.Classes())))},
		{"columns", kv.KindString, kv.ValueOf(joinNames(columns))},
		{"indexes", kv.KindString, kv.ValueOf(joinNames(indexes))},
		{"matrices", kv.KindString, kv.ValueOf(joinNames(matrices))},
		{"predictions", kv.KindString, predictions},
	}, scores, []field{{"disk_bytes", kv.KindInt, kv.ValueOf(bytes)}}))
	r.Lists = map[string][]string{"columns": columns, "indexes": indexes, "matrices": matrices}
	return r, nil
}

// mostStaleStats is how many stale scores stats looks for at most: it may take longer than what is asked often.
const mostStaleStats = 1 << 14

// scoreFields are known of scores and wrong labels: the suspects of the last run that all evidence contradicts, the
// last look of an audit, and the scores that are older than changes around them, null if they are too many to count.
func (q *query) scoreFields(ctx context.Context) ([]field, error) {
	var contradicted, rate, low, high, left, stale kv.Value
	runs, err := countedRuns(ctx, q.tx)
	if err != nil {
		return nil, err
	}
	audit, err := cleaner.ReadAudit(ctx, q.tx)
	if err != nil {
		return nil, err
	}
	if audit != nil && audit.Look > 0 {
		rate, low, high, left = kv.ValueOf(audit.Rate), kv.ValueOf(audit.Low), kv.ValueOf(audit.High),
			kv.ValueOf(math.Round(audit.Left()))
	}
	if len(runs) > 0 {
		contradicted = kv.ValueOf(runs[len(runs)-1].Contradicted)
		q.note(wording.HowMany(audit))
		run, err := cleaner.LastRun(q.tx) // with its model
		if err != nil {
			return nil, err
		}
		q.note(wording.Elsewhere(run))
		count, err := cleaner.CountStale(ctx, q.tx, run, mostStaleStats)
		switch {
		case err != nil:
			return nil, err
		case count < 0:
			q.note(wording.Stale(count, mostStaleStats))
		default:
			stale = kv.ValueOf(int64(count))
		}
	}
	return []field{
		{"runs", kv.KindInt, kv.ValueOf(len(runs))}, {"contradicted", kv.KindInt, contradicted},
		{"mislabel_rate", kv.KindFloat, rate}, {"rate_low", kv.KindFloat, low}, {"rate_high", kv.KindFloat, high},
		{"mislabels_left", kv.KindFloat, left}, {"stale_scores", kv.KindInt, stale},
	}, nil
}

// classes answers classes, with a remark if homophily is too low for the method.
func (q *query) classes(ctx context.Context, _ *Statement) (*Result, error) {
	s, err := cleaner.Statistics(ctx, q.tx)
	if err != nil {
		return nil, err
	}
	q.note(s.Warning())
	order := ClassOrder(q.tx.Classes())
	classes := rowsFrom(order, func(i int) cleaner.ClassStatistics { return s.Classes[i] })
	return NewTable(tableOf(classes, func(c cleaner.ClassStatistics) []field {
		suspects, share := kv.Value{}, kv.Value{}
		if s.Run != 0 {
			suspects, share = kv.ValueOf(c.Suspects), ratio(c.Suspects, c.Nodes)
		}
		return []field{
			{"class", kv.KindString, kv.ValueOf(c.Class)}, {"nodes", kv.KindInt, kv.ValueOf(c.Nodes)},
			{"share", kv.KindFloat, ratio(c.Nodes, s.Labels)}, {"homophily", kv.KindFloat, kv.ValueOf(c.Homophily)},
			{"self_confidence", kv.KindFloat, kv.ValueOf(c.SelfConfidence)}, {"suspects", kv.KindInt, suspects},
			{"suspect_share", kv.KindFloat, share}, {"estimated_rate", kv.KindFloat, kv.ValueOf(c.MislabelRate)},
		}
	})), nil
}

// ratio is null of nothing.
func ratio(part, of int64) kv.Value {
	if of == 0 {
		return kv.Value{}
	}
	return kv.ValueOf(float64(part) / float64(of))
}

// ClassOrder returns the places of class names in the order of namelist.Sorted: names[order[0]] comes first. Answers
// and files list classes in this order, and files without names are read in it.
func ClassOrder(names []string) (order []int) {
	places := make(map[string]int, len(names))
	for i, name := range names {
		places[name] = i
	}
	for _, name := range namelist.Sorted(names) {
		order = append(order, places[name])
	}
	return order
}

// A table of noise shows as many classes across, and as many pairs below.
const (
	widestNoise = 12
	shownPairs  = 10
)

var pairColumns = []ColumnInfo{
	{"given", kv.KindString}, {"true", kv.KindString}, {"probability", kv.KindFloat}, {"joint", kv.KindFloat},
}

// noise answers noise, by the rates that scores use: the transition matrix, for reading only if it is narrow enough,
// the pairs of classes that are confused, the most frequent first, and how often each label is wrong.
func (q *query) noise(ctx context.Context, _ *Statement) (*Result, error) {
	if err := cleaner.CheckTransition(q.tx, q.MemoryBudget); err != nil {
		return nil, err
	}
	run, err := cleaner.LastRun(q.tx)
	if err == nil {
		err = run.Recount(ctx, q.tx)
	}
	if err != nil {
		return nil, err
	}
	pairs := confusedPairs(run)
	r := NewTable(pairColumns, pairs)
	r.Sections = []Section{
		transitionSection(run),
		Section{Key: "confused", Title: "Most confused classes", Columns: pairColumns, Rows: pairs}.cutTo(shownPairs),
		rateSection(run),
	}
	return r, nil
}

// rateSection says of each given label how often it is wrong, by the scores.
func rateSection(run *cleaner.Run) Section {
	from := "as the model estimates it, %.4g of all; audit tells how many are wrong"
	if run.Look > 0 {
		from = "as the scores tell it after the audit, %.4g of all"
	}
	title, rates := fmt.Sprintf("Share of wrong labels "+from, run.MislabelRate), run.ClassMislabelRates()
	return sectionOf("estimated_rates", title, ClassOrder(run.Classes), func(i int) []field {
		return []field{
			{"given", kv.KindString, kv.ValueOf(run.Classes[i])}, {"estimated_rate", kv.KindFloat, kv.ValueOf(rates[i])},
		}
	})
}

// transitionSection is P(given | true): a row a given label, a column a true class. JSON puts "true: " before the
// classes across, so that a class called given does not repeat a key.
func transitionSection(run *cleaner.Run) Section {
	first := ColumnInfo{"given", kv.KindString}
	s := Section{Key: "transition", Columns: []ColumnInfo{first}}
	reading := Section{Title: "P(given label | true class), true classes across", Columns: []ColumnInfo{first}}
	order, rate := ClassOrder(run.Classes), run.Transition()
	for _, i := range order {
		s.Columns = append(s.Columns, ColumnInfo{"true: " + run.Classes[i], kv.KindFloat})
		reading.Columns = append(reading.Columns, ColumnInfo{run.Classes[i], kv.KindFloat})
		values := []kv.Value{kv.ValueOf(run.Classes[i])}
		for _, j := range order {
			values = append(values, kv.ValueOf(rate(i, j)))
		}
		s.Rows = append(s.Rows, values)
	}
	if len(run.Classes) <= widestNoise {
		reading.Rows = s.Rows
	}
	s.Reading = &reading
	return s
}

// confusedPairs lists the pairs of different classes, by their share of the joint distribution.
func confusedPairs(run *cleaner.Run) [][]kv.Value {
	var pairs [][]kv.Value
	rate := run.Transition()
	for _, cell := range run.Joint().Cells {
		if i, j := cell.Row, cell.Column; i != j {
			pairs = append(pairs, []kv.Value{
				kv.ValueOf(run.Classes[i]), kv.ValueOf(run.Classes[j]), kv.ValueOf(rate(i, j)), kv.ValueOf(cell.Value),
			})
		}
	}
	slices.SortStableFunc(pairs, func(a, b []kv.Value) int { return cmp.Compare(b[3].Float(), a[3].Float()) })
	return pairs
}
