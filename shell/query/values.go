package query

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// value resolves a literal; a parameter takes its argument.
func (q *query) value(l literal) (kv.Value, error) {
	if l.number == 0 {
		return l.value, nil
	}
	if l.number > len(q.args) {
		return kv.Value{}, faultAt(l.pos, "%s has no argument: %d given", l, len(q.args))
	}
	return q.args[l.number-1], nil
}

// whole resolves a whole number from least to most, which may be written as 1e3. It is otherwise if there is none.
func (q *query) whole(l *literal, what string, least, most, otherwise int) (int, error) {
	if l == nil {
		return otherwise, nil
	}
	value, err := q.value(*l)
	if err != nil {
		return 0, err
	}
	n := int64(-1)
	switch value.Kind() {
	case kv.KindInt:
		n = value.Int()
	case kv.KindFloat:
		if f := value.Float(); f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			n = int64(f)
		}
	}
	if n < int64(least) || n > int64(most) {
		limits := fmt.Sprintf("from %d", least)
		if most < math.MaxInt {
			limits += fmt.Sprintf(" to %d", most)
		}
		return 0, faultAt(l.pos, "got %s for %s, want a whole number %s", describe(value), what, limits)
	}
	return int(n), nil
}

// hops resolves a number of hops.
func (q *query) hops(l *literal, otherwise int) (int, error) {
	return q.whole(l, "hops", 1, math.MaxInt, otherwise)
}

// share resolves a number strictly between 0 and 1.
func (q *query) share(l literal, what string) (float64, error) {
	value, err := q.value(l)
	if err != nil {
		return 0, err
	}
	if kind := value.Kind(); kind != kv.KindInt && kind != kv.KindFloat || !(value.Float() > 0 && value.Float() < 1) {
		return 0, faultAt(l.pos, "got %s for %s, want a number between 0 and 1", describe(value), what)
	}
	return value.Float(), nil
}

// findNode finds the node of an id.
func (q *query) findNode(l literal) (kv.NodeID, error) {
	value, err := q.value(l)
	if err != nil {
		return 0, err
	}
	v, err := q.tx.Node(value.String())
	if errors.Is(err, kv.ErrNotFound) {
		return 0, &TextError{Pos: l.pos, Err: wording.Reworded(err, "the store has no node "+Quote(value.String()))}
	}
	return v, err
}

// findNodes finds the nodes of ids.
func (q *query) findNodes(ids []literal) (nodes []kv.NodeID, err error) {
	nodes = make([]kv.NodeID, len(ids))
	for i := 0; err == nil && i < len(ids); i++ {
		nodes[i], err = q.findNode(ids[i])
	}
	return nodes, err
}

// describe names a value with its type.
func describe(v kv.Value) string {
	switch v.Kind() {
	case kv.KindNull:
		return "null"
	case kv.KindString:
		return "the text " + Quote(v.Str())
	default:
		return v.String()
	}
}

func joinNames(names []string) string { return strings.Join(rowsFrom(names, QuoteName), ", ") }

// arguments turns Go values into the values of $1, $2 ….
func arguments(args []any) ([]kv.Value, error) {
	values := make([]kv.Value, len(args))
	for i, arg := range args {
		value, err := argument(arg)
		if err != nil {
			return nil, fmt.Errorf("argument $%d: %w", i+1, err)
		}
		values[i] = value
	}
	return values, nil
}

func argument(arg any) (kv.Value, error) {
	if value, ok := arg.(kv.Value); ok || arg == nil {
		return value, nil
	}
	switch v := reflect.ValueOf(arg); {
	case v.Kind() == reflect.Bool:
		return kv.ValueOf(v.Bool()), nil
	case v.Kind() == reflect.String:
		return kv.ValueOf(v.String()), nil
	case v.CanInt():
		return kv.ValueOf(v.Int()), nil
	case v.CanUint() && v.Uint() <= math.MaxInt64:
		return kv.ValueOf(int64(v.Uint())), nil
	case v.CanFloat():
		return kv.ValueOf(v.Float()), nil
	}
	return kv.Value{}, fmt.Errorf("a %T is no value of a query, want a bool, integer, float, string, kv.Value or nil", arg)
}
