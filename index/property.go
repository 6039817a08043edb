package index

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/kv"
)

// builtin holds the kinds of the built-in properties that a store may not have yet. Where the column is absent
// the property is null for every node.
var builtin = map[string]kv.Kind{
	"label":      kv.KindString,
	"suggested":  kv.KindString,
	"score":      kv.KindFloat,
	"confidence": kv.KindFloat,
	"split":      kv.KindString,
	"decision":   kv.KindString,
	"run":        kv.KindInt,
}

// The properties every node has, which are not columns.
const (
	propertyID     = "id"
	propertyDegree = "degree"
)

// A property is what a name in a query stands for.
type property struct {
	name    string
	kind    kv.Kind // of its values: KindBool, KindInt, KindFloat or KindString
	absent  bool    // a built-in property the store has no column of
	indexed bool
}

// A schema knows the properties a query names.
type schema map[string]property

// newSchema looks up names; the error of one that is unknown is an *UnknownPropertyError.
func newSchema(tx *kv.Tx, names []string) (schema, error) {
	s := schema{}
	for _, name := range names {
		if c, ok := tx.Column(name); ok {
			s[name] = property{name: name, kind: valueKind(c.Kind), indexed: c.Indexed}
			continue
		}
		kind, ok := builtin[name]
		if !ok {
			return nil, &UnknownPropertyError{Property: name, Nearest: Nearest(name, Names(tx))}
		}
		s[name] = property{name: name, kind: kind, absent: true}
	}
	return s, nil
}

// valueKind is the kind of the values that a column of a kind holds.
func valueKind(column kv.Kind) kv.Kind {
	switch column {
	case kv.KindSingle:
		return kv.KindFloat
	case kv.KindClass:
		return kv.KindString
	default:
		return column
	}
}

// Names lists every property a query may name, sorted: the stored columns and the built-in names.
func Names(tx *kv.Tx) []string {
	names := []string{propertyID, propertyDegree}
	for name := range builtin {
		names = append(names, name)
	}
	for _, c := range tx.Columns() {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// An UnknownPropertyError names a property that is neither stored nor built in.
type UnknownPropertyError struct {
	Property string
	Nearest  []string // known names it may be a slip for, best first; may be empty
}

func (e *UnknownPropertyError) Error() string {
	text := "no property is named " + strconv.Quote(e.Property)
	if len(e.Nearest) > 0 {
		text += ": did you mean " + strings.Join(e.Nearest, " or ") + "?"
	}
	return text
}

// A TypeError says that a property is compared with a constant, or with another property, that its values cannot be
// compared with.
type TypeError struct {
	Property string
	Kind     kv.Kind  // of the property's values: KindBool, KindInt, KindFloat or KindString
	Value    kv.Value // the constant

	Other     string  // the other property; "" where it is a constant
	OtherKind kv.Kind // of the other property's values
}

func (e *TypeError) Error() string {
	holds := map[kv.Kind]string{
		kv.KindBool: "true or false", kv.KindInt: "integers", kv.KindFloat: "numbers", kv.KindString: "strings",
	}
	constant := map[kv.Kind]string{
		kv.KindBool: "", kv.KindInt: "the number ", kv.KindFloat: "the number ", kv.KindString: "the string ",
	}
	if e.Other != "" {
		return fmt.Sprintf("property %s holds %s and cannot be compared with %s, which holds %s",
			e.Property, holds[e.Kind], e.Other, holds[e.OtherKind])
	}
	return fmt.Sprintf("property %s holds %s and cannot be compared with %s%s",
		e.Property, holds[e.Kind], constant[e.Value.Kind()], literal(e.Value))
}

// check returns a *TypeError for the first constant of p that does not go with its property.
func (s schema) check(p Predicate) error {
	var failed error
	walk(p, func(leaf Predicate) {
		if pair, ok := leaf.(CompareProperties); ok {
			if failed == nil {
				failed = s.checkPair(pair)
			}
			return
		}
		prop := s[propertyOf(leaf)]
		var constants []kv.Value
		switch leaf := leaf.(type) {
		case Compare:
			constants = []kv.Value{leaf.Value}
		case In:
			constants = leaf.Values
		case Like:
			constants = []kv.Value{kv.StringValue(leaf.Pattern)}
			if prop.name == propertyID {
				return // matches the text of an id of either kind
			}
		}
		for _, c := range constants {
			if failed == nil && (!prop.comparable(c) || isOrder(leaf) && !prop.ordered(c)) {
				failed = &TypeError{Property: prop.name, Kind: prop.kind, Value: c}
			}
		}
	})
	return failed
}

// comparable reports whether c can stand against the property: null always, numbers with numbers, and an id, text
// or integer, with the constant that writes it in the other way.
func (p property) comparable(c kv.Value) bool {
	switch kind := c.Kind(); {
	case kind == kv.KindNull:
		return true
	case p.name == propertyID && p.kind == kv.KindString:
		return kind == kv.KindString || kind == kv.KindInt
	case p.name == propertyID && kind == kv.KindString:
		return true
	case kind == kv.KindInt || kind == kv.KindFloat:
		return p.kind == kv.KindInt || p.kind == kv.KindFloat
	default:
		return kind == p.kind
	}
}

func isOrder(p Predicate) bool {
	c, ok := p.(Compare)
	return ok && c.Op != Eq && c.Op != Ne
}

// ordered reports whether a comparable constant has a place among the property's values: text that is no number
// has none among integer ids.
func (p property) ordered(c kv.Value) bool {
	if p.kind == kv.KindInt && c.Kind() == kv.KindString {
		_, exact, _ := p.hold(c)
		return exact
	}
	return true
}

// Nearest returns up to three of known that name may be a slip for, best first: those at an edit distance of at
// most a third of its length, and at least one.
func Nearest(name string, known []string) []string {
	type candidate struct {
		name     string
		distance int
	}
	limit := max(1, len(name)/3)
	var found []candidate
	for _, k := range known {
		if d := editDistance(strings.ToLower(name), strings.ToLower(k)); d <= limit {
			found = append(found, candidate{k, d})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return a.distance - b.distance })
	var names []string
	for _, c := range found[:min(3, len(found))] {
		names = append(names, c.name)
	}
	return names
}

// editDistance counts the characters to insert, delete, replace, or swap with their neighbour, that lead from a
// to b.
func editDistance(a, b string) int {
	x, y := []rune(a), []rune(b)
	var before, last []int // rows i-2 and i-1 of the table
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(x); i++ {
		before, last, row = last, row, make([]int, len(y)+1)
		row[0] = i
		for j := 1; j <= len(y); j++ {
			replace := last[j-1]
			if x[i-1] != y[j-1] {
				replace++
			}
			row[j] = min(replace, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(y)]
}
