package query

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// A resolver gives the names, parameters and ids of one statement their meaning in one snapshot of a
// store. What does not fit is a *ResolveError.
type resolver struct {
	tx        *kv.Tx
	workers   int // that find nodes; 0 means GOMAXPROCS
	args      []kv.Value
	used      []bool // of args
	constants []constant
	notices   []string

	// columns are the columns of the rows asked about, beside the properties of a node, or in place of
	// them if they are alone.
	columns []ColumnInfo
	alone   bool
	moments string // the one of columns whose texts are from timeText; "" is none

	surroundings *surroundings
	computed     map[string]index.Computed // shares of labels by their spelling

	showsScores bool // the statement speaks of what runs write
	asksScore   bool // its condition has the property score
}

// A constant is where a condition compares a property with a value, or with another property.
type constant struct {
	property string
	value    kv.Value
	other    string
	pos      Pos
}

// newResolver returns a resolver whose properties are computed with so many bytes of memory; 0 is a default.
func newResolver(ctx context.Context, tx *kv.Tx, opt Options, args []kv.Value) *resolver {
	return &resolver{
		tx: tx, workers: opt.Workers, args: args, used: make([]bool, len(args)),
		surroundings: newSurroundings(ctx, tx, opt.MemoryBudget), computed: map[string]index.Computed{},
	}
}

// checkArguments returns an error when an argument was given that the statement does not name.
func (r *resolver) checkArguments() error {
	if i := slices.Index(r.used, false); i >= 0 {
		return fmt.Errorf("argument %d of %d is not used: the statement does not name $%d", i+1, len(r.used), i+1)
	}
	return nil
}

// scoring are the built-in properties that a run of the cleaner writes.
var scoring = []string{"score", "suggested", "confidence", "run"}

// property looks up a name. A built-in one that the store does not hold yet is null for every node.
func (r *resolver) property(n name) (ColumnInfo, error) {
	if n.share != nil {
		return r.around(n)
	}
	if c, ok := r.computed[n.text]; ok {
		return ColumnInfo{Name: n.text, Kind: c.Kind}, nil
	}
	if i := slices.IndexFunc(r.columns, func(c ColumnInfo) bool { return c.Name == n.text }); i >= 0 {
		return r.columns[i], nil
	}
	if r.alone {
		return ColumnInfo{}, r.unknown(n, columnNames(r.columns))
	}
	if c, ok := r.tx.Column(n.text); ok {
		r.showsScores = r.showsScores || slices.Contains(scoring, n.text)
		return ColumnInfo{Name: n.text, Kind: c.Kind}, nil
	}
	if slices.Contains(scoring, n.text) {
		return ColumnInfo{}, &ResolveError{Pos: n.pos, Msg: n.text + ": " + ErrNotCleaned.Error(), Err: ErrNotCleaned}
	}
	switch {
	case n.text == decide.DisputedColumn:
		return ColumnInfo{Name: n.text, Kind: kv.KindBool}, nil
	case slices.Contains(cleaner.ReservedNames, n.text):
		return ColumnInfo{Name: n.text, Kind: kv.KindString}, nil
	}
	return ColumnInfo{}, r.unknown(n, append(columnNames(r.columns), propertyNames(r.tx)...))
}

// unknown is the error of a name that is none of those that are known.
func (r *resolver) unknown(n name, known []string) error {
	unknown := &index.UnknownPropertyError{Property: n.text}
	return &ResolveError{Pos: n.pos, Msg: unknown.Error() + " (properties: " + joinNames(known) + ")", Err: unknown}
}

// properties looks up names.
func (r *resolver) properties(names []string) ([]ColumnInfo, error) {
	columns := make([]ColumnInfo, len(names))
	for i, n := range names {
		var err error
		if columns[i], err = r.property(name{text: n, pos: startOfText}); err != nil {
			return nil, err
		}
	}
	return columns, nil
}

// returned resolves a return clause. Otherwise are the columns if there is no such clause, and all those of *.
func (r *resolver) returned(c *returned, otherwise, all []string) ([]ColumnInfo, error) {
	switch {
	case c == nil:
		return r.properties(otherwise)
	case c.all:
		return r.properties(all)
	}
	var columns []ColumnInfo
	for _, n := range c.columns {
		column, err := r.property(n)
		if err != nil {
			return nil, err
		}
		if slices.Contains(columns, column) {
			return nil, &ResolveError{Pos: n.pos, Msg: n.String() + " is returned twice"}
		}
		columns = append(columns, column)
	}
	return columns, nil
}

// limit resolves how many rows there are at most, −1 for all.
func (r *resolver) limit(c clauses) (int, error) {
	return r.whole(c.limit, "a limit", 0, math.MaxInt, -1)
}

// query resolves clauses.
func (r *resolver) query(c clauses) (index.Query, error) {
	q := index.Query{Limit: -1, Computed: r.computed, Workers: r.workers}
	var err error
	if c.where != nil {
		if q.Where, err = r.predicate(c.where); err != nil {
			return q, err
		}
		r.asksScore = speaksOf(q.Where, cleaner.ScoreColumn)
	}
	for _, term := range c.order {
		column, err := r.property(term.by)
		if err != nil {
			return q, err
		}
		q.Order = append(q.Order, index.Order{Property: column.Name, Descending: term.descending})
	}
	q.Limit, err = r.limit(c)
	return q, err
}

// predicate resolves a condition.
func (r *resolver) predicate(e *expression) (index.Predicate, error) {
	if e.terms == nil {
		return r.test(e)
	}
	terms := make([]index.Predicate, len(e.terms))
	for i, term := range e.terms {
		var err error
		if terms[i], err = r.predicate(term); err != nil {
			return nil, err
		}
	}
	switch e.operator {
	case "or":
		return index.Or{Terms: terms}, nil
	case "and":
		return index.And{Terms: terms}, nil
	}
	return index.Not{Term: terms[0]}, nil
}

// test resolves a comparison of a property.
func (r *resolver) test(t *expression) (index.Predicate, error) {
	column, err := r.property(t.property)
	if err != nil {
		return nil, err
	}
	property := t.property.text
	switch {
	case t.operator == operatorNull:
		return index.IsNull{Property: property}, nil
	case t.operator == operatorTrue && property == decide.DisputedColumn: // true or null
		return hasValue(property), nil
	case t.operator == operatorTrue && column.Kind == kv.KindBool:
		return index.Compare{Property: property, Op: index.Eq, Value: kv.ValueOf(true)}, nil
	case t.operator == operatorTrue:
		return nil, &ResolveError{Pos: t.property.pos, Msg: fmt.Sprintf(
			"%s is not true or false, so it is no condition alone: want an operator behind it (%s)", t.property, operatorNames)}
	case t.operator == "like":
		return r.like(t)
	case t.other != nil:
		return r.pair(t)
	}
	op, compares := operators[t.operator]
	ordered := compares && op != index.Eq && op != index.Ne
	values := make([]kv.Value, len(t.values))
	for i, l := range t.values {
		if values[i], err = r.constant(column, t.property, l, ordered); err != nil {
			return nil, err
		}
	}
	if t.operator == "in" {
		return index.In{Property: property, Values: values}, nil
	}
	return index.Compare{Property: property, Op: op, Value: values[0]}, nil
}

// pair resolves a comparison of two properties. Whoever meant a text is told that it takes quotes.
func (r *resolver) pair(t *expression) (index.Predicate, error) {
	_, err := r.property(*t.other)
	if unknown, ok := errors.AsType[*index.UnknownPropertyError](err); ok {
		msg := fmt.Sprintf("%s (text takes single quotes: %s)", unknown, Quote(t.other.text))
		return nil, &ResolveError{Pos: t.other.pos, Msg: msg, Err: unknown}
	}
	r.constants = append(r.constants, constant{property: t.property.text, other: t.other.text, pos: t.other.pos})
	return index.CompareProperties{Property: t.property.text, Op: operators[t.operator], Other: t.other.text}, err
}

func (r *resolver) like(t *expression) (index.Predicate, error) {
	l := t.values[0]
	pattern, err := r.value(l)
	if err != nil {
		return nil, err
	}
	if pattern.Kind() != kv.KindString {
		return nil, &ResolveError{Pos: l.pos, Msg: fmt.Sprintf("got %s for %s, want a pattern as 'graph%%'", describe(pattern), l)}
	}
	r.constants = append(r.constants, constant{property: t.property.text, value: pattern, pos: l.pos})
	return index.Like{Property: t.property.text, Pattern: pattern.Str()}, nil
}

var operators = map[string]index.Op{
	"=": index.Eq, "!=": index.Ne, "<": index.Lt, "<=": index.Le, ">": index.Gt, ">=": index.Ge,
}

// constant resolves a value that a property is compared with, by their order or not. Whether the two can be compared is
// the plan's to say, and locate finds the place again.
func (r *resolver) constant(column ColumnInfo, n name, l literal, ordered bool) (kv.Value, error) {
	value, err := r.value(l)
	if err != nil {
		return kv.Value{}, err
	}
	isNumber := value.Kind() == kv.KindInt || value.Kind() == kv.KindFloat
	switch {
	case value.IsNull():
		return value, &ResolveError{Pos: l.pos, Msg: fmt.Sprintf("%s is null: write %s is null", l, n)}
	case column.Kind == kv.KindClass && ordered && isNumber:
		return value, &ResolveError{Pos: l.pos, Msg: fmt.Sprintf(
			"classes are text, which has no order among numbers: got %s, which compares as text in quotes: %[2]s", l, Quote(numberText(value, l)))}
	case column.Kind == kv.KindClass:
		value = r.class(value, l)
	case column.Kind == kv.KindSingle && isNumber:
		value = kv.ValueOf(Single(value.Float()))
	case n.text == "id" && column.Kind == kv.KindString && !ordered && isNumber:
		value = kv.ValueOf(numberText(value, l)) // 007 is another id than 7
	case r.moments != "" && n.text == r.moments:
		t, ok := wording.ParseTime(value.Str())
		if !ok {
			return kv.Value{}, &ResolveError{Pos: l.pos, Msg: fmt.Sprintf(
				"got %s for a time, want one as '2026-01-31', '2026-01-31 18:00' or '2026-01-31T18:00:00+01:00'", describe(value))}
		}
		value = kv.ValueOf(timeText(t))
	}
	r.constants = append(r.constants, constant{property: n.text, value: value, pos: l.pos})
	return value, nil
}

// Single rounds a number to the 32-bit float that a column such as score holds, so that a score is equal to the score
// that was printed. A number beyond the range of these floats stays as it is.
func Single(x float64) float64 {
	single := float64(float32(x))
	if single == 0 || math.IsInf(single, 0) {
		return x
	}
	return single
}

// class reads a value as the name of a class, which may look like a number or be true or false, and remarks on one that
// the store does not have.
func (r *resolver) class(value kv.Value, l literal) kv.Value {
	switch value.Kind() {
	case kv.KindInt, kv.KindFloat:
		value = kv.ValueOf(numberText(value, l))
	case kv.KindBool:
		value = kv.ValueOf(value.String())
	}
	if value.Kind() == kv.KindString && !slices.Contains(r.tx.Classes(), value.Str()) && len(r.notices) < mostStrangers {
		r.notices = append(r.notices, "no class is named "+Quote(value.Str()))
	}
	return value
}

// numberText is a number as the statement writes it.
func numberText(v kv.Value, l literal) string {
	if l.number > 0 {
		return v.String()
	}
	return l.text
}

// mostStrangers are how many names that no class has are remarked on.
const mostStrangers = 8

// locate puts the place in the text to an error of a plan.
func (r *resolver) locate(err error) error {
	wrong, ok := errors.AsType[*index.TypeError](err)
	if !ok {
		return err
	}
	for _, c := range r.constants {
		if c.property == wrong.Property && c.other == wrong.Other && c.value == wrong.Value {
			return &ResolveError{Pos: c.pos, Msg: wrong.Error(), Err: wrong}
		}
	}
	return err
}
