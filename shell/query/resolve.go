package query

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/internal/namelist"
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

	// columns are what the rows have that the statement asks about, beside the properties of a node, or in place of them if they are alone.
	columns []ColumnInfo
	alone   bool
	moments string // the one of columns whose texts are from timeText; "" is none

	surroundings *surroundings
	computed     map[string]index.Computed // shares of labels, and conditions on neighbours, by their spelling

	showsScores bool // the statement speaks of what runs write

	classes   map[string]bool // of the store; nil until one is asked for
	strangers []string        // constants that name none of them
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
	unknown := &index.UnknownPropertyError{Property: n.text, Nearest: wording.Nearest(n.text, known)}
	msg := unknown.Error()
	if len(unknown.Nearest) == 0 {
		msg += " (properties: " + joinNames(known) + ")"
	}
	return &ResolveError{Pos: n.pos, Msg: msg, Err: unknown}
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

// returned resolves a return clause: the columns of the answer, and what they have the values of. Otherwise are the columns if there is no
// such clause, and all those of *.
func (r *resolver) returned(c *returned, otherwise, all []string) (columns, of []ColumnInfo, err error) {
	switch {
	case c == nil:
		of, err = r.properties(otherwise)
		return of, of, err
	case c.all:
		of, err = r.properties(all)
		return of, of, err
	}
	for _, n := range c.columns {
		source, err := r.property(n.of)
		if err != nil {
			return nil, nil, err
		}
		column, pos := source, n.of.pos
		if n.as != nil {
			column.Name, pos = n.as.text, n.as.pos
		}
		if slices.ContainsFunc(columns, func(c ColumnInfo) bool { return c.Name == column.Name }) {
			return nil, nil, &ResolveError{Pos: pos, Msg: QuoteName(column.Name) + " is returned twice"}
		}
		columns, of = append(columns, column), append(of, source)
	}
	return columns, of, nil
}

// cut resolves how many rows are left out, and how many follow at most, −1 for all.
func (r *resolver) cut(limit, offset *literal) (skip, most int, err error) {
	most = -1
	if limit != nil {
		most, err = r.whole(*limit, "a limit", 0, math.MaxInt)
	}
	if offset != nil && err == nil {
		skip, err = r.whole(*offset, "an offset", 0, math.MaxInt)
	}
	return skip, most, err
}

// query resolves clauses.
func (r *resolver) query(c clauses) (index.Query, error) {
	q := index.Query{Limit: -1, Computed: r.computed, Workers: r.workers}
	var err error
	if c.where != nil {
		if q.Where, err = r.predicate(c.where); err != nil {
			return q, err
		}
	}
	for _, term := range c.order {
		column, err := r.property(term.by)
		if of, ok := c.returned.named(term.by); ok && errors.As(err, new(*index.UnknownPropertyError)) {
			column, err = r.property(of)
		}
		if err != nil {
			return q, err
		}
		if err := r.checkOrder(column); err != nil {
			return q, err
		}
		q.Order = append(q.Order, index.Order{Property: column.Name, Descending: term.descending})
	}
	skip, most, err := r.cut(c.limit, c.offset)
	if most >= 0 && !c.distinct() { // what is left out is found too
		q.Limit = min(most, math.MaxInt-skip) + skip
	}
	return q, err
}

// checkOrder remarks on a property that is ordered as text and looks like numbers.
func (r *resolver) checkOrder(column ColumnInfo) error {
	looksNumeric := false
	switch {
	case column.Kind == kv.KindClass:
		byText := slices.Sorted(slices.Values(r.tx.Classes()))
		looksNumeric = !slices.Equal(namelist.Sorted(r.tx.Classes()), byText)
	case column.Name == "id":
		var err error
		if looksNumeric, err = wording.MixedIDs(r.tx); err != nil {
			return err
		}
	}
	if looksNumeric {
		r.notices = append(r.notices, fmt.Sprintf("%s is ordered as text, in which 10 comes before 9", column.Name))
	}
	return nil
}

// predicate resolves a condition.
func (r *resolver) predicate(e expression) (index.Predicate, error) {
	switch e := e.(type) {
	case *logical:
		terms := make([]index.Predicate, len(e.terms))
		for i, term := range e.terms {
			var err error
			if terms[i], err = r.predicate(term); err != nil {
				return nil, err
			}
		}
		if e.operator == "or" {
			return index.Or{Terms: terms}, nil
		}
		return index.And{Terms: terms}, nil
	case *negation:
		term, err := r.predicate(e.term)
		return index.Not{Term: term}, err
	case *comparison:
		value, err := r.comparison(e.property, e.value, isOrder(operators[e.operator]))
		return index.Compare{Property: e.property.text, Op: operators[e.operator], Value: value}, err
	case *pair:
		return r.pair(e)
	case *membership:
		values := make([]kv.Value, len(e.values))
		for i, value := range e.values {
			var err error
			if values[i], err = r.comparison(e.property, value, false); err != nil {
				return nil, err
			}
		}
		return index.In{Property: e.property.text, Values: values}, nil
	case *between:
		low, err := r.comparison(e.property, e.low, true)
		if err != nil {
			return nil, err
		}
		high, err := r.comparison(e.property, e.high, true)
		return index.And{Terms: []index.Predicate{
			index.Compare{Property: e.property.text, Op: index.Ge, Value: low},
			index.Compare{Property: e.property.text, Op: index.Le, Value: high},
		}}, err
	case *likeness:
		return r.like(e)
	case *lowered:
		return r.lowered(e)
	case *bare:
		return r.bare(e)
	case *neighbor:
		return r.neighbor(e)
	case *isNull:
		_, err := r.property(e.property)
		return index.IsNull{Property: e.property.text}, err
	default:
		panic(fmt.Sprintf("query: no meaning for the condition %T", e)) // the parser makes no other
	}
}

// pair resolves a comparison of two properties. Whoever meant a text is told that it takes quotes.
func (r *resolver) pair(e *pair) (index.Predicate, error) {
	if _, err := r.property(e.property); err != nil {
		return nil, err
	}
	_, err := r.property(e.other)
	if unknown, ok := errors.AsType[*index.UnknownPropertyError](err); ok {
		msg := fmt.Sprintf("%s (text takes single quotes: %s)", unknown, Quote(e.other.text))
		return nil, &ResolveError{Pos: e.other.pos, Msg: msg, Err: unknown}
	}
	r.constants = append(r.constants, constant{property: e.property.text, other: e.other.text, pos: e.other.pos})
	return index.CompareProperties{Property: e.property.text, Op: operators[e.operator], Other: e.other.text}, err
}

// bare resolves a property that stands alone: true or false, or disputed, which is true or null.
func (r *resolver) bare(e *bare) (index.Predicate, error) {
	column, err := r.property(e.property)
	switch {
	case err != nil:
		return nil, err
	case e.property.text == decide.DisputedColumn:
		return hasValue(decide.DisputedColumn), nil
	case column.Kind == kv.KindBool:
		return index.Compare{Property: column.Name, Op: index.Eq, Value: kv.ValueOf(true)}, nil
	}
	return nil, &ResolveError{Pos: e.property.pos, Msg: fmt.Sprintf(
		"%s is not true or false, so it is no condition alone: want an operator behind it (%s)", e.property, operatorNames)}
}

var operators = map[string]index.Op{
	"=": index.Eq, "!=": index.Ne, "<": index.Lt, "<=": index.Le, ">": index.Gt, ">=": index.Ge,
}

// isOrder reports whether an operator asks for the order of two values.
func isOrder(op index.Op) bool { return op != index.Eq && op != index.Ne }

// comparison resolves a property and the value it is compared with, by their order or not. Whether the two can be compared
// is the plan's to say, and locate finds the place again.
func (r *resolver) comparison(n name, l literal, ordered bool) (kv.Value, error) {
	column, err := r.property(n)
	if err != nil {
		return kv.Value{}, err
	}
	value, err := r.value(l)
	if err != nil {
		return kv.Value{}, err
	}
	if value.IsNull() {
		return value, &ResolveError{Pos: l.pos, Msg: fmt.Sprintf("%s is null: write %s is null", l, n)}
	}
	if column.Kind == kv.KindClass {
		if ordered && isNumber(value) {
			return value, &ResolveError{Pos: l.pos, Msg: fmt.Sprintf(
				"classes are text, which has no order among numbers: got %s, which compares as text in quotes: %[2]s", l, Quote(numberText(value, l)))}
		}
		value = r.class(value, l)
	}
	if column.Kind == kv.KindSingle && isNumber(value) {
		value = kv.ValueOf(Single(value.Float()))
	}
	if n.text == "id" && column.Kind == kv.KindString && !ordered && isNumber(value) {
		value = kv.ValueOf(numberText(value, l)) // 007 is another id than 7
	}
	isOther := slices.ContainsFunc(r.columns, func(c ColumnInfo) bool { return c.Name == n.text })
	if column.Kind == kv.KindString && value.Kind() == kv.KindString && n.text != "id" && !r.alone && !isOther {
		text, err := r.asTimeOf(n.text, value.Str())
		if err != nil {
			return kv.Value{}, err
		}
		value = kv.ValueOf(text)
	}
	if r.moments != "" && n.text == r.moments {
		t, err := r.time(l)
		if err != nil {
			return kv.Value{}, err
		}
		value = kv.ValueOf(timeText(t))
	}
	if known := fixedValues(n.text, r.columns); known != nil && value.Kind() == kv.KindString &&
		!slices.Contains(known, value.Str()) {
		r.notices = append(r.notices, fmt.Sprintf("no %s is %s: the values are %s", n.text, Quote(value.Str()),
			strings.Join(known, ", ")))
	}
	r.constants = append(r.constants, constant{property: n.text, value: value, pos: l.pos})
	return value, nil
}

// Single rounds a number to the 32-bit float that a column such as score holds, so that a score is equal to the score that was
// printed. A number beyond the range of these floats stays as it is.
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
	switch {
	case isNumber(value):
		value = kv.ValueOf(numberText(value, l))
	case value.Kind() == kv.KindBool:
		name := value.String()
		is := func(class string) bool { return strings.EqualFold(class, name) } // True, as some programs write it
		if classes := r.tx.Classes(); !slices.Contains(classes, name) && slices.ContainsFunc(classes, is) {
			name = classes[slices.IndexFunc(classes, is)]
		}
		value = kv.ValueOf(name)
	}
	if value.Kind() == kv.KindString {
		r.checkClass(value.Str())
	}
	return value
}

func isNumber(v kv.Value) bool { return v.Kind() == kv.KindInt || v.Kind() == kv.KindFloat }

// numberText is a number as the statement writes it.
func numberText(v kv.Value, l literal) string {
	if l.kind == literalParam {
		return v.String()
	}
	return l.text
}

// checkClass takes note of a name that no class has.
func (r *resolver) checkClass(name string) {
	if r.classes == nil {
		r.classes = map[string]bool{}
		for _, class := range r.tx.Classes() {
			r.classes[class] = true
		}
	}
	if !r.classes[name] {
		r.strangers = append(r.strangers, name)
	}
}

// remarks are the notices, those on names that no class has first.
func (r *resolver) remarks() []string {
	const most = 8 // remarked on one by one
	var remarks []string
	for _, name := range r.strangers[:min(len(r.strangers), most)] {
		remarks = append(remarks, fmt.Sprintf("no class is named %s%s", Quote(name), wording.DidYouMean(name, r.tx.Classes())))
	}
	if more := len(r.strangers) - most; more > 0 {
		remarks = append(remarks, fmt.Sprintf("%d more of the names are of no class", more))
	}
	return append(remarks, r.notices...)
}

func (r *resolver) like(e *likeness) (index.Predicate, error) {
	if _, err := r.property(e.property); err != nil {
		return nil, err
	}
	pattern, err := r.value(e.pattern)
	if err != nil {
		return nil, err
	}
	if pattern.Kind() != kv.KindString {
		return nil, &ResolveError{Pos: e.pattern.pos, Msg: fmt.Sprintf("got %s for %s, want a pattern as 'graph%%'", describe(pattern), e.pattern)}
	}
	r.constants = append(r.constants, constant{property: e.property.text, value: pattern, pos: e.pattern.pos})
	return index.Like{Property: e.property.text, Pattern: pattern.Str(), AnyCase: e.anyCase}, nil
}

// escaped is the pattern of like that one text matches.
var escaped = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// lowered resolves a test of a property in lower case. A text with capitals is an error, since it would equal no value.
func (r *resolver) lowered(e *lowered) (index.Predicate, error) {
	column, err := r.property(e.property)
	if err != nil {
		return nil, err
	}
	if column.Name != "id" && column.Kind != kv.KindString && column.Kind != kv.KindClass {
		return nil, &ResolveError{Pos: e.property.pos, Msg: e.property.String() + " is no text: lower wants one"}
	}
	var terms []index.Predicate
	for _, l := range e.values {
		like, err := r.like(&likeness{property: e.property, pattern: l, anyCase: true})
		if err != nil {
			return nil, err
		}
		test := like.(index.Like)
		if small := strings.ToLower(test.Pattern); small != test.Pattern {
			return nil, &ResolveError{Pos: l.pos, Msg: fmt.Sprintf("lower(%s) has no capitals: got %s, want %s", e.property, Quote(test.Pattern), Quote(small))}
		}
		if e.operator != "like" {
			test.Pattern = escaped.Replace(test.Pattern)
		}
		terms = append(terms, test)
	}
	return index.Or{Terms: terms}, nil
}

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

// value resolves a literal; a parameter takes its argument.
func (r *resolver) value(l literal) (kv.Value, error) {
	switch l.kind {
	case literalParam:
		if l.number > len(r.args) {
			return kv.Value{}, &ResolveError{Pos: l.pos, Msg: fmt.Sprintf("%s has no argument: %d given", l, len(r.args))}
		}
		r.used[l.number-1] = true
		return r.args[l.number-1], nil
	case literalBool:
		return kv.ValueOf(l.boolean), nil
	case literalInt:
		return kv.ValueOf(l.integer), nil
	case literalFloat:
		return kv.ValueOf(l.float), nil
	case literalString, literalWord:
		return kv.ValueOf(l.text), nil
	default:
		return kv.Value{}, nil
	}
}

// whole resolves a whole number from least to most. It may be written as 1e3.
func (r *resolver) whole(l literal, what string, least, most int) (int, error) {
	value, err := r.value(l)
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
		return 0, &ResolveError{Pos: l.pos, Msg: fmt.Sprintf("got %s for %s, want a whole number %s", describe(value), what, limits)}
	}
	return int(n), nil
}

// hops resolves a number of hops.
func (r *resolver) hops(l literal) (int, error) { return r.whole(l, "hops", 1, math.MaxInt) }

// share resolves a number strictly between 0 and 1.
func (r *resolver) share(l literal, what string) (float64, error) {
	value, err := r.value(l)
	if err != nil {
		return 0, err
	}
	if kind := value.Kind(); kind != kv.KindInt && kind != kv.KindFloat || !(value.Float() > 0 && value.Float() < 1) {
		return 0, &ResolveError{Pos: l.pos, Msg: fmt.Sprintf("got %s for %s, want a number between 0 and 1", describe(value), what)}
	}
	return value.Float(), nil
}

// findNode finds the node of an id.
func (r *resolver) findNode(l literal) (kv.NodeID, error) {
	value, err := r.value(l)
	if err != nil {
		return 0, err
	}
	v, err := r.tx.Node(value.String())
	if errors.Is(err, kv.ErrNotFound) {
		return 0, &ResolveError{Pos: l.pos, Msg: fmt.Sprintf("the store has no node %s", Quote(value.String())), Err: err}
	}
	return v, err
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

func joinNames(names []string) string {
	list := ""
	for i, n := range names {
		if i > 0 {
			list += ", "
		}
		list += QuoteName(n)
	}
	return list
}

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
	switch arg := arg.(type) {
	case nil:
		return kv.Value{}, nil
	case kv.Value:
		return arg, nil
	case bool:
		return kv.ValueOf(arg), nil
	case string:
		return kv.ValueOf(arg), nil
	case int:
		return kv.ValueOf(int64(arg)), nil
	case int32:
		return kv.ValueOf(int64(arg)), nil
	case int64:
		return kv.ValueOf(arg), nil
	case uint32:
		return kv.ValueOf(int64(arg)), nil
	case float32:
		return kv.ValueOf(float64(arg)), nil
	case float64:
		return kv.ValueOf(arg), nil
	default:
		return kv.Value{}, fmt.Errorf("a %T is no value of a query, want a bool, int, int32, int64, uint32, float32, float64, string, kv.Value or nil", arg)
	}
}
