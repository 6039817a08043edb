package query

import (
	"errors"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// A constant is where a condition compares a property with a value, or with another property.
type constant struct {
	property string
	value    kv.Value
	other    string
	pos      Pos
}

// scoring are the built-in properties that a run of the cleaner writes.
var scoring = []string{"score", "suggested", "confidence", "run"}

// property looks up a name. A built-in one that the store does not hold yet is null for every node.
func (q *query) property(n name) (ColumnInfo, error) {
	if n.share != nil {
		return q.around(n)
	}
	if c, ok := q.computed[n.text]; ok {
		return ColumnInfo{Name: n.text, Kind: c.Kind}, nil
	}
	if i := slices.IndexFunc(q.columns, func(c ColumnInfo) bool { return c.Name == n.text }); i >= 0 {
		return q.columns[i], nil
	}
	if q.alone {
		return ColumnInfo{}, q.unknown(n, columnNames(q.columns))
	}
	if c, ok := q.tx.Column(n.text); ok {
		q.showsScores = q.showsScores || slices.Contains(scoring, n.text)
		return ColumnInfo{Name: n.text, Kind: c.Kind}, nil
	}
	if slices.Contains(scoring, n.text) {
		return ColumnInfo{}, faultAt(n.pos, "%s: %w", n.text, cleaner.ErrNotCleaned)
	}
	switch {
	case n.text == decide.DisputedColumn:
		return ColumnInfo{Name: n.text, Kind: kv.KindBool}, nil
	case slices.Contains(cleaner.ReservedNames, n.text):
		return ColumnInfo{Name: n.text, Kind: kv.KindString}, nil
	}
	return ColumnInfo{}, q.unknown(n, append(columnNames(q.columns), propertyNames(q.tx)...))
}

// unknown is the error of a name that is none of those that are known.
func (q *query) unknown(n name, known []string) error {
	return faultAt(n.pos, "%w (properties: %s)", &index.UnknownPropertyError{Property: n.text}, joinNames(known))
}

// properties looks up names.
func (q *query) properties(names []string) ([]ColumnInfo, error) {
	columns := make([]ColumnInfo, len(names))
	for i, n := range names {
		var err error
		if columns[i], err = q.property(name{text: n, pos: startOfText}); err != nil {
			return nil, err
		}
	}
	return columns, nil
}

// returned resolves a return clause. Otherwise are the columns if there is no such clause, and all those of *.
func (q *query) returned(c *returned, otherwise, all []string) ([]ColumnInfo, error) {
	switch {
	case c == nil:
		return q.properties(otherwise)
	case c.all:
		return q.properties(all)
	}
	var columns []ColumnInfo
	for _, n := range c.columns {
		column, err := q.property(n)
		if err != nil {
			return nil, err
		}
		if slices.Contains(columns, column) {
			return nil, faultAt(n.pos, "%s is returned twice", n)
		}
		columns = append(columns, column)
	}
	return columns, nil
}

// limit resolves how many rows there are at most, −1 for all.
func (q *query) limit(c clauses) (int, error) {
	return q.whole(c.limit, "a limit", 0, math.MaxInt, -1)
}

// query resolves clauses.
func (q *query) query(c clauses) (index.Query, error) {
	find := index.Query{Limit: -1, Computed: q.computed, Workers: q.Workers}
	var err error
	if c.where != nil {
		if find.Where, err = q.predicate(c.where); err != nil {
			return find, err
		}
		q.asksScore = speaksOf(find.Where, cleaner.ScoreColumn)
	}
	for _, term := range c.order {
		column, err := q.property(term.by)
		if err != nil {
			return find, err
		}
		find.Order = append(find.Order, index.Order{Property: column.Name, Descending: term.descending})
	}
	find.Limit, err = q.limit(c)
	return find, err
}

// predicate resolves a condition.
func (q *query) predicate(e *expression) (index.Predicate, error) {
	if e.terms == nil {
		return q.test(e)
	}
	terms := make([]index.Predicate, len(e.terms))
	for i, term := range e.terms {
		var err error
		if terms[i], err = q.predicate(term); err != nil {
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
func (q *query) test(t *expression) (index.Predicate, error) {
	column, err := q.property(t.property)
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
		return nil, faultAt(t.property.pos,
			"%s is not true or false, so it is no condition alone: want an operator behind it (%s)", t.property, operatorNames)
	case t.operator == "like":
		return q.like(t)
	case t.other != nil:
		return q.pair(t)
	}
	op, compares := operators[t.operator]
	ordered := compares && op != index.Eq && op != index.Ne
	values := make([]kv.Value, len(t.values))
	for i, l := range t.values {
		if values[i], err = q.constant(column, t.property, l, ordered); err != nil {
			return nil, err
		}
	}
	if t.operator == "in" {
		return index.In{Property: property, Values: values}, nil
	}
	return index.Compare{Property: property, Op: op, Value: values[0]}, nil
}

// pair resolves a comparison of two properties. Whoever meant a text is told that it takes quotes.
func (q *query) pair(t *expression) (index.Predicate, error) {
	_, err := q.property(*t.other)
	if unknown, ok := errors.AsType[*index.UnknownPropertyError](err); ok {
		return nil, faultAt(t.other.pos, "%w (text takes single quotes: %s)", unknown, Quote(t.other.text))
	}
	q.constants = append(q.constants, constant{property: t.property.text, other: t.other.text, pos: t.other.pos})
	return index.CompareProperties{Property: t.property.text, Op: operators[t.operator], Other: t.other.text}, err
}

func (q *query) like(t *expression) (index.Predicate, error) {
	l := t.values[0]
	pattern, err := q.value(l)
	if err != nil {
		return nil, err
	}
	if pattern.Kind() != kv.KindString {
		return nil, faultAt(l.pos, "got %s for %s, want a pattern as 'graph%%'", describe(pattern), l)
	}
	q.constants = append(q.constants, constant{property: t.property.text, value: pattern, pos: l.pos})
	return index.Like{Property: t.property.text, Pattern: pattern.Str()}, nil
}

var operators = map[string]index.Op{
	"=": index.Eq, "!=": index.Ne, "<": index.Lt, "<=": index.Le, ">": index.Gt, ">=": index.Ge,
}

// constant resolves a value that a property is compared with, by their order or not. Whether the two can be compared is
// the plan's to say, and locate finds the place again.
func (q *query) constant(column ColumnInfo, n name, l literal, ordered bool) (kv.Value, error) {
	value, err := q.value(l)
	if err != nil {
		return kv.Value{}, err
	}
	isNumber := value.Kind() == kv.KindInt || value.Kind() == kv.KindFloat
	switch {
	case value.IsNull():
		return value, faultAt(l.pos, "%s is null: write %s is null", l, n)
	case column.Kind == kv.KindClass && ordered && isNumber:
		return value, faultAt(l.pos,
			"classes are text, which has no order among numbers: got %s, which compares as text in quotes: %[2]s", l,
			Quote(numberText(value, l)))
	case column.Kind == kv.KindClass:
		value = q.class(value, l)
	case column.Kind == kv.KindSingle && isNumber:
		value = kv.ValueOf(Single(value.Float()))
	case n.text == "id" && column.Kind == kv.KindString && !ordered && isNumber:
		value = kv.ValueOf(numberText(value, l)) // 007 is another id than 7
	case q.alone && n.text == "time":
		t, ok := wording.ParseTime(value.Str())
		if !ok {
			return kv.Value{}, faultAt(l.pos,
				"got %s for a time, want one as '2026-01-31', '2026-01-31 18:00' or '2026-01-31T18:00:00+01:00'", describe(value))
		}
		value = kv.ValueOf(timeText(t))
	case column.Kind == kv.KindString && value.Kind() == kv.KindString && n.text != "id" && !q.alone:
		text, err := q.asTimeOf(n.text, value.Str())
		if err != nil {
			return kv.Value{}, err
		}
		value = kv.ValueOf(text)
	}
	q.constants = append(q.constants, constant{property: n.text, value: value, pos: l.pos})
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
func (q *query) class(value kv.Value, l literal) kv.Value {
	switch value.Kind() {
	case kv.KindInt, kv.KindFloat:
		value = kv.ValueOf(numberText(value, l))
	case kv.KindBool:
		value = kv.ValueOf(value.String())
	}
	if value.Kind() == kv.KindString && !slices.Contains(q.tx.Classes(), value.Str()) && len(q.notices) < mostStrangers {
		q.notices = append(q.notices, "no class is named "+Quote(value.Str()))
	}
	return value
}

// numberText is a number, or a class, as the statement writes it.
func numberText(v kv.Value, l literal) string {
	if l.number > 0 {
		return v.String()
	}
	return l.text
}

// mostStrangers are how many names that no class has are remarked on.
const mostStrangers = 8

// locate puts the place in the text to an error of a plan.
func (q *query) locate(err error) error {
	wrong, ok := errors.AsType[*index.TypeError](err)
	if !ok {
		return err
	}
	for _, c := range q.constants {
		if c.property == wrong.Property && c.other == wrong.Other && c.value == wrong.Value {
			return &TextError{Pos: c.pos, Err: wrong}
		}
	}
	return err
}
