package query

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A Result is the answer to one statement: columns with names and a stream of rows.
type Result struct {
	columns []ColumnInfo
	rows    iter.Seq2[[]kv.Value, error]
	notices []string
	made    []decide.Decision
	Layout
}

// A Layout says how a Result is printed if it is more than a table of its rows.
type Layout struct {
	Record   bool      // there is one row: tables print it downwards, JSON as an object of its own
	Bare     bool      // tables print the cells alone, which are texts of several lines
	Sections []Section // tables, markdown and JSON print these instead of the rows
	// Lists are the columns of a record that are lists of texts in JSON. The row has each as one text.
	Lists map[string][]string
}

// ColumnInfo describes one column of a Result.
type ColumnInfo struct {
	Name string
	// Kind is the kind of the stored property. Values of KindSingle are read as floats, values of KindClass as strings.
	// A column of KindNull has values of several kinds.
	Kind kv.Kind
}

// A Section is a small table under a title. JSON has it under its key, and the properties of a Record at the top.
type Section struct {
	Key, Title string
	Columns    []ColumnInfo
	Rows       [][]kv.Value
	Record     bool     // there is one row, as in Layout
	Reading    *Section // tables and markdown have it in place of this one; nil: they have this one
}

// sectionOf is the Section of some things, a row a thing.
func sectionOf[T any](key, title string, things []T, fields func(T) []field) Section {
	columns, rows := tableOf(things, fields)
	return Section{Key: key, Title: title, Columns: columns, Rows: rows}
}

// cutTo has only the first rows for reading.
func (s Section) cutTo(most int) Section {
	if len(s.Rows) > most {
		reading := s
		reading.Title += fmt.Sprintf(": the first %d of %d", most, len(s.Rows))
		reading.Rows = s.Rows[:most]
		s.Reading = &reading
	}
	return s
}

// Columns describes the columns, in the order of the values of a row. The caller must not change them.
func (r *Result) Columns() []ColumnInfo { return r.columns }

// Notices returns remarks on the answer for a reader, such as the threshold that a guarantee came to. Most answers have
// none.
func (r *Result) Notices() []string { return r.notices }

// Decisions are the entries that a decision or an undo has added to the history. The caller must not change them.
func (r *Result) Decisions() []decide.Decision { return r.made }

// Rows yields the rows in order, each as soon as it is known. The values are in the order of Columns, and the caller
// may keep and change them. On failure Rows yields the error, and stops. The end of the context or the transaction
// that the statement was given is a failure too. Rows can be ranged over once. A Result whose Rows are never ranged
// over holds nothing.
func (r *Result) Rows() iter.Seq2[[]kv.Value, error] { return r.rows }

// NewResult makes a Result of rows that are read while they are ranged over. Each row has a value for every column. The
// first error is the end of the rows.
func NewResult(columns []ColumnInfo, rows iter.Seq2[[]kv.Value, error]) *Result {
	return &Result{columns: columns, rows: rows}
}

// NewTable makes a Result of rows that are known already.
func NewTable(columns []ColumnInfo, rows [][]kv.Value) *Result {
	return NewResult(columns, eachOf(rows))
}

// eachOf yields things that are known already.
func eachOf[T any](things []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, thing := range things {
			if !yield(thing, nil) {
				return
			}
		}
	}
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

// sectionsOf is the Result of sections. Its rows are their values, one by one.
func sectionsOf(sections []Section) *Result {
	var rows [][]kv.Value
	for _, s := range sections {
		for i, row := range s.Rows {
			for j, value := range row {
				rows = append(rows, []kv.Value{kv.ValueOf(s.Key), kv.ValueOf(i + 1), kv.ValueOf(s.Columns[j].Name), value})
			}
		}
	}
	r := NewTable([]ColumnInfo{{"section", kv.KindString}, {"row", kv.KindInt}, {"name", kv.KindString},
		{"value", kv.KindNull}}, rows)
	r.Sections = sections
	return r
}

func columnsOf(fields []field) []ColumnInfo {
	return rowsFrom(fields, func(f field) ColumnInfo { return ColumnInfo{Name: f.name, Kind: f.kind} })
}

func valuesOf(fields []field) []kv.Value {
	return rowsFrom(fields, func(f field) kv.Value { return f.value })
}

// someOf are those of the fields that have one of some names.
func someOf(fields []field, names ...string) []field {
	return slices.DeleteFunc(fields, func(f field) bool { return !slices.Contains(names, f.name) })
}

// tableOf has a row of each of some things, with its fields. Fields must have names and kinds for the zero T too.
func tableOf[T any](things []T, fields func(T) []field) (columns []ColumnInfo, rows [][]kv.Value) {
	var none T
	return columnsOf(fields(none)), rowsFrom(things, func(thing T) []kv.Value { return valuesOf(fields(thing)) })
}

// rowsFrom makes a row, or a part of one, of each of some things.
func rowsFrom[T, R any](things []T, row func(T) R) (rows []R) {
	for _, thing := range things {
		rows = append(rows, row(thing))
	}
	return rows
}

// orNull is a value, null in place of "", 0 and false.
func orNull[T string | int64 | bool](x T) kv.Value {
	var none T
	if x == none {
		return kv.Value{}
	}
	return kv.ValueOf(x)
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
