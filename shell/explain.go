package shell

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// explainScore answers explain. Its rows are the sections one after another: what is explained, its name, and
// its number.
func (q *query) explainScore(ctx context.Context, s *explainStatement) (*Result, error) {
	v, err := q.findNode(s.id)
	if err != nil {
		return nil, err
	}
	e, err := cleaner.Explain(ctx, q.tx, v, ops.Options{Workers: q.engine.workers, MemoryBudget: q.engine.memory})
	if err != nil {
		return nil, err
	}
	if e.Incomplete != "" {
		q.notices = append(q.notices, e.Incomplete)
	}
	sections := explanationSections(e)
	columns := []ColumnInfo{{"section", kv.KindString}, {"name", kv.KindString}, {"value", kv.KindNull}, {"count", kv.KindInt}}
	var rows [][]kv.Value
	for _, part := range []struct {
		name  string
		of    section
		value int // column of the section, and of count, 0 for none
		count int
	}{
		{"node", sections[0], 1, 0}, {"prediction", sections[1], 1, 0}, {"feature", sections[2], 1, 0},
		{"neighbors", sections[3], 2, 1}, {"counterfactual", sections[4], 1, 0},
	} {
		for _, values := range part.of.rows {
			count := kv.Value{}
			if part.count > 0 {
				count = values[part.count]
			}
			rows = append(rows, []kv.Value{kv.StringValue(part.name), values[0], values[part.value], count})
		}
	}
	r := inMemory(columns, rows)
	r.sections = slices.DeleteFunc(sections, func(s section) bool { return len(s.rows) == 0 })
	r.object = explanationObject(e, q.tx.IntegerIDs())
	return r, nil
}

// explanationSections lays an explanation out for reading.
func explanationSections(e *cleaner.Explanation) []section {
	node := section{title: explanationTitle(e), columns: recordColumns}
	for _, f := range []field{
		{name: "label", value: text(e.Given)}, {name: "suggested", value: text(e.Suggested)},
		{name: "score", value: number(e.Score)}, {name: "confidence", value: number(e.Confidence)},
		{name: "degree", value: kv.IntValue(int64(e.Degree))}, {name: "split", value: text(e.Split)},
		{name: "run", value: runNumber(e.Run)},
	} {
		node.rows = append(node.rows, []kv.Value{kv.StringValue(f.name), f.value})
	}
	features := section{title: "Agreement features", columns: []ColumnInfo{
		{"feature", kv.KindString}, {"value", kv.KindFloat}, {"meaning", kv.KindString},
	}}
	sampled := slices.ContainsFunc(e.Features, func(f cleaner.NamedFeature) bool { return f.StandardError > 0 })
	if sampled {
		features.columns = slices.Insert(features.columns, 2, ColumnInfo{"error", kv.KindFloat})
	}
	for _, f := range e.Features {
		row := []kv.Value{kv.StringValue(f.Name), number(f.Value), text(featureMeaning(f.Name))}
		if sampled {
			row = slices.Insert(row, 2, number(f.StandardError))
		}
		features.rows = append(features.rows, row)
	}
	neighbors := "Labels of the neighbours"
	if e.Direction != kv.Both {
		neighbors += ", direction " + e.Direction.String()
	}
	votes := section{title: neighbors, columns: []ColumnInfo{
		{"class", kv.KindString}, {"count", kv.KindInt}, {"share", kv.KindFloat},
	}}
	for _, c := range e.Votes {
		votes.rows = append(votes.rows, []kv.Value{kv.StringValue(c.Class), kv.IntValue(c.Count), number(c.Share)})
	}
	return []section{
		node,
		shareSection("Predicted classes", "probability", e.TopClasses),
		features,
		votes,
		shareSection("Score, had the label been", "score", e.Counterfactual),
	}
}

// runNumber is null for a node that was never scored.
func runNumber(run int64) kv.Value {
	if run == 0 {
		return kv.Value{}
	}
	return kv.IntValue(run)
}

func explanationTitle(e *cleaner.Explanation) string {
	title := "Node " + e.ID
	if e.Given == "" {
		return title + ", not labelled"
	}
	return title + ", labelled " + e.Given
}

func shareSection(title, share string, classes []cleaner.ClassShare) section {
	s := section{title: title, columns: []ColumnInfo{{"class", kv.KindString}, {share, kv.KindFloat}}}
	for _, c := range classes {
		s.rows = append(s.rows, []kv.Value{kv.StringValue(c.Class), number(c.Share)})
	}
	return s
}

// featureMeaning puts P0, P1 … L1 … into words.
func featureMeaning(feature string) string {
	hop := strings.TrimLeft(feature, "PL")
	switch {
	case feature == "P0":
		return "prediction of the given label"
	case hop == feature || hop == "":
		return ""
	case feature[0] == 'P':
		return fmt.Sprintf("predictions of the given label over walks of length %s", hop)
	default:
		return fmt.Sprintf("given labels like its own over walks of length %s", hop)
	}
}

// A jsonFloat is null in JSON where it is no finite number.
type jsonFloat float64

// MarshalJSON writes the number or null.
func (f jsonFloat) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(f)) || math.IsInf(float64(f), 0) {
		return []byte("null"), nil
	}
	return []byte(exact(kv.FloatValue(float64(f)), kv.KindNull)), nil
}

type jsonShare struct {
	Class string    `json:"class"`
	Share jsonFloat `json:"share"`
}

type jsonVote struct {
	Class string    `json:"class"`
	Count int64     `json:"count"`
	Share jsonFloat `json:"share"`
}

type jsonFeature struct {
	Name  string    `json:"name"`
	Value jsonFloat `json:"value"`
	Error float64   `json:"error,omitempty"` // standard error, where diagonals were sampled
}

type jsonScore struct {
	Class string    `json:"class"`
	Score jsonFloat `json:"score"`
}

type jsonExplanation struct {
	ID             any           `json:"id"` // as elsewhere: a number where all ids are integers
	Label          *string       `json:"label"`
	Suggested      *string       `json:"suggested"`
	Score          jsonFloat     `json:"score"`
	Confidence     jsonFloat     `json:"confidence"`
	Degree         int           `json:"degree"`
	Split          *string       `json:"split"`
	Run            *int64        `json:"run"`
	Predictions    []jsonShare   `json:"predictions"`
	Features       []jsonFeature `json:"features"`
	Direction      string        `json:"direction,omitempty"` // of neighbors and features, where it is one
	Neighbors      []jsonVote    `json:"neighbors"`
	Counterfactual []jsonScore   `json:"counterfactual"`
	Incomplete     string        `json:"incomplete,omitempty"` // why features or counterfactual are missing
}

// explanationObject lays an explanation out for JSON.
func explanationObject(e *cleaner.Explanation, integerIDs bool) jsonExplanation {
	var id any = e.ID
	if integerIDs {
		id = json.Number(e.ID)
	}
	o := jsonExplanation{
		ID: id, Label: present(e.Given), Suggested: present(e.Suggested), Score: jsonFloat(e.Score),
		Confidence: jsonFloat(e.Confidence), Degree: e.Degree, Split: present(e.Split), Run: present(e.Run),
		Predictions: []jsonShare{}, Features: []jsonFeature{}, Neighbors: []jsonVote{}, Counterfactual: []jsonScore{},
		Incomplete: e.Incomplete,
	}
	if e.Direction != kv.Both {
		o.Direction = e.Direction.String()
	}
	for _, c := range e.TopClasses {
		o.Predictions = append(o.Predictions, jsonShare{c.Class, jsonFloat(c.Share)})
	}
	for _, f := range e.Features {
		o.Features = append(o.Features, jsonFeature{f.Name, jsonFloat(f.Value), f.StandardError})
	}
	for _, c := range e.Votes {
		o.Neighbors = append(o.Neighbors, jsonVote{c.Class, c.Count, jsonFloat(c.Share)})
	}
	for _, c := range e.Counterfactual {
		o.Counterfactual = append(o.Counterfactual, jsonScore{c.Class, jsonFloat(c.Share)})
	}
	return o
}

// present is nil for what is not there.
func present[T string | int64](v T) *T {
	var none T
	if v == none {
		return nil
	}
	return &v
}
