package shell

import (
	"iter"
	"math"

	"github.com/graphcleaner/graphcleaner/kv"
)

// A Result is the answer to one statement: named columns and a stream of rows.
type Result struct {
	columns []ColumnInfo
	rows    iter.Seq2[[]kv.Value, error]
	reads   bool   // the rows are read from the snapshot of the query while they are ranged over
	release func() // gives back what the rows are read from; may be nil
	notices []string
	cost    func() string
	Layout
}

// A layout says how a Result is printed where that is not a table of its rows.
type Layout struct {
	Record   bool      // one row, which tables print downwards and JSON as an object of its own
	Bare     bool      // tables print the cells alone, for text of several lines
	Sections []Section // what tables and markdown print instead of the rows
	Object   any       // what JSON prints instead of the rows
}

// ColumnInfo describes one column of a Result.
type ColumnInfo struct {
	Name string
	// Kind is the kind of the stored property: KindSingle values are read as floats, KindClass ones as strings.
	// KindNull means that values of several kinds occur.
	Kind kv.Kind
}

// A section is a small table under a title.
type Section struct {
	Title   string
	Columns []ColumnInfo
	Rows    [][]kv.Value
}

// Columns describes the columns, in the order of Row.Values. The caller must not change it.
func (r *Result) Columns() []ColumnInfo { return r.columns }

// Notices are remarks on the answer for a reader: the threshold that a guarantee came to, a class that
// no node has. Most answers have none.
func (r *Result) Notices() []string { return r.notices }

// Cost says what it took to find the rows, once they were read. It is "" where that is not known.
func (r *Result) Cost() string {
	if r.cost == nil {
		return ""
	}
	return r.cost()
}

// Rows yields the rows in order, each as soon as it is known. On failure it yields a zero Row with the
// error, once, and stops; cancelling the context of the Query is such a failure. Rows can be ranged over
// once: the end of the loop, however it comes, closes the Result.
func (r *Result) Rows() iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		defer r.Close()
		for values, err := range r.rows {
			if err != nil {
				yield(Row{}, err)
				return
			}
			if !yield(Row{Values: values, columns: r.columns}, nil) {
				return
			}
		}
	}
}

// Close releases what the rows are read from. It is needed only for a Result whose Rows are never ranged
// over, and harmless otherwise.
func (r *Result) Close() {
	if r.release != nil {
		r.release()
		r.release = nil
	}
}

// A Row is one row of a Result. Values is the caller's to keep.
type Row struct {
	Values  []kv.Value
	columns []ColumnInfo
}

// Value returns the value of a column by name, null where the result has no such column.
func (r Row) Value(column string) kv.Value {
	for i, c := range r.columns {
		if c.Name == column {
			return r.Values[i]
		}
	}
	return kv.Value{}
}

// Text returns a value as it is printed; null is "".
func (r Row) Text(column string) string { return r.Value(column).String() }

// Float returns a number, NaN where the value is null or no number.
func (r Row) Float(column string) float64 {
	v := r.Value(column)
	if v.Kind() != kv.KindInt && v.Kind() != kv.KindFloat {
		return math.NaN()
	}
	return v.Float()
}

// Int returns an integer, 0 where the value is null or no integer.
func (r Row) Int(column string) int64 {
	v := r.Value(column)
	if v.Kind() != kv.KindInt {
		return 0
	}
	return v.Int()
}

// NewResult is a Result of rows that are read while they are ranged over. Each has a value for every column. Rows end with
// the first error.
func NewResult(columns []ColumnInfo, rows iter.Seq2[[]kv.Value, error]) *Result {
	return &Result{columns: columns, rows: rows}
}

// NewTable is a Result of rows that are known already.
func NewTable(columns []ColumnInfo, rows [][]kv.Value) *Result {
	return NewResult(columns, func(yield func([]kv.Value, error) bool) {
		for _, values := range rows {
			if !yield(values, nil) {
				return
			}
		}
	})
}

// A field is one property of a record.
type field struct {
	name  string
	kind  kv.Kind
	value kv.Value
}

// recordOf is the Result of one thing with its properties.
func recordOf(fields []field) *Result {
	columns, values := make([]ColumnInfo, len(fields)), make([]kv.Value, len(fields))
	for i, f := range fields {
		columns[i], values[i] = ColumnInfo{Name: f.name, Kind: f.kind}, f.value
	}
	r := NewTable(columns, [][]kv.Value{values})
	r.Record = true
	return r
}

// number is a float, null where it is NaN.
func number(f float64) kv.Value {
	if math.IsNaN(f) {
		return kv.Value{}
	}
	return kv.FloatValue(f)
}

// text is a string, null where it is empty.
func text(s string) kv.Value {
	if s == "" {
		return kv.Value{}
	}
	return kv.StringValue(s)
}

func columnNames(columns []ColumnInfo) []string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	return names
}
