package query

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
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
	read    []ColumnInfo // what the rows must have: first the values of the answer, then what condition and order need beside them

	distinct   bool
	skip, most int // of the rows of the answer; −1 is all
	holds      func(value func(property string) (kv.Value, error)) (bool, error)
}

// rowQuery resolves clauses. Names are the columns of the answer if the clauses do not say, and all those of *.
func (q *query) rowQuery(c clauses, names, all []string) (*rowQuery, error) {
	r := &rowQuery{distinct: c.distinct()}
	var err error
	if r.find, err = q.query(c); err != nil {
		return nil, err
	}
	if r.skip, r.most, err = q.cut(c.limit, c.offset); err != nil {
		return nil, err
	}
	var of []ColumnInfo
	if r.columns, of, err = q.returned(c.returned, names, all); err != nil {
		return nil, err
	}
	needed := index.Properties(r.find.Where)
	for _, o := range r.find.Order {
		needed = append(needed, o.Property)
	}
	r.read = slices.Clone(of)
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
	returned := func(yield func([]kv.Value, error) bool) {
		for row, err := range rows {
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(row[:len(r.columns)], nil) {
				return
			}
		}
	}
	if r.distinct {
		return cut(distinct(ctx, returned, memory), r.skip, r.most)
	}
	return cut(returned, r.skip, r.most)
}

// cut leaves out the first of some things, and yields those that follow, at most so many, or all if most is −1.
func cut[T any](all iter.Seq2[T, error], skip, most int) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if most == 0 {
			return
		}
		skip, most := skip, most
		for one, err := range all {
			if err == nil && skip > 0 {
				skip--
				continue
			}
			if most--; !yield(one, err) || err != nil || most == 0 {
				return
			}
		}
	}
}

// distinctBytes is about what a distinct row takes in memory beside its key.
const distinctBytes = 64

// distinct yields rows that are equal once, in the place of the first of them, at once as long as the keys of all take no more than half of
// the memory. Those of the rest wait in temporary files. 0 is a default for memory.
func distinct(ctx context.Context, rows iter.Seq2[[]kv.Value, error], memory int64) iter.Seq2[[]kv.Value, error] {
	if memory == 0 {
		memory = defaultGroupBytes
	}
	return func(yield func([]kv.Value, error) bool) {
		later := laterRows{byKey: spill.New(os.TempDir(), memory/8), byPlace: spill.New(os.TempDir(), memory/8)}
		defer later.close() //nolint:errcheck // a temporary file that cannot be removed changes no row
		seen, size := map[string]bool{}, int64(0)
		var key []byte
		for row, err := range rows {
			if err != nil {
				yield(nil, err)
				return
			}
			key = key[:0]
			for _, v := range row {
				key = appendKey(key, v)
			}
			if seen[string(key)] {
				continue
			}
			if size += distinctBytes + int64(len(key)); size > memory/2 {
				if err := later.add(key); err != nil {
					yield(nil, err)
					return
				}
				continue
			}
			seen[string(key)] = true
			if !yield(row, nil) {
				return
			}
		}
		for row, err := range later.distinct(ctx) {
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// laterRows are rows whose keys memory does not hold.
type laterRows struct {
	byKey   *spill.Sorter // their places
	byPlace *spill.Sorter // the keys of the distinct ones
}

func (l *laterRows) close() error { return errors.Join(l.byKey.Close(), l.byPlace.Close()) }

// add takes the key of the next row.
func (l *laterRows) add(key []byte) error {
	return l.byKey.Add(key, binary.BigEndian.AppendUint64(nil, uint64(l.byKey.Len())))
}

// distinct yields the rows once, in the place of the first of them.
func (l *laterRows) distinct(ctx context.Context) iter.Seq2[[]kv.Value, error] {
	return func(yield func([]kv.Value, error) bool) {
		var last []byte
		for record, err := range l.byKey.Records(ctx) {
			if err == nil && !bytes.Equal(record.Key, last) { // the first of those that are equal came first
				last = append(last[:0], record.Key...)
				err = l.byPlace.Add(record.Value, record.Key)
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
		for record, err := range l.byPlace.Records(ctx) {
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

// rowsOf yields the values of columns, of rows that have all those of the resolver.
func (r *resolver) rowsOf(rows [][]kv.Value, columns []ColumnInfo) iter.Seq2[[]kv.Value, error] {
	return func(yield func([]kv.Value, error) bool) {
		for _, row := range rows {
			some := make([]kv.Value, len(columns))
			for i, c := range columns {
				some[i] = row[slices.Index(r.columns, c)]
			}
			if !yield(some, nil) {
				return
			}
		}
	}
}
