package query

import (
	"context"
	"encoding/binary"
	"iter"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/internal/floatbits"
	"github.com/graphcleaner/graphcleaner/internal/spill"
	"github.com/graphcleaner/graphcleaner/kv"
)

// defaultSortBytes is the memory for the order of rows if none was set. Rows that do not fit wait in a temporary file.
const defaultSortBytes = 64 << 20

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
func (r *rowQuery) answer(ctx context.Context, columns []ColumnInfo, rows iter.Seq2[[]kv.Value, error], memory int64) *Result {
	names := columnNames(columns)
	if r.holds != nil {
		rows = r.filtered(rows, names)
	}
	if len(r.find.Order) > 0 {
		rows = r.sorted(ctx, rows, names, memory)
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

// sorted yields the rows in order. Rows that are equal in it stay as they were.
func (r *rowQuery) sorted(ctx context.Context, rows iter.Seq2[[]kv.Value, error], names []string, memory int64) iter.Seq2[[]kv.Value, error] {
	order := make([]rowOrder, len(r.find.Order))
	for i, o := range r.find.Order {
		order[i] = rowOrder{slices.Index(names, o.Property), o.Descending}
	}
	return func(yield func([]kv.Value, error) bool) {
		sorter := newRowSorter(order, memory)
		defer sorter.Close() //nolint:errcheck // a temporary file that cannot be removed changes no row
		for row, err := range rows {
			if err == nil {
				err = sorter.add(row, nil)
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
		sorter.rows(ctx)(yield)
	}
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

// A rowSorter sorts rows. Those that memory does not hold wait in a temporary file.
type rowSorter struct {
	*spill.Sorter
	order       []rowOrder
	key, values []byte // scratch
}

func newRowSorter(order []rowOrder, memory int64) *rowSorter {
	if memory == 0 {
		memory = defaultSortBytes
	}
	return &rowSorter{Sorter: spill.New(os.TempDir(), memory/4), order: order}
}

// add takes a row. Rows that are equal in the order are ordered by tie.
func (s *rowSorter) add(row []kv.Value, tie []byte) error {
	s.key, s.values = s.key[:0], s.values[:0]
	for _, o := range s.order {
		s.key = appendOrder(s.key, row[o.column], o.descending)
	}
	for _, v := range row {
		s.values = appendKey(s.values, v)
	}
	return s.Add(append(s.key, tie...), s.values)
}

// rows yields the rows in order.
func (s *rowSorter) rows(ctx context.Context) iter.Seq2[[]kv.Value, error] {
	return func(yield func([]kv.Value, error) bool) {
		for record, err := range s.Records(ctx) {
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

// The key of a value is a byte for the kind, and the value. Keys of one property are ordered as index.CompareValues
// orders the values, those that are null last, and NaN after all numbers. No key is the beginning of another, so that
// keys can follow each other.
const (
	nullKey = math.MaxUint8 // the kind of null

	// In a text, 00 is written as 00 FF, and 00 01 ends it.
	keyEscape = 0xFF
	keyEnd    = 0x01
)

// appendKey appends the key of a value. Minus zero is equal to zero.
func appendKey(b []byte, v kv.Value) []byte {
	switch v.Kind() {
	case kv.KindNull:
		return append(b, nullKey)
	case kv.KindString:
		b = append(b, byte(v.Kind()))
		text := v.Str()
		for {
			i := strings.IndexByte(text, 0)
			if i < 0 {
				return append(append(b, text...), 0, keyEnd)
			}
			b = append(append(b, text[:i]...), 0, keyEscape)
			text = text[i+1:]
		}
	case kv.KindBool:
		bit := byte(0)
		if v.Bool() {
			bit = 1
		}
		return append(b, byte(v.Kind()), bit)
	case kv.KindInt:
		return binary.BigEndian.AppendUint64(append(b, byte(v.Kind())), uint64(v.Int())^1<<63)
	default:
		return binary.BigEndian.AppendUint64(append(b, byte(v.Kind())), floatbits.Order(v.Float()+0))
	}
}

// appendOrder appends the key of a value for a place in an order, in which null is last in either direction.
func appendOrder(b []byte, v kv.Value, descending bool) []byte {
	begin := len(b)
	b = appendKey(b, v)
	if descending && !v.IsNull() {
		for i := range b[begin+1:] {
			b[begin+1+i] = ^b[begin+1+i]
		}
	}
	return b
}

// cutKey is the inverse of appendKey. It returns the bytes after the key.
func cutKey(b []byte) (v kv.Value, rest []byte) {
	kind, b := b[0], b[1:]
	switch kv.Kind(kind) {
	case nullKey:
		return kv.Value{}, b
	case kv.KindString:
		var text strings.Builder
		for i := 0; ; i++ {
			if b[i] != 0 {
				text.WriteByte(b[i])
				continue
			}
			if i++; b[i] == keyEnd {
				return kv.ValueOf(text.String()), b[i+1:]
			}
			text.WriteByte(0)
		}
	case kv.KindBool:
		return kv.ValueOf(b[0] == 1), b[1:]
	case kv.KindInt:
		return kv.ValueOf(int64(binary.BigEndian.Uint64(b) ^ 1<<63)), b[8:]
	}
	return kv.ValueOf(floatbits.From(binary.BigEndian.Uint64(b))), b[8:]
}
