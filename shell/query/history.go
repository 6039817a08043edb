package query

import (
	"context"
	"iter"
	"slices"
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

// historyColumnsOf describes the columns of a history.
func historyColumnsOf(tx *kv.Tx) []ColumnInfo {
	return columnsOf(decisionFields(decide.Decision{}, tx.Shape().IntegerIDs))
}

// ofHistory makes names those of the columns of the history.
func (q *query) ofHistory() {
	q.alone, q.columns, q.moments = true, historyColumnsOf(q.tx), "time"
}

// historyRows are the entries about a node, or with kv.NoNode all.
func (q *query) historyRows(ctx context.Context, node kv.NodeID) iter.Seq2[[]kv.Value, error] {
	return decisionRows(decide.History(ctx, q.tx, node), q.tx.Shape().IntegerIDs)
}

// decisionRows have the values of historyColumns.
func decisionRows(decisions iter.Seq2[decide.Decision, error], integerIDs bool) iter.Seq2[[]kv.Value, error] {
	return func(yield func([]kv.Value, error) bool) {
		for d, err := range decisions {
			if !yield(valuesOf(decisionFields(d, integerIDs)), err) || err != nil {
				return
			}
		}
	}
}

// madeTable is the Result of the decisions that a statement made.
func (q *query) madeTable(made []decide.Decision, names []string) (*Result, error) {
	removed, err := q.tx.Removed()
	if err != nil {
		return nil, err
	}
	columns := slices.DeleteFunc(historyColumnsOf(q.tx),
		func(c ColumnInfo) bool { return !slices.Contains(names, c.Name) })
	decisions := func(yield func(decide.Decision, error) bool) {
		for _, d := range made {
			if d.Undoes != 0 && removed.Has(d.Node) {
				d.From, d.To = "", "" // no label has moved
			}
			if !yield(d, nil) {
				return
			}
		}
	}
	rows := decisionRows(decisions, q.tx.Shape().IntegerIDs)
	r := NewResult(columns, project(rows, historyColumns, columnNames(columns)))
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
		{"from", kv.KindString, text(d.From)},
		{"to", kv.KindString, text(d.To)},
		{"who", kv.KindString, text(d.Who)},
		{"why", kv.KindString, text(d.Why)},
		{"run", kv.KindInt, ordinal(d.Run)},
		{"score", kv.KindSingle, kv.ValueOf(d.Score)},
		{"undoes", kv.KindInt, ordinal(d.Undoes)},
		{"disputed", kv.KindBool, flag(d.Disputed)},
	}
}

// timeText is the time of a decision. All have as many digits, so that their order as text is that of the times.
func timeText(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// flag is true, or null.
func flag(set bool) kv.Value {
	if !set {
		return kv.Value{}
	}
	return kv.ValueOf(true)
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
		return kv.ValueOf(n)
	}
	return kv.ValueOf(id)
}
