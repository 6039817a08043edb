package query

import (
	"context"
	"iter"
	"strconv"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
)

// historyColumns are the names of the columns about past decisions.
var historyColumns = columnNames(columnsOf(decisionFields(decide.Decision{}, false)))

// history answers history, oldest first.
func (q *query) history(ctx context.Context, s *Statement) (*Result, error) {
	node := kv.NoNode // all
	if s.ids != nil {
		var err error
		if node, err = q.findNode(s.ids[0]); err != nil {
			return nil, err
		}
	}
	q.ofHistory()
	find, err := q.rowQuery(s.clauses, historyColumns, historyColumns)
	if err != nil {
		return nil, err
	}
	return find.answer(q.columns, q.historyRows(ctx, node), q.MemoryBudget), nil
}

// ofHistory makes names those of the columns of the history.
func (q *query) ofHistory() {
	q.alone, q.columns = true, columnsOf(decisionFields(decide.Decision{}, q.tx.Shape().IntegerIDs))
}

// historyRows are the entries about a node, or with kv.NoNode all.
func (q *query) historyRows(ctx context.Context, node kv.NodeID) iter.Seq2[[]kv.Value, error] {
	integerIDs := q.tx.Shape().IntegerIDs
	return func(yield func([]kv.Value, error) bool) {
		for d, err := range decide.History(ctx, q.tx, node) {
			if !yield(valuesOf(decisionFields(d, integerIDs)), err) || err != nil {
				return
			}
		}
	}
}

// madeTable is the Result of the decisions that a statement made, with some of their fields.
func (q *query) madeTable(made []decide.Decision, names ...string) (*Result, error) {
	removed, err := q.tx.Removed()
	if err != nil {
		return nil, err
	}
	integerIDs := q.tx.Shape().IntegerIDs
	fields := func(d decide.Decision) []field {
		if d.Undoes != 0 && removed.Has(d.Node) {
			d.From, d.To = "", "" // no label has moved
		}
		return someOf(decisionFields(d, integerIDs), names...)
	}
	r := NewResult(columnsOf(fields(decide.Decision{})), func(yield func([]kv.Value, error) bool) {
		for _, d := range made {
			if !yield(valuesOf(fields(d)), nil) {
				return
			}
		}
	})
	r.made = made
	return r, nil
}

// decisionFields are all that is said of a decision.
func decisionFields(d decide.Decision, integerIDs bool) []field {
	return []field{
		{"seq", kv.KindInt, kv.ValueOf(d.Seq)},
		{"step", kv.KindInt, kv.ValueOf(d.Step)},
		{"time", kv.KindString, kv.ValueOf(timeText(d.Time))},
		{"id", idKind(integerIDs), idValue(d.ID, integerIDs)},
		{"decision", kv.KindString, kv.ValueOf(d.Action())},
		{"from", kv.KindString, orNull(d.From)},
		{"to", kv.KindString, orNull(d.To)},
		{"who", kv.KindString, orNull(d.Who)},
		{"why", kv.KindString, orNull(d.Why)},
		{"run", kv.KindInt, orNull(d.Run)},
		{"score", kv.KindSingle, kv.ValueOf(d.Score)},
		{"undoes", kv.KindInt, orNull(d.Undoes)},
		{"disputed", kv.KindBool, orNull(d.Disputed)},
	}
}

// timeText is the time of a decision. All have as many digits, so that their order as text is that of the times.
func timeText(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

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
		return kv.ValueOf(n)
	}
	return kv.ValueOf(id)
}
