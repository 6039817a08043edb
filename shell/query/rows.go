package query

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A rowQuery is a list of rows that are not nodes, with its clauses.
type rowQuery struct {
	find    index.Query
	columns []ColumnInfo // of the answer
	read    []ColumnInfo // of the rows: those of the answer, and then those that condition and order need beside them
	holds   func(value func(property string) (kv.Value, error)) (bool, error)
}

// rowQuery resolves clauses. Names are the columns of the answer if the clauses do not say, and all those of *.
func (q *query) rowQuery(c clauses, names, all []string) (*rowQuery, error) {
	r := &rowQuery{}
	var err error
	if r.find, err = q.query(c); err != nil {
		return nil, err
	}
	if r.columns, err = q.returned(c.returned, names, all); err != nil {
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
		columns := map[string]index.Computed{}
		for _, c := range r.read {
			columns[c.Name] = index.Computed{Kind: c.Kind}
		}
		r.holds, err = index.Holds(nil, r.find.Where, columns)
	}
	return r, q.locate(err)
}

// answer is the Result of those rows that the condition is true of, in order. Columns are of the rows. Memory is for
// the order; 0 is a default.
func (r *rowQuery) answer(columns []ColumnInfo, rows iter.Seq2[[]kv.Value, error], memory int64) *Result {
	names := columnNames(columns)
	if r.holds != nil {
		rows = r.filtered(rows, names)
	}
	if len(r.find.Order) > 0 {
		order := rowsFrom(r.find.Order, func(o index.Order) rowOrder {
			return rowOrder{slices.Index(names, o.Property), o.Descending}
		})
		rows = sorted(rows, order, r.find.Limit, cmp.Or(memory, defaultRowBytes))
	}
	return NewResult(r.columns, project(first(rows, r.find.Limit), names, columnNames(r.columns)))
}

// filtered yields the rows that the condition is true of.
func (r *rowQuery) filtered(rows iter.Seq2[[]kv.Value, error], names []string) iter.Seq2[[]kv.Value, error] {
	return func(yield func([]kv.Value, error) bool) {
		for row, err := range rows {
			ok := err != nil
			if !ok {
				ok, err = r.holds(func(property string) (kv.Value, error) { return row[slices.Index(names, property)], nil })
			}
			if (ok || err != nil) && !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// sorted yields rows in order: at least so many as there are at most, or all if most is −1. Rows that are equal in the
// order stay as they were. If memory, in bytes, does not hold the rows that may be wanted, that is an error.
func sorted(rows iter.Seq2[[]kv.Value, error], order []rowOrder, most int, memory int64) iter.Seq2[[]kv.Value, error] {
	return func(yield func([]kv.Value, error) bool) {
		var kept [][]kv.Value
		bytes := int64(0) // of those that are kept
		sort := func() {
			slices.SortStableFunc(kept, func(a, b []kv.Value) int { return compareRows(order, a, b) })
		}
		for row, err := range rows {
			if err == nil {
				kept = append(kept, row)
				bytes += bytesOf(kept[len(kept)-1:])
			}
			if bytes > max(memory, leastRowBytes) {
				if sort(); most >= 0 {
					kept = slices.Clone(kept[:min(most, len(kept))])
				}
				if bytes = bytesOf(kept); bytes > max(memory, leastRowBytes)/2 {
					err = fmt.Errorf("memory does not hold the order of more than %d rows: ask for fewer with where or limit, or "+
						"give more --memory", len(kept))
				}
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
		sort()
		eachOf(kept)(yield)
	}
}

// compareRows orders two rows. Null is last in either direction.
func compareRows(order []rowOrder, a, b []kv.Value) int {
	for _, o := range order {
		x, y := a[o.column], b[o.column]
		switch {
		case x == y:
			continue
		case x.IsNull():
			return 1
		case y.IsNull():
			return -1
		}
		if o.descending {
			x, y = y, x
		}
		if c := index.CompareValues(x, y); c != 0 {
			return c
		}
	}
	return 0
}

// project yields the wanted ones of the values of rows, whose columns have names. The first error is the end.
func project(rows iter.Seq2[[]kv.Value, error], names, wanted []string) iter.Seq2[[]kv.Value, error] {
	places := make([]int, len(wanted))
	for i, name := range wanted {
		places[i] = slices.Index(names, name)
	}
	return func(yield func([]kv.Value, error) bool) {
		for row, err := range rows {
			if err != nil {
				yield(nil, err)
				return
			}
			some := make([]kv.Value, len(places))
			for i, place := range places {
				some[i] = row[place]
			}
			if !yield(some, nil) {
				return
			}
		}
	}
}

// first yields the first of some things, at most so many, or all if most is −1.
func first[T any](all iter.Seq2[T, error], most int) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		left := most
		if left == 0 {
			return
		}
		for one, err := range all {
			if left--; !yield(one, err) || err != nil || left == 0 {
				return
			}
		}
	}
}

// A rowOrder is a place in the order of rows: by one of their values.
type rowOrder struct {
	column     int
	descending bool
}
