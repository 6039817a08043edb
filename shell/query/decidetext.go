package query

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

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

// decidedText says what was decided, such as "12 nodes relabelled".
func decidedText(kind decide.Kind, n int64) string {
	return wording.Nodes(n) + " " + wording.Decided(kind)
}

// hasTaken reports whether the suggested label of the node is its label since a decision. To reject such a node keeps
// the suggestion.
func (t *target) hasTaken() bool {
	return t.shown.Label == t.shown.Suggestion && (t.shown.Decision == decide.Accept || t.shown.Decision == decide.Relabel)
}

// keptSuggestion says of nodes with hasTaken what reject has kept.
func keptSuggestion(n int64) string {
	return wording.Count(n,
		"of them has the suggested label by now, since a decision gave it: reject keeps it, and relabel gives another",
		"of them have the suggested label by now, since decisions gave it: reject keeps it, and relabel gives another")
}

// belowThreshold counts the nodes that all before where would add to a decision by a condition on score, which takes
// suspects above the threshold only, whatever the limit. It is -1 of other decisions.
func (q *query) belowThreshold(ctx context.Context, s *decideStatement) (int64, error) {
	if s.where == nil || s.all {
		return -1, nil
	}
	again := &query{Options: q.Options, store: q.store, resolver: newResolver(ctx, q.tx, q.Options, q.args)}
	where, err := again.predicate(s.where)
	if err != nil || !slices.Contains(index.Properties(where), cleaner.ScoreColumn) {
		return -1, err
	}
	var counts [2]int64 // without all and with it
	for i, all := range []bool{false, true} {
		find, err := again.decisionQuery(&decideStatement{kind: s.kind, where: s.where, all: all})
		if err != nil {
			return -1, err
		}
		plan, err := index.NewPlan(q.tx, find)
		if err != nil {
			return -1, again.locate(err)
		}
		if counts[i], err = plan.Count(ctx); err != nil {
			return -1, err
		}
	}
	return counts[1] - counts[0], nil
}

// name is how the statement begins, such as relabel 'Theory'.
func (s *decideStatement) name() string {
	if s.label == nil {
		return s.kind.String()
	}
	return s.kind.String() + " " + s.label.String()
}

// remarkBelow says what belowThreshold has counted, of a decision that takes some nodes or none; "" if that is nothing
// to say.
func (q *query) remarkBelow(s *decideStatement, below int64, none bool) (string, error) {
	if s.where == nil || s.all || !none && (below <= 0 || s.limit != nil) {
		return "", nil
	}
	run, err := q.newestRun()
	if err != nil {
		return "", err
	}
	takes := s.name() + " all where … takes " + map[bool]string{true: "it", false: "them"}[below == 1]
	if !none {
		return fmt.Sprintf("this takes suspects above the threshold %.4g only: %s the condition, and %s", run.Threshold,
			wording.Count(below, "more node meets", "more nodes meet"), takes), nil
	}
	text := fmt.Sprintf("nothing is decided: no suspect above the threshold %.4g meets the condition", run.Threshold)
	switch {
	case below < 0:
		text += "; all before where takes other nodes too"
	case below == 0:
		text += ", nor does another node that is left"
	default:
		text += fmt.Sprintf(", but %s: %s", wording.Count(below, "other node does", "other nodes do"), takes)
	}
	return text, nil
}
