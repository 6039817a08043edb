package columnar

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// cellBytes is about what a value takes in a row group without its text.
const cellBytes = 8

// weight is about how many bytes a row takes in a row group.
func weight(values []kv.Value) int {
	bytes := cellBytes * len(values)
	for _, v := range values {
		if v.Kind() == kv.KindString {
			bytes += len(v.Str())
		}
	}
	return bytes
}

// text is a value of a column as UTF-8.
func text(v kv.Value, column query.ColumnInfo) string {
	if v.Kind() == kv.KindString {
		return strings.ToValidUTF8(v.Str(), "\uFFFD")
	}
	return query.Exact(v, column.Kind)
}

// number is a value of a column of integers. Tables of nodes have integer ids as texts.
func number(v kv.Value, column query.ColumnInfo) (int64, error) {
	switch v.Kind() {
	case kv.KindInt:
		return v.Int(), nil
	case kv.KindString:
		if n, err := strconv.ParseInt(v.Str(), 10, 64); err == nil {
			return n, nil
		}
	}
	return 0, mismatch(v, column)
}

// float is a value of a column of floats.
func float(v kv.Value, column query.ColumnInfo) (float64, error) {
	if v.Kind() == kv.KindFloat || v.Kind() == kv.KindInt {
		return v.Float(), nil
	}
	return 0, mismatch(v, column)
}

// truth is a value of a column of truth values.
func truth(v kv.Value, column query.ColumnInfo) (bool, error) {
	if v.Kind() == kv.KindBool {
		return v.Bool(), nil
	}
	return false, mismatch(v, column)
}

func mismatch(v kv.Value, column query.ColumnInfo) error {
	return fmt.Errorf("column %s: got %s %q, want %s", column.Name, v.Kind(), v, column.Kind)
}
