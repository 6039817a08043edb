package query

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// shownClasses is how many classes a table for reading has at most. JSON and csv have them all.
const shownClasses = 10

// explain answers explain.
func (q *query) explain(ctx context.Context, s *Statement) (*Result, error) {
	v, err := q.findNode(s.ids[0])
	if err != nil {
		return nil, err
	}
	e, err := cleaner.Explain(ctx, q.tx, v, ops.Options{Workers: q.Workers, MemoryBudget: q.MemoryBudget})
	if err != nil {
		return nil, err
	}
	q.note(e.Incomplete)
	q.showsScores = e.Run != 0
	return sectionsOf(explanationSections(e, q.tx.Shape().IntegerIDs)), nil
}

// nodeFields are the fields of an explanation about the node itself.
func nodeFields(e *cleaner.Explanation, integerIDs bool) []field {
	return []field{
		{"id", idKind(integerIDs), idValue(e.ID, integerIDs)},
		{"label", kv.KindString, text(e.Label)}, {"suggested", kv.KindString, text(e.Suggestion)},
		{"score", kv.KindSingle, kv.ValueOf(e.Score)}, {"scored_as", kv.KindString, text(e.ScoredAs)},
		{"confidence", kv.KindSingle, kv.ValueOf(e.Confidence)},
		{"degree", kv.KindInt, kv.ValueOf(int64(e.Degree))}, {"split", kv.KindString, text(e.Split)},
		{"run", kv.KindInt, ordinal(e.Run)}, {"decision", kv.KindString, text(e.Decision.String())},
		{"disputed", kv.KindBool, flag(e.Disputed)},
	}
}

// explanationSections lays an explanation out.
func explanationSections(e *cleaner.Explanation, integerIDs bool) []Section {
	title := "Node " + e.ID
	if e.Label == "" {
		title += ", not labelled"
	} else {
		title += ", labelled " + e.Label
	}
	if e.ScoredAs != "" && e.ScoredAs != e.Label {
		title += ", scored as " + e.ScoredAs
	}
	node := nodeFields(e, integerIDs)
	told := slices.DeleteFunc(slices.Clone(node), func(f field) bool {
		inTitle, ifAny := f.name == "id" || f.name == "scored_as", f.name == "decision" || f.name == "disputed"
		return inTitle || ifAny && f.value.IsNull()
	})
	reading := Section{Title: title, Columns: columnsOf(told), Rows: [][]kv.Value{valuesOf(told)}, Record: true}
	return []Section{
		{Key: "node", Columns: columnsOf(node), Rows: [][]kv.Value{valuesOf(node)}, Record: true,
			Reading: &reading},
		shareSection("predictions", "Predicted classes", "probability", e.TopClasses),
		featureSection(e),
		{Key: "neighbors", Title: "Labels of the neighbours",
			Columns: []ColumnInfo{{"class", kv.KindString}, {"count", kv.KindInt}, {"share", kv.KindFloat}},
			Rows: rowsFrom(e.Votes, func(c cleaner.ClassShare) []kv.Value {
				return []kv.Value{kv.ValueOf(c.Class), kv.ValueOf(c.Count), kv.ValueOf(c.Share)}
			})},
		voiceSection(e, true, integerIDs),
		voiceSection(e, false, integerIDs),
		shareSection("counterfactual", "Score, had the label been", "score", e.Counterfactual),
		{Key: "history", Title: "History", Columns: textColumns("time", "decision", "from", "to", "who", "why"),
			Rows: rowsFrom(e.History, func(d decide.Decision) []kv.Value {
				return []kv.Value{kv.ValueOf(timeText(d.Time)), kv.ValueOf(d.Action()), text(d.From), text(d.To), text(d.Who),
					text(d.Why)}
			})},
	}
}

func textColumns(names ...string) (columns []ColumnInfo) {
	for _, name := range names {
		columns = append(columns, ColumnInfo{name, kv.KindString})
	}
	return columns
}

// featureSection shows the agreement features.
func featureSection(e *cleaner.Explanation) Section {
	s := Section{Key: "features", Title: "Agreement features", Columns: []ColumnInfo{
		{"feature", kv.KindString}, {"value", kv.KindSingle}, {"meaning", kv.KindString},
	}}
	for _, f := range e.Features {
		s.Rows = append(s.Rows, []kv.Value{kv.ValueOf(f.Name), kv.ValueOf(f.Value), text(featureMeaning(f.Name))})
	}
	return s
}

// voiceSection shows the neighbours that speak most for the label, or against it.
func voiceSection(e *cleaner.Explanation, isFor, integerIDs bool) Section {
	key, side, voices := "opponents", "against", e.Opponents
	if isFor {
		key, side, voices = "supporters", "for", e.Supporters
	}
	return Section{Key: key, Title: "Neighbours that speak most " + side + " the label", Columns: []ColumnInfo{
		{"id", idKind(integerIDs)}, {"label", kv.KindString}, {"predicted", kv.KindString},
		{"confidence", kv.KindSingle}, {"of_given", kv.KindSingle}, {"score", kv.KindSingle}, {"weight", kv.KindFloat},
		{side, kv.KindFloat},
	}, Rows: rowsFrom(voices, func(v cleaner.Voice) []kv.Value {
		strength := v.Against
		if isFor {
			strength = v.For
		}
		return []kv.Value{
			idValue(v.ID, integerIDs), text(v.Label), text(v.Class), kv.ValueOf(v.Confidence),
			kv.ValueOf(v.Prediction), kv.ValueOf(v.Score), kv.ValueOf(v.Weight), kv.ValueOf(strength),
		}
	})}
}

// ordinal is a number that counts from 1, such as that of a run; null if there is none.
func ordinal(n int64) kv.Value {
	if n == 0 {
		return kv.Value{}
	}
	return kv.ValueOf(n)
}

func shareSection(key, title, share string, classes []cleaner.ClassShare) Section {
	return Section{
		Key: key, Title: title, Columns: []ColumnInfo{{"class", kv.KindString}, {share, kv.KindSingle}},
		Rows: rowsFrom(classes, func(c cleaner.ClassShare) []kv.Value {
			return []kv.Value{kv.ValueOf(c.Class), kv.ValueOf(c.Share)}
		}),
	}.cutTo(shownClasses)
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
