package query

import (
	"encoding"
	"fmt"
	"iter"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

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
// A row goes into T as Row.Scan says. Whether the columns fit T is known before the first row, so a wrong name is an error for a result
// without rows too. On failure Rows yields the error with a zero T, and stops. The error of the statement is the first.
func Rows[T any](r *Result, err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		if err != nil {
			yield(none, err)
			return
		}
		defer r.Close()
		fill, err := newFiller(r.columns, []reflect.Type{reflect.TypeFor[T]()})
		if err != nil {
			yield(none, err)
			return
		}
		for row, err := range r.Rows() {
			var value T
			if err == nil {
				err = fill.fill(row.Values, []reflect.Value{reflect.ValueOf(&value).Elem()})
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
type Row struct {
	Values  []kv.Value
	columns []ColumnInfo
}

// Scan copies the row to variables: dest has a pointer for each column, in their order, or one pointer to a struct.
//
// A struct has an exported field for each column that is wanted. The field has the name of the column in any case, or a tag with the
// name, such as `query:"old style"`. The tag "-" leaves a field out. The row may have more columns.
//
// Values go only where they fit. Texts go into strings, and into types with UnmarshalText, such as time.Time. Integers go into integers
// that can hold them, into floats that are exactly equal, and, because ids are integers in some stores, into strings. Numbers go into
// floats, truths into bools. Null goes into pointers, and any value into a kv.Value. Everything else is a *ScanError, which names
// the column.
func (r Row) Scan(dest ...any) error {
	types, values := make([]reflect.Type, len(dest)), make([]reflect.Value, len(dest))
	for i, d := range dest {
		p := reflect.ValueOf(d)
		if p.Kind() != reflect.Pointer || p.IsNil() {
			return &ScanError{Msg: fmt.Sprintf("got a %T to scan into, want a pointer to a variable", d)}
		}
		types[i], values[i] = p.Type().Elem(), p.Elem()
	}
	f, err := newFiller(r.columns, types)
	if err != nil {
		return err
	}
	return f.fill(r.Values, values)
}

// A ScanError says why a row does not go into Go variables.
type ScanError struct {
	Column string // "" if the error is about all of them
	Msg    string
}

// Error reads "column score: got null, …".
func (e *ScanError) Error() string {
	if e.Column == "" {
		return e.Msg
	}
	return "column " + QuoteName(e.Column) + ": " + e.Msg
}

// A filler copies rows of some columns to variables of some types.
type filler struct {
	columns []ColumnInfo
	slots   []slot
}

// A slot is where the value of a column goes.
type slot struct {
	column, dest int
	field        []int // of a struct, as reflect.Value.FieldByIndex takes it; nil of a variable
}

func newFiller(columns []ColumnInfo, types []reflect.Type) (*filler, error) {
	f := &filler{columns: columns}
	if len(types) == 1 && isRecord(types[0]) {
		return f, f.addFields(types[0])
	}
	if len(types) != len(columns) {
		return nil, &ScanError{Msg: fmt.Sprintf("the row has %s (%s), and there is room for %d: want a variable for each column, or one struct",
			wording.Count(len(columns), "column", "columns"), joinNames(columnNames(columns)), len(types))}
	}
	for i, t := range types {
		if err := checkSlot(columns[i].Name, t); err != nil {
			return nil, err
		}
		f.slots = append(f.slots, slot{column: i, dest: i})
	}
	return f, nil
}

// fieldTag is the tag of a field with the name of its column.
const fieldTag = "query"

// addFields finds the columns of the fields of a struct.
func (f *filler) addFields(t reflect.Type) error {
	for _, field := range reflect.VisibleFields(t) {
		tag, tagged := field.Tag.Lookup(fieldTag)
		if field.Anonymous && field.Type.Kind() == reflect.Pointer {
			return &ScanError{Msg: fmt.Sprintf("%s embeds a %s: want the struct itself", t, field.Type)}
		}
		switch {
		case !field.IsExported() || tag == "-":
			continue
		case field.Anonymous && !tagged && isRecord(field.Type):
			continue // its fields are visible
		}
		name := field.Name
		column := slices.IndexFunc(f.columns, func(c ColumnInfo) bool { return !tagged && strings.EqualFold(c.Name, name) })
		if tagged {
			name = tag
		}
		if exact := slices.IndexFunc(f.columns, func(c ColumnInfo) bool { return c.Name == name }); exact >= 0 {
			column = exact
		}
		if column < 0 {
			names := columnNames(f.columns)
			return &ScanError{Column: name, Msg: fmt.Sprintf("the rows have no such column for the field %s of %s%s (columns: %s)",
				field.Name, t, wording.DidYouMean(strings.ToLower(name), names), joinNames(names))}
		}
		if err := checkSlot(f.columns[column].Name, field.Type); err != nil {
			return err
		}
		f.slots = append(f.slots, slot{column: column, field: field.Index})
	}
	return nil
}

var (
	valueType       = reflect.TypeFor[kv.Value]()
	unmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// isRecord reports whether a type takes a row, not a value.
func isRecord(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t != valueType && !reflect.PointerTo(t).Implements(unmarshalerType)
}

// checkSlot refuses a type that takes no value of any column.
func checkSlot(column string, t reflect.Type) error {
	of := t
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch of.Kind() {
	case reflect.Bool, reflect.String, reflect.Float32, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return nil
	}
	if of == valueType || reflect.PointerTo(of).Implements(unmarshalerType) {
		return nil
	}
	return &ScanError{Column: column, Msg: fmt.Sprintf(
		"a %s takes no value: want a string, a bool, an integer, a float, a pointer to one, a type with UnmarshalText or a kv.Value", t)}
}

// fill copies a row.
func (f *filler) fill(row []kv.Value, dest []reflect.Value) error {
	for _, s := range f.slots {
		into := dest[s.dest]
		if s.field != nil {
			into = into.FieldByIndex(s.field)
		}
		if msg := assign(into, row[s.column]); msg != "" {
			return &ScanError{Column: f.columns[s.column].Name, Msg: msg}
		}
	}
	return nil
}

// assign copies a value to a variable, or says why it does not.
func assign(into reflect.Value, value kv.Value) (wrong string) {
	if into.Type() == valueType {
		into.Set(reflect.ValueOf(value))
		return ""
	}
	if into.Kind() == reflect.Pointer {
		if value.IsNull() {
			into.SetZero()
			return ""
		}
		fresh := reflect.New(into.Type().Elem())
		if wrong := assign(fresh.Elem(), value); wrong != "" {
			return wrong
		}
		into.Set(fresh)
		return ""
	}
	if value.IsNull() {
		return fmt.Sprintf("got null, which a %s cannot be: want a *%[1]s or a kv.Value", into.Type())
	}
	if text, ok := into.Addr().Interface().(encoding.TextUnmarshaler); ok && value.Kind() == kv.KindString {
		if err := text.UnmarshalText([]byte(value.Str())); err != nil {
			return fmt.Sprintf("got %s: %v", describe(value), err)
		}
		return ""
	}
	if !assignPlain(into, value) {
		return fmt.Sprintf("got %s, which a %s cannot hold", describe(value), into.Type())
	}
	return ""
}

// assignPlain copies a value to a variable of a basic type, and reports whether it fits.
func assignPlain(into reflect.Value, value kv.Value) bool {
	kind, integer := value.Kind(), value.Kind() == kv.KindInt
	switch {
	case into.Kind() == reflect.String && kind == kv.KindString:
		into.SetString(value.Str())
	case into.Kind() == reflect.String && integer:
		into.SetString(strconv.FormatInt(value.Int(), 10))
	case into.Kind() == reflect.Bool && kind == kv.KindBool:
		into.SetBool(value.Bool())
	case into.CanInt() && integer && !into.OverflowInt(value.Int()):
		into.SetInt(value.Int())
	case into.CanUint() && integer && value.Int() >= 0 && !into.OverflowUint(uint64(value.Int())):
		into.SetUint(uint64(value.Int()))
	case into.CanFloat() && integer && holdsExactly(into.Type(), value.Int()):
		into.SetFloat(float64(value.Int()))
	case into.CanFloat() && kind == kv.KindFloat && (math.IsInf(value.Float(), 0) || !into.OverflowFloat(value.Float())):
		into.SetFloat(value.Float())
	default:
		return false
	}
	return true
}

// holdsExactly reports whether a float type has a number that is equal to an integer.
func holdsExactly(t reflect.Type, n int64) bool {
	float := float64(n)
	if t.Kind() == reflect.Float32 {
		float = float64(float32(n))
	}
	return float < math.MaxInt64 && int64(float) == n
}
