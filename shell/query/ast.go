package query

import (
	"slices"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A Statement is one parsed statement. Its names are not yet looked up in a store.
type Statement struct{ of statement }

// Parse reads one statement; a semicolon may end it. An error is a *ParseError.
func Parse(text string) (Statement, error) {
	s, err := parse(text, startOfText)
	return Statement{s}, err
}

// Writes reports whether the statement changes a store.
func (s Statement) Writes() bool {
	switch of := s.of.(type) {
	case *cleanStatement, *rescoreStatement, *decideStatement, *undoStatement, *indexStatement:
		return true
	case *auditStatement:
		return of.size != nil || of.promise != nil
	}
	return false
}

// A Condition is a parsed condition, as it follows where. The zero Condition is true of every node.
type Condition struct{ of expression }

// ParseCondition reads a condition; an empty text is the zero Condition. An error is a *ParseError.
func ParseCondition(text string) (Condition, error) {
	if strings.TrimSpace(text) == "" {
		return Condition{}, nil
	}
	p := newParser(text, startOfText)
	where, err := p.expression()
	if err != nil {
		return Condition{}, err
	}
	if p.current.kind != tokenEnd {
		p.wants = append(p.wants, want{label: "the end of the condition"})
		return Condition{}, p.fail()
	}
	return Condition{where}, nil
}

// Where returns the statement with another condition behind where. Errors of the condition point into its own text. The statement finds
// or counts nodes, or is a decision with a condition; any other is returned as it is. The zero Condition takes the condition away.
func (s Statement) Where(c Condition) Statement {
	switch of := s.of.(type) {
	case *suspectsStatement:
		changed := *of
		changed.where = c.of
		return Statement{&changed}
	case *nodesStatement:
		changed := *of
		changed.where = c.of
		return Statement{&changed}
	case *countStatement:
		changed := *of
		changed.of = Statement{of.of}.Where(c).of
		return Statement{&changed}
	case *decideStatement:
		if of.ids != nil {
			return s
		}
		changed := *of
		if changed.where = c.of; c.of == nil {
			changed.where = anyNode
		}
		return Statement{&changed}
	}
	return s
}

// anyNode is true of every node.
var anyNode = &negation{term: &isNull{name{text: "id", pos: startOfText}}}

// A statement is the tree of one parsed statement: one of the types below.
type statement any

type (
	// suspectsStatement lists suspects; the guarantee, if any, sets the threshold, and the promise chooses a list.
	suspectsStatement struct {
		guarantee *guarantee
		promise   *promise
		clauses
	}

	// nodesStatement lists nodes: all, or those of a list that keeps a promise.
	nodesStatement struct {
		promise *promise
		clauses
	}

	// countStatement counts what a suspectsStatement, nodesStatement or historyStatement finds.
	countStatement struct {
		of      statement
		groupBy []name
		totals  []total
		order   []orderTerm
		limit   *literal
		offset  *literal
	}

	// planStatement says how a statement would be answered.
	planStatement struct{ of statement }

	nodeStatement    struct{ ids []literal }
	explainStatement struct{ id literal }

	classesStatement struct{ clauses }

	neighborsStatement struct {
		id   literal
		hops *literal
		clauses
	}

	cleanStatement struct {
		hops, threshold, expect, seed *literal
		direction                     kv.Direction
		preset                        cleaner.Preset   // "" if not given
		imported                      cleaner.Imported // "" if not given
	}

	// decideStatement decides on the nodes of ids, if a proviso is true of each of them. If ids is nil, it decides on the
	// suspects that a condition is true of, or on all nodes that it is, the first of them if there is a limit.
	decideStatement struct {
		kind    decide.Kind
		ids     []literal
		proviso expression // nil: none
		all     bool
		where   expression
		limit   *literal // beside where
		label   *literal // of relabel
		why     *literal
	}

	undoStatement    struct{ steps *literal }
	rescoreStatement struct{ full bool }

	// auditStatement tells where the audit stands. With a size or a promise, it draws first.
	auditStatement struct {
		size, seed *literal
		promise    *promise
	}

	historyStatement struct {
		id *literal
		clauses
	}

	// indexStatement creates or drops the index of a property.
	indexStatement struct {
		verb     string // create or drop
		property name
	}

	// wordStatement is a statement that is only its name: agreement, describe, noise, runs, stats.
	wordStatement struct{ word string }
)

// A guarantee asks for the threshold that bounds an error rate by alpha; rate is the mislabel rate p,
// if the run's own estimate is not wanted.
type guarantee struct {
	kind  string // fpr or fnr
	alpha literal
	rate  *literal
}

// A promise asks for a list of which at most a share is wasted.
type promise struct {
	kind  cleaner.ListKind
	share literal
}

// clauses are what may follow a statement that lists rows. A sample is of suspects and nodes alone.
type clauses struct {
	where         expression
	sample        *sample
	order         []orderTerm
	limit, offset *literal
	returned      *returned
}

// distinct says whether equal rows are returned once.
func (c *clauses) distinct() bool { return c.returned != nil && c.returned.distinct }

// returned says which columns an answer has: all, or those that are named.
type returned struct {
	distinct, all bool
	columns       []returnedColumn
}

type returnedColumn struct {
	of name
	as *name
}

// named is what the column has the values of that as gives a name to.
func (r *returned) named(n name) (of name, ok bool) {
	if r == nil {
		return of, false
	}
	i := slices.IndexFunc(r.columns, func(c returnedColumn) bool { return c.as != nil && c.as.text == n.text })
	if i < 0 {
		return of, false
	}
	return r.columns[i].of, true
}

// An orderTerm is a property, or of groups also a column of their rows, or a total.
type orderTerm struct {
	by         name
	total      *total
	descending bool
}

// A total is one of totalFunctions of the values of a property.
type total struct {
	function string
	of       name
	as       *name
	pos      Pos
}

// A name is a property as it was written, or a share of labels, whose text is its spelling.
type name struct {
	text  string
	pos   Pos
	share *share
}

// A share is that of the nodes within some hops with one label: with the class, or else with the one that the property has.
type share struct {
	of    *name
	class *literal
	hops  *literal // nil: 1
}

type literalKind uint8

const (
	literalNull literalKind = iota
	literalBool
	literalInt
	literalFloat
	literalString
	literalWord  // an id without quotes
	literalParam // number is the parameter's, from 1
)

// A literal is a constant or a parameter. Text is the value of strings and words and the source of
// numbers.
type literal struct {
	kind    literalKind
	text    string
	boolean bool
	integer int64
	float   float64
	number  int
	pos     Pos
}

// An expression is a condition on properties: one of the types below.
type expression any

type (
	// logical is two or more terms joined by one operator, "and" or "or".
	logical struct {
		operator string
		terms    []expression
	}

	negation struct{ term expression }

	comparison struct {
		property name
		operator string // = != < <= > >=
		value    literal
	}

	// pair compares a property with another one of the same node.
	pair struct {
		property name
		operator string // as of comparison
		other    name
	}

	membership struct {
		property name
		values   []literal
	}

	likeness struct {
		property name
		pattern  literal
		anyCase  bool // ilike
	}

	// lowered compares a property in lower case, by = with a text, by in with some, or by like with a pattern.
	lowered struct {
		property name
		operator string
		values   []literal
	}

	// between includes both ends.
	between struct {
		property  name
		low, high literal
	}

	isNull struct{ property name }

	// bare is a property that stands alone, which is true or false.
	bare struct{ property name }

	// neighbor is true if where is true of a node within some hops.
	neighbor struct {
		where expression
		hops  *literal // nil: 1
		pos   Pos
	}
)

func (n name) String() string {
	if n.share != nil {
		return n.text
	}
	return QuoteName(n.text)
}

func (l literal) String() string {
	switch l.kind {
	case literalBool:
		return strconv.FormatBool(l.boolean)
	case literalInt, literalFloat, literalWord:
		return l.text
	case literalString:
		return Quote(l.text)
	case literalParam:
		return "$" + strconv.Itoa(l.number)
	default:
		return "null"
	}
}
