package index

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/kv"
)

// builtinColumns holds the kinds of the built-in properties that are stored columns. If a store lacks the column, the
// property is null for every node, without an error. A computed property does not belong here: kv computes id and
// degree (Tx.Column, Tx.Value, ColumnReader), and the constants below name them.
var builtinColumns = map[string]kv.Kind{
	"label":      kv.KindString,
	"suggested":  kv.KindString,
	"score":      kv.KindFloat,
	"confidence": kv.KindFloat,
	"split":      kv.KindString,
	"decision":   kv.KindString,
	"decided_by": kv.KindString,
	"disputed":   kv.KindBool,
	"run":        kv.KindInt,
}

// The computed properties. Every node has them, and no column stores them.
const (
	propertyID     = "id"
	propertyDegree = "degree"
)

// A property has the facts about a name in a query.
type property struct {
	name    string
	kind    kv.Kind // of its values: KindBool, KindInt, KindFloat or KindString
	absent  bool    // built in, and the store has no such column
	indexed bool
}

// A schema knows the properties a query names.
type schema map[string]property

// newSchema looks up names. For an unknown name it returns an *UnknownPropertyError.
func newSchema(tx *kv.Tx, names []string, computed map[string]Computed) (schema, error) {
	s := schema{}
	for _, name := range names {
		if c, ok := computed[name]; ok {
			s[name] = property{name: name, kind: valueKind(c.Kind)}
			continue
		}
		if tx == nil {
			return nil, &UnknownPropertyError{Property: name}
		}
		if c, ok := tx.Column(name); ok {
			s[name] = property{name: name, kind: valueKind(c.Kind), indexed: c.Indexed}
			continue
		}
		kind, ok := builtinColumns[name]
		if !ok {
			return nil, &UnknownPropertyError{Property: name}
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

// An UnknownPropertyError names a property that is neither stored nor built in.
type UnknownPropertyError struct{ Property string }

func (e *UnknownPropertyError) Error() string {
	return "no property is named " + strconv.Quote(e.Property)
}

// A TypeError says that a property is compared with a constant or a property of another type.
type TypeError struct {
	Property string
	Kind     kv.Kind  // of the property's values: KindBool, KindInt, KindFloat or KindString
	Value    kv.Value // the constant

	Other     string  // the other property; "" if it is a constant
	OtherKind kv.Kind // of the other property's values
}

func (e *TypeError) Error() string {
	holds := map[kv.Kind]string{
		kv.KindBool: "true or false", kv.KindInt: "integers", kv.KindFloat: "numbers", kv.KindString: "strings",
	}
	constant := map[kv.Kind]string{
		kv.KindBool: "", kv.KindInt: "the number ", kv.KindFloat: "the number ", kv.KindString: "the string ",
	}
	if e.Property == propertyID && e.Other == "" {
		return e.idError(constant[e.Value.Kind()])
	}
	if e.Other != "" {
		return fmt.Sprintf("property %s holds %s and cannot be compared with %s, which holds %s",
			e.Property, holds[e.Kind], e.Other, holds[e.OtherKind])
	}
	text := fmt.Sprintf("property %s holds %s and cannot be compared with %s%s",
		e.Property, holds[e.Kind], constant[e.Value.Kind()], literal(e.Value))
	isNumber := e.Kind == kv.KindInt || e.Kind == kv.KindFloat
	given := e.Value.String()
	if e.Value.Kind() == kv.KindString &&
		(isNumber && isDecimal(given) || e.Kind == kv.KindBool && (given == "true" || given == "false")) {
		text += ": want " + given + " without quotes"
	}
	return text
}

// isDecimal reports whether a text is a number as a query writes it.
func isDecimal(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil && strings.Trim(text, "+-.0123456789eE") == ""
}

// idError is Error for id, whose kind depends on what ids the store has.
func (e *TypeError) idError(constant string) string {
	number := e.Value.Kind() == kv.KindInt || e.Value.Kind() == kv.KindFloat
	switch {
	case e.Kind == kv.KindString && number:
		return fmt.Sprintf(
			"the ids of this store are text, since not all of them are integers, and text has no order among numbers: "+
				"got %s%s, which compares as text in quotes: '%[2]s'", constant, e.Value)
	case e.Kind == kv.KindInt && e.Value.Kind() == kv.KindString:
		return fmt.Sprintf(
			"the ids of this store are integers, and text has no order among them: got %s%s, want a number without quotes",
			constant, literal(e.Value))
	default:
		return fmt.Sprintf("ids cannot be compared with %s%s", constant, literal(e.Value))
	}
}

// check returns a *TypeError for the first constant of p that does not go with its property.
func (s schema) check(p Predicate) error {
	var problem error
	walk(p, func(leaf Predicate) {
		if pair, ok := leaf.(CompareProperties); ok {
			if problem == nil {
				problem = s.checkPair(pair)
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
			constants = []kv.Value{kv.ValueOf(leaf.Pattern)}
			if prop.name == propertyID {
				return // matches the text of an id of either kind
			}
		}
		for _, c := range constants {
			if problem == nil && (!prop.comparable(c) || isOrder(leaf) && !prop.hasOrder(c)) {
				problem = &TypeError{Property: prop.name, Kind: prop.kind, Value: c}
			}
		}
	})
	return problem
}

// comparable reports whether c can be compared with the property: null always, numbers with numbers, and ids with text
// and integers. hasOrder reports whether the comparison may be one of order.
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

// hasOrder reports whether a comparable constant has an order among the values: text has none among integer ids, and a
// number has none among text ids. If a new id turns all ids into text, a condition becomes an error, and never another
// condition.
func (p property) hasOrder(c kv.Value) bool {
	return p.name != propertyID || c.IsNull() || (p.kind == kv.KindString) == (c.Kind() == kv.KindString)
}
