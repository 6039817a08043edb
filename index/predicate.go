package index

import (
	"slices"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/kv"
)

// A Predicate is a condition on the properties of one node. It is a tree of the types below, and String prints
// it so that it can be read back by eye: (and (gt score 0.97) (eq label "Theory")).
//
// Conditions have three outcomes, as in SQL: a comparison with null, on either side, is neither true nor false,
// and so is its negation. A query answers with the nodes for which its predicate is true.
//
// Only the types below are predicates, as values, not as pointers. For anything else, and for a nil term, NewPlan and
// Holds return ErrPredicate.
type Predicate interface{ String() string }

// An Op compares a property with a constant.
type Op uint8

// The comparisons, in the order property Op constant.
const (
	Eq Op = iota
	Ne
	Lt
	Le
	Gt
	Ge
)

var opNames = [...]string{Eq: "eq", Ne: "ne", Lt: "lt", Le: "le", Gt: "gt", Ge: "ge"}

// String is the name of the comparison as predicates print it: eq, ne, lt, le, gt, ge.
func (op Op) String() string {
	if int(op) < len(opNames) {
		return opNames[op]
	}
	return "op" + strconv.Itoa(int(op))
}

// negation holds the comparison that is true exactly where op is false, null aside.
var negation = [...]Op{Eq: Ne, Ne: Eq, Lt: Ge, Le: Gt, Gt: Le, Ge: Lt}

// holds reports whether a comparison is true of two values whose order is sign.
func (op Op) holds(sign int) bool {
	switch op {
	case Eq:
		return sign == 0
	case Ne:
		return sign != 0
	case Lt:
		return sign < 0
	case Le:
		return sign <= 0
	case Gt:
		return sign > 0
	default:
		return sign >= 0
	}
}

type (
	// Compare is true if the property stands in the relation Op to Value. Integers and floats compare by
	// their exact numbers, strings by their bytes, false before true.
	Compare struct {
		Property string
		Op       Op
		Value    kv.Value
	}

	// CompareProperties is true if two properties of the node stand in the relation Op. The order is that of Compare.
	// Example: (ne label suggested) is true if both have values and the values differ.
	CompareProperties struct {
		Property string
		Op       Op
		Other    string
	}

	// In is true if the property equals one of Values. Without values it is false.
	In struct {
		Property string
		Values   []kv.Value
	}

	// Like is true if the whole string matches Pattern: % stands for any run of characters, _ for exactly one, and \
	// takes the next character for itself.
	Like struct{ Property, Pattern string }

	// IsNull is true if the property has no value. It is never unknown.
	IsNull struct{ Property string }

	// And is true if all terms are true, false if one is false, else unknown. Without terms it is true, and prints as
	// true.
	And struct{ Terms []Predicate }

	// Or is true if one term is true, false if all are false, else unknown. Without terms it is false, and prints as
	// false.
	Or struct{ Terms []Predicate }

	// Not is true if its term is false, false if its term is true, else unknown.
	Not struct{ Term Predicate }
)

func (p Compare) String() string {
	return "(" + p.Op.String() + " " + p.Property + " " + literal(p.Value) + ")"
}

func (p CompareProperties) String() string {
	return "(" + p.Op.String() + " " + p.Property + " " + p.Other + ")"
}

func (p In) String() string {
	var b strings.Builder
	b.WriteString("(in " + p.Property)
	for _, v := range p.Values {
		b.WriteString(" " + literal(v))
	}
	return b.String() + ")"
}

func (p Like) String() string {
	return "(like " + p.Property + " " + strconv.Quote(p.Pattern) + ")"
}

func (p IsNull) String() string { return "(null " + p.Property + ")" }

func (p And) String() string {
	if len(p.Terms) == 0 {
		return "true"
	}
	return list("and", p.Terms)
}

func (p Or) String() string {
	if len(p.Terms) == 0 {
		return "false"
	}
	return list("or", p.Terms)
}

func (p Not) String() string { return list("not", []Predicate{p.Term}) }

func list(name string, terms []Predicate) string {
	var b strings.Builder
	b.WriteString("(" + name)
	for _, t := range terms {
		if t == nil {
			b.WriteString(" nil")
			continue
		}
		b.WriteString(" " + t.String())
	}
	return b.String() + ")"
}

// literal prints a constant: strings quoted, null by name.
func literal(v kv.Value) string {
	switch v.Kind() {
	case kv.KindString:
		return strconv.Quote(v.Str())
	case kv.KindNull:
		return "null"
	default:
		return v.String()
	}
}

// Properties lists the properties of a predicate, each once, in the order of first mention. Nil and values of other
// types have none.
func Properties(p Predicate) []string {
	var names []string
	walk(p, func(leaf Predicate) {
		spoken := []string{propertyOf(leaf)}
		if pair, ok := leaf.(CompareProperties); ok {
			spoken = []string{pair.Property, pair.Other}
		}
		for _, name := range spoken {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	})
	return names
}

// walk calls visit for every term of p that names a property.
func walk(p Predicate, visit func(Predicate)) {
	switch p := p.(type) {
	case And:
		for _, t := range p.Terms {
			walk(t, visit)
		}
	case Or:
		for _, t := range p.Terms {
			walk(t, visit)
		}
	case Not:
		walk(p.Term, visit)
	case Compare, CompareProperties, In, Like, IsNull:
		visit(p)
	}
}

// propertyOf is the name that a Compare, In, Like or IsNull speaks of, and "" of a CompareProperties, which no single
// property decides.
func propertyOf(p Predicate) string {
	switch p := p.(type) {
	case Compare:
		return p.Property
	case CompareProperties:
		return ""
	case In:
		return p.Property
	case Like:
		return p.Property
	case IsNull:
		return p.Property
	default:
		panic("index: no condition on a property: " + p.String()) // validate has refused foreign types
	}
}
