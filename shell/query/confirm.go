package query

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"iter"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// A target is a node to decide on, as the snapshot of the query shows it.
type target struct {
	node  kv.NodeID
	id    string
	score kv.Value
	shown decide.View
}

// targets reads nodes as they are shown.
func (q *query) targets(ctx context.Context, nodes nodeSequence) (iter.Seq2[target, error], error) {
	columns := []string{"id", cleaner.ScoreColumn, kv.LabelColumn, cleaner.SuggestedColumn, decide.Column,
		cleaner.RunColumn, decide.DisputedColumn}
	f, err := q.fetcher(columns)
	if err != nil {
		return nil, err
	}
	return func(yield func(target, error) bool) {
		var read []kv.NodeID // whose rows have not come yet
		rows := f.rows(ctx, func(yield func(kv.NodeID, error) bool) {
			for v, err := range nodes(ctx) {
				read = append(read, v)
				if !yield(v, err) {
					return
				}
			}
		})
		for values, err := range rows {
			if err != nil {
				yield(target{}, err)
				return
			}
			t := target{node: read[0], id: values[0].String(), score: values[1]}
			read = read[1:]
			t.shown = decide.View{Label: values[2].Str(), Suggestion: values[3].Str(), Run: values[5].Int(),
				Disputed: values[6].Bool()}
			if t.shown.Decision, err = decide.ParseColumn(values[4]); err != nil {
				err = fmt.Errorf("node %s: %w", t.id, err)
			}
			if !yield(t, err) || err != nil {
				return
			}
		}
	}, nil
}

// text says what a decision would make of the node, such as "p4: Systems → Theory, score 0.984375".
func (t *target) text(kind decide.Kind, class string) string {
	to := t.shown.Label
	switch kind {
	case decide.Accept:
		to = t.shown.Suggestion
	case decide.Relabel:
		to = class
	case decide.Unlabel:
		to = ""
	}
	text := t.id + ": " + cmp.Or(t.shown.Label, "no label")
	if to != t.shown.Label {
		text += " → " + cmp.Or(to, "no label")
	}
	if !t.score.IsNull() {
		text += fmt.Sprintf(", score %.6g", t.score.Float())
	}
	switch {
	case t.shown.Disputed:
		text += ", disputed"
	case t.shown.Decision != decide.None:
		text += ", decided: " + t.shown.Decision.String()
	}
	return text
}

// decisionText says what a decision is, such as "relabel 12 nodes as 'Theory'".
func decisionText(kind decide.Kind, n int64, class string) string {
	switch kind {
	case decide.Accept:
		return "accept the suggested labels of " + wording.Nodes(n)
	case decide.Reject:
		return "keep the given labels of " + wording.Nodes(n)
	case decide.Relabel:
		return "relabel " + wording.Nodes(n) + " as " + Quote(class)
	case decide.Unlabel:
		return "remove the labels of " + wording.Nodes(n)
	default:
		return "put " + wording.Nodes(n) + " aside as unsure"
	}
}

// maxShown is how many of the nodes of a condition are shown before the question whether to decide on them.
const maxShown = 10

// confirm asks whether to decide on some nodes. Of no nodes there is nothing to ask.
func (q *query) confirm(ctx context.Context, kind decide.Kind, class string, targets iter.Seq2[target, error]) error {
	nodes, sum := int64(0), sha256.New()
	fmt.Fprintf(sum, "%d %q\n", kind, class)
	var about Question
	for t, err := range targets {
		if err != nil {
			return err
		}
		if nodes++; nodes <= maxShown {
			about.First = append(about.First, t.text(kind, class))
		}
		fmt.Fprintf(sum, "%d %q %q %d %t %d\n", t.node, t.shown.Label, t.shown.Suggestion, t.shown.Decision, t.shown.Disputed,
			t.shown.Run)
	}
	if nodes == 0 {
		return nil
	}
	about.Text = wording.Sentence(decisionText(kind, nodes, class)) + "?"
	sum.Sum(about.Digest[:0])
	if more := nodes - int64(len(about.First)); more > 0 {
		about.First = append(about.First, fmt.Sprintf("and %d more", more))
	}
	yes, err := q.Confirm(ctx, about)
	if err == nil && !yes {
		err = fmt.Errorf("nothing is decided: %w", ErrNotConfirmed)
	}
	return err
}
