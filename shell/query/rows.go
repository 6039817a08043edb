package query

import (
	"context"
	"iter"
	"os"
	"slices"

	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/internal/spill"
	"github.com/graphcleaner/graphcleaner/kv"
)

// defaultSortBytes is the memory for the order of rows if none was set. What does not fit waits in a temporary file.
const defaultSortBytes = 64 << 20

// A rowQuery is a list of rows that are not nodes, with what its clauses ask for.
type rowQuery struct {
	find    index.Query
	columns []ColumnInfo // of the answer
	read    []ColumnInfo // what the rows must have: first the columns of the answer, then what condition and order need beside them
	holds   func(value func(property string) (kv.Value, error)) (bool, error)
}

// rowQuery resolves clauses. Names are the columns of the answer if the clauses do not say.
func (q *query) rowQuery(c clauses, names []string) (*rowQuery, error) {
	r := &rowQuery{}
	var err error
	if r.find, err = q.query(c); err != nil {
		return nil, err
	}
	if r.columns, err = q.answerColumns(c.columns, names); err != nil {
		return nil, err
	}
	needed := index.Properties(r.find.Where)
	for _, o := range r.find.Order {
		needed = append(needed, o.Property)
	}
	r.read = slices.Clone(r.columns)
	for _, n := range needed {
		column, err := q.property(name{text: n})
		if err != nil {
			return nil, err
		}
		if !slices.Contains(r.read, column) {
			r.read = append(r.read, column)
		}
	}
	if r.find.Where != nil {
		columns := make([]kv.Column, len(r.read))
		for i, c := range r.read {
			columns[i] = kv.Column{Name: c.Name, Kind: c.Kind}
		}
		r.holds, err = index.HoldsOf(columns, r.find.Where)
	}
	return r, q.locate(err)
}

// place is where rows have a property.
func (r *rowQuery) place(property string) int {
	return slices.IndexFunc(r.read, func(c ColumnInfo) bool { return c.Name == property })
}

// answer is the rows, of those with the values of read, that the condition is true of, in order. Memory is for the order; 0 is a default.
func (r *rowQuery) answer(ctx context.Context, rows iter.Seq2[[]kv.Value, error], memory int64) iter.Seq2[[]kv.Value, error] {
	if r.holds != nil {
		rows = r.filtered(rows)
	}
	if len(r.find.Order) > 0 {
		rows = r.sorted(ctx, rows, memory)
	}
	return func(yield func([]kv.Value, error) bool) {
		left := r.find.Limit
		if left == 0 {
			return
		}
		for row, err := range rows {
			if err != nil {
				yield(nil, err)
				return
			}
			if left--; !yield(row[:len(r.columns)], nil) || left == 0 {
				return
			}
		}
	}
}

// filtered yields the rows that the condition is true of.
func (r *rowQuery) filtered(rows iter.Seq2[[]kv.Value, error]) iter.Seq2[[]kv.Value, error] {
	return func(yield func([]kv.Value, error) bool) {
		for row, err := range rows {
			ok := err != nil
			if !ok {
				ok, err = r.holds(func(property string) (kv.Value, error) { return row[r.place(property)], nil })
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if ok && !yield(row, nil) {
				return
			}
		}
	}
}

// sorted yields the rows in order. Rows that are equal in it stay as they were.
func (r *rowQuery) sorted(ctx context.Context, rows iter.Seq2[[]kv.Value, error], memory int64) iter.Seq2[[]kv.Value, error] {
	if memory == 0 {
		memory = defaultSortBytes
	}
	return func(yield func([]kv.Value, error) bool) {
		sorter := spill.New(os.TempDir(), memory/4)
		defer sorter.Close() //nolint:errcheck // a temporary file that cannot be removed changes no row
		var key, values []byte
		for row, err := range rows {
			if err != nil {
				yield(nil, err)
				return
			}
			key, values = key[:0], values[:0]
			for _, o := range r.find.Order {
				key = appendOrder(key, row[r.place(o.Property)], o.Descending)
			}
			for _, v := range row {
				values = appendKey(values, v)
			}
			if err := sorter.Add(key, values); err != nil {
				yield(nil, err)
				return
			}
		}
		for record, err := range sorter.Records(ctx) {
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(cutRow(record.Value), nil) {
				return
			}
		}
	}
}

// cutRow reads values that follow each other.
func cutRow(b []byte) (row []kv.Value) {
	for len(b) > 0 {
		var v kv.Value
		v, b = cutKey(b)
		row = append(row, v)
	}
	return row
}
