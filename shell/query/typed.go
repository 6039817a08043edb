package query

import (
	"fmt"
	"iter"
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
// T is a struct, or the type of the one column. The exported fields of a struct have the names of columns in any case, or a tag with the
// name. The rows may have more columns. Whether they have all that T names is known before the first row.
//
// Texts go into strings, integers into integers, floats and, because ids are integers in some stores, strings. Numbers go into floats,
// truths into bools. Null goes into pointers, and any value into a kv.Value. Everything else, and a number that the type does not hold, is
// an error, which names the column. On failure Rows yields the error with a zero T, and stops. The error of the statement is the first.
func Rows[T any](r *Result, err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		if err != nil {
			yield(none, err)
			return
		}
		defer r.Close()
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
