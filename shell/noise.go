package shell

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A table of noise shows as many classes across, and as many pairs below.
const (
	widestNoise = 12
	shownPairs  = 10
)

var pairColumns = []ColumnInfo{
	{"given", kv.KindString}, {"true", kv.KindString}, {"probability", kv.KindFloat}, {"joint", kv.KindFloat},
	{"count", kv.KindInt},
}

// noise answers noise: the pairs of classes that are confused, the most frequent first, and for reading
// the transition matrix where it is narrow enough.
func (q *query) noise() (*Result, error) {
	run, err := q.lastRun()
	if err != nil {
		return nil, err
	}
	pairs := confusedPairs(run)
	r := inMemory(pairColumns, pairs)
	if len(run.Classes) <= widestNoise {
		r.sections = append(r.sections, transitionSection(run))
	}
	r.sections = append(r.sections, section{
		title:   "Most confused classes",
		columns: pairColumns,
		rows:    pairs[:min(len(pairs), shownPairs)],
	}, rateSection(run))
	return r, nil
}

// rateSection says of each given label how often it is wrong.
func rateSection(run *cleaner.Run) section {
	s := section{
		title:   fmt.Sprintf("Estimated share of wrong labels, %.4g of all", run.MislabelRate),
		columns: []ColumnInfo{{"given", kv.KindString}, {"mislabel_rate", kv.KindFloat}},
	}
	rates := run.ClassMislabelRates()
	for _, i := range classOrder(run.Classes) {
		s.rows = append(s.rows, []kv.Value{kv.StringValue(run.Classes[i]), number(rates[i])})
	}
	return s
}

// transitionSection is P(given | true): a row a given label, a column a true class.
func transitionSection(run *cleaner.Run) section {
	s := section{title: "P(given label | true class), true classes across", columns: []ColumnInfo{{"given", kv.KindString}}}
	order := classOrder(run.Classes)
	for _, i := range order {
		s.columns = append(s.columns, ColumnInfo{run.Classes[i], kv.KindFloat})
		values := []kv.Value{kv.StringValue(run.Classes[i])}
		for _, j := range order {
			values = append(values, number(run.Transition[i][j]))
		}
		s.rows = append(s.rows, values)
	}
	return s
}

// confusedPairs lists the pairs of different classes that the confident joint has counted, by their share
// of the joint distribution.
func confusedPairs(run *cleaner.Run) [][]kv.Value {
	var pairs [][]kv.Value
	for i, given := range run.Classes {
		for j, truly := range run.Classes {
			if i == j || run.ConfidentJoint[i][j] == 0 {
				continue
			}
			pairs = append(pairs, []kv.Value{
				kv.StringValue(given), kv.StringValue(truly), number(run.Transition[i][j]), number(run.Joint[i][j]),
				kv.IntValue(int64(run.ConfidentJoint[i][j])),
			})
		}
	}
	slices.SortStableFunc(pairs, func(a, b []kv.Value) int { return cmp.Compare(b[3].Float(), a[3].Float()) })
	return pairs
}
