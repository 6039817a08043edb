package query

import (
	"bytes"
	"encoding/json"
	"iter"
	"math"
	"strconv"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A Result is the answer to one statement: columns with names and a stream of rows.
type Result struct {
	columns []ColumnInfo
	rows    iter.Seq2[[]kv.Value, error]
	notices []string
	entries decide.Entries
	Layout
}

// A Layout says how a Result is printed if it is more than a table of its rows.
type Layout struct {
	Record   bool      // there is one row: tables print it downwards, JSON as an object of its own
	Bare     bool      // tables print the cells alone, which are texts of several lines
	Sections []Section // tables and markdown print these instead of the rows
	Object   any       // JSON prints this instead of the rows
}

// ColumnInfo describes one column of a Result.
type ColumnInfo struct {
	Name string
	// Kind is the kind of the stored property. Values of KindSingle are read as floats, values of KindClass as strings.
	// A column of KindNull has values of several kinds.
	Kind kv.Kind
}

// A Section is a small table under a title.
type Section struct {
	Title   string
	Columns []ColumnInfo
	Rows    [][]kv.Value
}

// Columns describes the columns, in the order of the values of a row. The caller must not change them.
func (r *Result) Columns() []ColumnInfo { return r.columns }

// Notices returns remarks on the answer for a reader, such as the threshold that a guarantee came to. Most answers have
// none.
func (r *Result) Notices() []string { return r.notices }

// Entries are those that a decision or an undo has added to the history. Their Steps are 0 if there are none.
func (r *Result) Entries() decide.Entries { return r.entries }

// Rows yields the rows in order, each as soon as it is known. The values are in the order of Columns, and the caller may
// keep and change them. On failure Rows yields the error, and stops. The end of the context or the transaction that the
// statement was given is a failure too. Rows can be ranged over once. A Result whose Rows are never ranged over holds
// nothing.
func (r *Result) Rows() iter.Seq2[[]kv.Value, error] { return r.rows }

// NewResult makes a Result of rows that are read while they are ranged over. Each row has a value for every column. The
// first error is the end of the rows.
func NewResult(columns []ColumnInfo, rows iter.Seq2[[]kv.Value, error]) *Result {
	return &Result{columns: columns, rows: rows}
}

// NewTable makes a Result of rows that are known already.
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
	r := NewTable(columnsOf(fields), [][]kv.Value{valuesOf(fields)})
	r.Record = true
	return r
}

func columnsOf(fields []field) []ColumnInfo {
	return rowsFrom(fields, func(f field) ColumnInfo { return ColumnInfo{Name: f.name, Kind: f.kind} })
}

func valuesOf(fields []field) []kv.Value {
	return rowsFrom(fields, func(f field) kv.Value { return f.value })
}

// rowsFrom makes a row, or a part of one, of each of some things.
func rowsFrom[T, R any](things []T, row func(T) R) (rows []R) {
	for _, thing := range things {
		rows = append(rows, row(thing))
	}
	return rows
}

// number is a float, null if it is NaN.
func number(f float64) kv.Value {
	if math.IsNaN(f) {
		return kv.Value{}
	}
	return kv.ValueOf(f)
}

// text is a string, null if it is empty.
func text(s string) kv.Value {
	if s == "" {
		return kv.Value{}
	}
	return kv.ValueOf(s)
}

func columnNames(columns []ColumnInfo) []string {
	return rowsFrom(columns, func(c ColumnInfo) string { return c.Name })
}

// Exact prints a value of a column so that the same value is read from the text again. In a column of several kinds, a
// float that was a single is printed as one.
func Exact(v kv.Value, kind kv.Kind) string {
	if v.Kind() != kv.KindFloat {
		return v.String()
	}
	f, bits := v.Float(), 64
	if kind == kv.KindSingle || kind == kv.KindNull && float64(float32(f)) == f {
		bits = 32
	}
	if size := math.Abs(f); size >= 1e-6 && size < 1e21 || size == 0 {
		return strconv.FormatFloat(f, 'f', -1, bits)
	}
	return strconv.FormatFloat(f, 'g', -1, bits)
}

// An object is an object of JSON, with its members in order.
type object []member

type member struct {
	name  string
	value any
}

// MarshalJSON writes the members, strings as they are.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := encoder.Encode(m.name); err != nil {
			return nil, err
		}
		b.WriteByte(':')
		if err := encoder.Encode(m.value); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// objectOf is an object of fields.
func objectOf(fields []field) (o object) {
	for _, f := range fields {
		o = append(o, member{f.name, jsonOf(f.value)})
	}
	return o
}

// objects are rows, with the names of their columns; one of "" is left out.
func objects(rows [][]kv.Value, names ...string) []object {
	all := make([]object, len(rows))
	for i, row := range rows {
		for j, name := range names {
			if name == "" {
				continue
			}
			all[i] = append(all[i], member{name, jsonOf(row[j])})
		}
	}
	return all
}

// jsonOf is a value for JSON, which has no number for NaN and the infinities: they are null.
func jsonOf(v kv.Value) any {
	switch {
	case v.IsNull(), v.Kind() == kv.KindFloat && (math.IsNaN(v.Float()) || math.IsInf(v.Float(), 0)):
		return nil
	case v.Kind() == kv.KindString:
		return v.Str()
	default:
		return json.RawMessage(Exact(v, kv.KindNull))
	}
}
