package query

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
)

// historyColumns are what is told of past decisions.
var historyColumns = []string{
	"seq", "step", "time", "id", "decision", "from", "to", "who", "why", "run", "score", "undoes", "disputed",
}

// history answers history, oldest first.
func (q *query) history(ctx context.Context, s *historyStatement) (*Result, error) {
	if s.id == nil {
		return q.decisionRows(decide.History(ctx, q.tx, kv.NoNode), historyColumns), nil
	}
	v, err := q.findNode(*s.id)
	if err == nil {
		return q.decisionRows(decide.History(ctx, q.tx, v), historyColumns), nil
	}
	if !errors.Is(err, kv.ErrNotFound) {
		return nil, err
	}
	id, wrong := q.value(*s.id)
	if wrong != nil {
		return nil, wrong
	}
	entries := q.entriesOf(ctx, id.String())
	for _, wrong := range entries {
		if wrong != nil {
			return nil, wrong
		}
		q.notices = append(q.notices, fmt.Sprintf("node %s was removed; the decisions about it stay", Quote(id.String())))
		return q.decisionRows(entries, historyColumns), nil
	}
	return nil, err
}

// entriesOf yields the entries about nodes that have had an id, of the whole history.
func (q *query) entriesOf(ctx context.Context, id string) iter.Seq2[decide.Decision, error] {
	return func(yield func(decide.Decision, error) bool) {
		for d, err := range decide.History(ctx, q.tx, kv.NoNode) {
			if err == nil && d.ID != id {
				continue
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

// entriesTable is the Result of the entries that a statement wrote. Nobody may ever range over it, and so it holds no snapshot:
// its rows are read in one of their own.
func (q *query) entriesTable(ctx context.Context, entries decide.Entries, names []string) *Result {
	store := q.store
	return q.decisionRows(func(yield func(decide.Decision, error) bool) {
		tx := store.Begin()
		defer tx.Close()
		if err := tx.Err(); err != nil {
			yield(decide.Decision{}, err)
			return
		}
		removed, err := tx.Removed()
		if err != nil {
			yield(decide.Decision{}, err)
			return
		}
		for d, err := range entries.Read(ctx, tx) {
			if d.Undoes != 0 && removed.Has(d.Node) {
				d.From, d.To = "", "" // no label has moved
			}
			if !yield(d, err) {
				return
			}
		}
	}, names)
}

// decisionRows is the Result of decisions, with the fields that names lists of each.
func (q *query) decisionRows(decisions iter.Seq2[decide.Decision, error], names []string) *Result {
	integerIDs := q.tx.IntegerIDs()
	var columns []ColumnInfo
	for _, f := range decisionFields(decide.Decision{}, integerIDs) {
		if slices.Contains(names, f.name) {
			columns = append(columns, ColumnInfo{Name: f.name, Kind: f.kind})
		}
	}
	return NewResult(columns, func(yield func([]kv.Value, error) bool) {
		for d, err := range decisions {
			if err != nil {
				yield(nil, err)
				return
			}
			values := make([]kv.Value, 0, len(columns))
			for _, f := range decisionFields(d, integerIDs) {
				if slices.Contains(names, f.name) {
					values = append(values, f.value)
				}
			}
			if !yield(values, nil) {
				return
			}
		}
	})
}

// decisionFields are all that is said of a decision.
func decisionFields(d decide.Decision, integerIDs bool) []field {
	return []field{
		{"seq", kv.KindInt, kv.IntValue(d.Seq)},
		{"step", kv.KindInt, kv.IntValue(d.Step)},
		{"time", kv.KindString, kv.StringValue(d.Time.UTC().Format(time.RFC3339Nano))},
		{"id", idKind(integerIDs), idValue(d.ID, integerIDs)},
		{"decision", kv.KindString, kv.StringValue(d.Kind.String())},
		{"from", kv.KindString, text(d.From)},
		{"to", kv.KindString, text(d.To)},
		{"who", kv.KindString, text(d.Who)},
		{"why", kv.KindString, text(d.Why)},
		{"run", kv.KindInt, ordinal(d.Run)},
		{"score", kv.KindSingle, number(d.Score)},
		{"undoes", kv.KindInt, ordinal(d.Undoes)},
		{"disputed", kv.KindBool, flag(d.Disputed)},
	}
}

// flag is true, or null.
func flag(set bool) kv.Value {
	if !set {
		return kv.Value{}
	}
	return kv.BoolValue(true)
}

// idKind is the kind of the column id.
func idKind(integer bool) kv.Kind {
	if integer {
		return kv.KindInt
	}
	return kv.KindString
}

// idValue is an id as the column id has it.
func idValue(id string, integer bool) kv.Value {
	if n, err := strconv.ParseInt(id, 10, 64); integer && err == nil {
		return kv.IntValue(n)
	}
	return kv.StringValue(id)
}
