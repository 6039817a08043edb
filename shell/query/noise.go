package query

import (
	"cmp"
	"fmt"
	"math"
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
// the transition matrix where it is narrow enough. JSON has the matrix at any width.
func (q *query) noise() (*Result, error) {
	if err := cleaner.CheckTransition(q.tx, q.engine.MemoryBudget); err != nil {
		return nil, err
	}
	run, err := LastRun(q.tx)
	if err != nil {
		return nil, err
	}
	pairs := confusedPairs(run)
	r := NewTable(pairColumns, pairs)
	if len(run.Classes) <= widestNoise {
		r.Sections = append(r.Sections, transitionSection(run))
	}
	r.Sections = append(r.Sections, Section{
		Title:   "Most confused classes",
		Columns: pairColumns,
		Rows:    pairs[:min(len(pairs), shownPairs)],
	}, rateSection(run))
	r.Object = noiseObject(run, pairs)
	return r, nil
}

type jsonRate struct {
	Given        string    `json:"given"`
	MislabelRate jsonFloat `json:"mislabel_rate"`
}

type jsonPair struct {
	Given       string    `json:"given"`
	True        string    `json:"true"`
	Probability jsonFloat `json:"probability"`
	Joint       jsonFloat `json:"joint"`
	Count       int64     `json:"count"`
}

type jsonNoise struct {
	MislabelRate jsonFloat     `json:"mislabel_rate"` // of all labels
	RateLow      jsonFloat     `json:"rate_low"`      // null: the run has no interval
	RateHigh     jsonFloat     `json:"rate_high"`
	Grey         int64         `json:"grey"` // labels in the grey zone
	Rates        []jsonRate    `json:"mislabel_rates"`
	Confused     []jsonPair    `json:"confused"`
	Classes      []string      `json:"classes"`
	Transition   [][]jsonFloat `json:"transition"` // P(given|true) [c×c], row given, column true, both in the order of classes
}

// noiseObject lays the noise out for JSON.
func noiseObject(run *cleaner.Run, pairs [][]kv.Value) jsonNoise {
	o := jsonNoise{
		MislabelRate: jsonFloat(run.MislabelRate), RateLow: jsonFloat(boundOf(run, run.RateLow)), RateHigh: jsonFloat(boundOf(run, run.RateHigh)), Grey: run.Grey,
		Rates: []jsonRate{}, Confused: []jsonPair{}, Classes: []string{}, Transition: [][]jsonFloat{},
	}
	rates, order := run.ClassMislabelRates(), ClassOrder(run.Classes)
	for _, i := range order {
		o.Classes = append(o.Classes, run.Classes[i])
		o.Rates = append(o.Rates, jsonRate{run.Classes[i], jsonFloat(rates[i])})
		row := make([]jsonFloat, len(order))
		for at, j := range order {
			row[at] = jsonFloat(run.Transition.At(i, j))
		}
		o.Transition = append(o.Transition, row)
	}
	for _, pair := range pairs {
		probability := jsonFloat(math.NaN())
		if !pair[2].IsNull() {
			probability = jsonFloat(pair[2].Float())
		}
		o.Confused = append(o.Confused, jsonPair{
			pair[0].Str(), pair[1].Str(), probability, jsonFloat(pair[3].Float()), pair[4].Int(),
		})
	}
	return o
}

// rateSection says of each given label how often it is wrong.
func rateSection(run *cleaner.Run) Section {
	s := Section{
		Title:   "Estimated share of wrong labels, " + rateOfAll(run),
		Columns: []ColumnInfo{{"given", kv.KindString}, {"mislabel_rate", kv.KindFloat}},
	}
	rates := run.ClassMislabelRates()
	for _, i := range ClassOrder(run.Classes) {
		s.Rows = append(s.Rows, []kv.Value{kv.StringValue(run.Classes[i]), number(rates[i])})
	}
	return s
}

// rateOfAll is the rate of all labels, with its interval and the grey zone where a run has them.
func rateOfAll(run *cleaner.Run) string {
	text := fmt.Sprintf("%.4g of all", run.MislabelRate)
	if run.HasInterval() {
		text += fmt.Sprintf(" (%.2g to %.2g)", run.RateLow, run.RateHigh)
	}
	if run.Grey > 0 {
		text += fmt.Sprintf("; %d more labels in the grey zone, which decisions and rescore settle, or clean --expect R", run.Grey)
	}
	return text
}

// transitionSection is P(given | true): a row a given label, a column a true class.
func transitionSection(run *cleaner.Run) Section {
	s := Section{Title: "P(given label | true class), true classes across", Columns: []ColumnInfo{{"given", kv.KindString}}}
	order := ClassOrder(run.Classes)
	for _, i := range order {
		s.Columns = append(s.Columns, ColumnInfo{run.Classes[i], kv.KindFloat})
		values := []kv.Value{kv.StringValue(run.Classes[i])}
		for _, j := range order {
			values = append(values, number(run.Transition.At(i, j)))
		}
		s.Rows = append(s.Rows, values)
	}
	return s
}

// confusedPairs lists the pairs of different classes that the confident joint has counted, by their share
// of the joint distribution.
func confusedPairs(run *cleaner.Run) [][]kv.Value {
	var pairs [][]kv.Value
	for _, counted := range run.ConfidentJoint.Cells {
		if i, j := counted.Row, counted.Column; i != j {
			pairs = append(pairs, []kv.Value{
				kv.StringValue(run.Classes[i]), kv.StringValue(run.Classes[j]), number(run.Transition.At(i, j)),
				number(run.Joint.At(i, j)), kv.IntValue(int64(counted.Value)),
			})
		}
	}
	slices.SortStableFunc(pairs, func(a, b []kv.Value) int { return cmp.Compare(b[3].Float(), a[3].Float()) })
	return pairs
}
