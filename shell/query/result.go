package query

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// A Result is the answer to one statement: columns with names and a stream of rows.
type Result struct {
	columns []ColumnInfo
	rows    iter.Seq2[[]kv.Value, error]
	notices []string
	slow    bool
	entries decide.Entries
	cost    func() string
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

// Columns describes the columns, in the order of Row.Values. The caller must not change them.
func (r *Result) Columns() []ColumnInfo { return r.columns }

// Notices returns remarks on the answer for a reader, such as the threshold that a guarantee came to. Most answers have
// none. Once the rows were read, there may be one more, which says why there are none.
func (r *Result) Notices() []string { return r.notices }

// Slow says that Options.RescoreWithin did not suffice.
func (r *Result) Slow() bool { return r.slow }

// Entries are those that a decision or an undo has added to the history. Their Steps are 0 if there are none.
func (r *Result) Entries() decide.Entries { return r.entries }

// Cost says what finding the rows took: index entries, rows and blocks. Call it when the rows were read. Some answers
// have "".
func (r *Result) Cost() string {
	if r.cost == nil {
		return ""
	}
	return r.cost()
}

// Rows yields the rows in order, each as soon as it is known. On failure it yields a zero Row with the error, and
// stops. The end of the context or the transaction that the statement was given is a failure too. Rows can be ranged
// over once. A Result whose Rows are never ranged over holds nothing. The function Rows yields Go values instead.
func (r *Result) Rows() iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for values, err := range r.rows {
			if err != nil {
				yield(Row{}, err)
				return
			}
			if !yield(Row{values}, nil) {
				return
			}
		}
	}
}

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

// Rows yields the rows of a result as Go values. It takes what Query and Exec return:
//
//	type suspect struct {
//		ID, Label, Suggested string
//		Score                float64
//		OldStyle             *bool `query:"old style"`
//	}
//	for s, err := range query.Rows[suspect](query.Query(ctx, tx, query.Options{}, "suspects where score > $1", 0.9)) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(s.ID, s.Suggested)
//	}
//
// T is a struct, or the type of the one column. The exported fields of a struct have the names of columns in any case,
// or a tag with the name. The rows may have more columns. Whether they have all that T names is known before the first
// row.
//
// Texts go into strings, integers into integers, floats and, because ids are integers in some stores, strings. Numbers
// go into floats, truths into bools. Null goes into pointers, and any value into a kv.Value. Everything else, and a
// number that the type does not hold, is an error, which names the column. On failure Rows yields the error with a zero
// T, and stops. The error of the statement is the first.
func Rows[T any](r *Result, err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		if err != nil {
			yield(none, err)
			return
		}
		places, err := placesOf(r.columns, reflect.TypeFor[T]())
		if err != nil {
			yield(none, err)
			return
		}
		for row, err := range r.Rows() {
			var value T
			for field, column := range places {
				into := reflect.ValueOf(&value).Elem()
				if isRecord(into.Type()) {
					into = into.Field(field)
				}
				if err == nil && column >= 0 && !assign(into, row.Values[column]) {
					err = columnError(r.columns[column].Name, "got %s, which a %s cannot hold", describe(row.Values[column]), into.Type())
				}
			}
			if err != nil {
				yield(none, err)
				return
			}
			if !yield(value, nil) {
				return
			}
		}
	}
}

// A Row is one row of a Result. The caller may keep and change Values, which are in the order of Result.Columns.
type Row struct{ Values []kv.Value }

func columnError(column, format string, args ...any) error {
	return fmt.Errorf("column %s: %s", QuoteName(column), fmt.Sprintf(format, args...))
}

var valueType = reflect.TypeFor[kv.Value]()

// isRecord reports whether a type takes a row, not a value.
func isRecord(t reflect.Type) bool { return t.Kind() == reflect.Struct && t != valueType }

// placesOf are the places of the columns that the fields of a type have the names of; -1 of a field that takes none.
func placesOf(columns []ColumnInfo, t reflect.Type) (places []int, err error) {
	names := columnNames(columns)
	if !isRecord(t) {
		if len(columns) != 1 {
			return nil, fmt.Errorf("the row has %s (%s), want one for a %s, or a struct", wording.Count(len(columns), "column", "columns"), joinNames(names), t)
		}
		return []int{0}, nil
	}
	for i := range t.NumField() {
		field, place := t.Field(i), -1
		if field.IsExported() {
			name, tagged := field.Tag.Lookup("query")
			if !tagged {
				name = field.Name
			}
			place = slices.IndexFunc(names, func(column string) bool { return column == name || !tagged && strings.EqualFold(column, name) })
			if place < 0 {
				return nil, columnError(name, "the rows have no such column for the field %s of %s%s (columns: %s)",
					field.Name, t, wording.DidYouMean(strings.ToLower(name), names), joinNames(names))
			}
		}
		places = append(places, place)
	}
	return places, nil
}

// assign copies a value to a variable, and reports whether it fits.
func assign(into reflect.Value, value kv.Value) bool {
	kind, isInteger := value.Kind(), value.Kind() == kv.KindInt
	switch {
	case into.Type() == valueType:
		into.Set(reflect.ValueOf(value))
	case into.Kind() == reflect.Pointer && value.IsNull():
		into.SetZero()
	case into.Kind() == reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		return assign(into.Elem(), value)
	case into.Kind() == reflect.String && kind == kv.KindString:
		into.SetString(value.Str())
	case into.Kind() == reflect.String && isInteger:
		into.SetString(strconv.FormatInt(value.Int(), 10))
	case into.Kind() == reflect.Bool && kind == kv.KindBool:
		into.SetBool(value.Bool())
	case into.CanInt() && isInteger && !into.OverflowInt(value.Int()):
		into.SetInt(value.Int())
	case into.Kind() == reflect.Float64 && isInteger && value.Int() <= 1<<53 && value.Int() >= -1<<53:
		into.SetFloat(float64(value.Int()))
	case into.Kind() == reflect.Float64 && kind == kv.KindFloat:
		into.SetFloat(value.Float())
	default:
		return false
	}
	return true
}
