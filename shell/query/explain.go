package query

import (
	"context"
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
		{"label", kv.KindString, orNull(e.Label)}, {"suggested", kv.KindString, orNull(e.Suggestion)},
		{"score", kv.KindSingle, kv.ValueOf(e.Score)}, {"scored_as", kv.KindString, orNull(e.ScoredAs)},
		{"confidence", kv.KindSingle, kv.ValueOf(e.Confidence)},
		{"degree", kv.KindInt, kv.ValueOf(int64(e.Degree))}, {"split", kv.KindString, orNull(e.Split)},
		{"run", kv.KindInt, orNull(e.Run)}, {"decision", kv.KindString, orNull(e.Decision.String())},
		{"disputed", kv.KindBool, orNull(e.Disputed)},
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
		sectionOf("features", "Agreement features", e.Features, func(f cleaner.NamedFeature) []field {
			meaning := "prediction of the given label"
			if hop, walks := strings.CutPrefix(f.Name, "L"); walks {
				meaning = "given labels like its own over walks of length " + hop
			}
			return []field{
				{"feature", kv.KindString, kv.ValueOf(f.Name)}, {"value", kv.KindSingle, kv.ValueOf(f.Value)},
				{"meaning", kv.KindString, kv.ValueOf(meaning)},
			}
		}),
		sectionOf("neighbors", "Labels of the neighbours", e.Votes, func(c cleaner.ClassShare) []field {
			return []field{
				{"class", kv.KindString, kv.ValueOf(c.Class)}, {"count", kv.KindInt, kv.ValueOf(c.Count)},
				{"share", kv.KindFloat, kv.ValueOf(c.Share)},
			}
		}),
		voiceSection("supporters", "for", e.Supporters, integerIDs),
		voiceSection("opponents", "against", e.Opponents, integerIDs),
		shareSection("counterfactual", "Score, had the label been", "score", e.Counterfactual),
		sectionOf("history", "History", e.History, func(d decide.Decision) []field {
			return someOf(decisionFields(d, integerIDs), "time", "decision", "from", "to", "who", "why")
		}),
	}
}

// voiceSection shows the neighbours that speak most for the label, or against it.
func voiceSection(key, side string, voices []cleaner.Voice, integerIDs bool) Section {
	return sectionOf(key, "Neighbours that speak most "+side+" the label", voices, func(v cleaner.Voice) []field {
		strength := v.Against
		if side == "for" {
			strength = v.For
		}
		return []field{
			{"id", idKind(integerIDs), idValue(v.ID, integerIDs)}, {"label", kv.KindString, orNull(v.Label)},
			{"predicted", kv.KindString, orNull(v.Class)}, {"confidence", kv.KindSingle, kv.ValueOf(v.Confidence)},
			{"of_given", kv.KindSingle, kv.ValueOf(v.Prediction)}, {"score", kv.KindSingle, kv.ValueOf(v.Score)},
			{"weight", kv.KindFloat, kv.ValueOf(v.Weight)}, {side, kv.KindFloat, kv.ValueOf(strength)},
		}
	})
}

func shareSection(key, title, share string, classes []cleaner.ClassShare) Section {
	return sectionOf(key, title, classes, func(c cleaner.ClassShare) []field {
		return []field{{"class", kv.KindString, kv.ValueOf(c.Class)}, {share, kv.KindSingle, kv.ValueOf(c.Share)}}
	}).cutTo(shownClasses)
}
