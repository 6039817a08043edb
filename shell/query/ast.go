package query

import (
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
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

// CheckCondition reads a condition, as it follows where; an empty text is one that is true of every node. An error is a
// *ParseError.
func CheckCondition(text string) error {
	_, err := parseCondition(text)
	return err
}

func parseCondition(text string) (where expression, err error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	p := newParser(text, startOfText)
	if where, err = p.expression(); err == nil {
		err = p.end("the end of the condition")
	}
	return where, err
}

// ListsNodes reports whether the rows of the answer are nodes, each with its id if the statement returns that.
func (s Statement) ListsNodes() bool {
	list, ok := s.of.(*listStatement)
	return ok && !list.counts
}

// A statement is the tree of one parsed statement: one of the types below.
type statement any

type (
	// listStatement lists or counts nodes: suspects or any, or those of a list that keeps a promise. The guarantee, if
	// any, sets the threshold of suspects. A count has groups, and its order and limit are those of the groups.
	listStatement struct {
		suspects, counts bool
		guarantee        *guarantee
		promise          *promise
		clauses
	}

	// historyStatement lists decisions, or counts them: those on a node, or all.
	historyStatement struct {
		counts bool
		id     *literal
		clauses
	}

	// planStatement says how a statement would be answered.
	planStatement struct{ of *listStatement }

	nodeStatement    struct{ ids []literal }
	explainStatement struct{ id literal }

	neighborsStatement struct {
		id   literal
		hops *literal
		clauses
	}

	cleanStatement struct {
		hops, expect, seed *literal
		preset             string           // "" if not given
		imported           cleaner.Imported // "" if not given
	}

	// decideStatement decides on the nodes of ids, if a proviso is true of each of them. If ids is nil, it decides on
	// the suspects that a condition is true of, or on all nodes that it is.
	decideStatement struct {
		kind    decide.Kind
		ids     []literal
		proviso expression // nil: none
		all     bool
		where   expression
		label   *literal // of relabel
		why     *literal
	}

	undoStatement    struct{}
	rescoreStatement struct{ full bool }

	// auditStatement tells where the audit stands. With a size or a promise, it draws first.
	auditStatement struct {
		size, seed *literal
		promise    *promise
	}

	// indexStatement creates or drops the index of a property.
	indexStatement struct {
		verb     string // create or drop
		property name
	}

	// wordStatement is a statement that is only its name: classes, noise, runs, stats.
	wordStatement struct{ word string }
)

// A guarantee asks for the threshold that bounds an error rate by alpha.
type guarantee struct {
	kind  string // fpr or fnr
	alpha *literal
}

// A promise asks for a list of which at most a share is wasted.
type promise struct {
	kind  cleaner.ListKind
	share *literal
}

// clauses may follow a statement that finds rows.
type clauses struct {
	where    expression
	sample   *sample
	groupBy  []name
	totals   []total
	order    []orderTerm
	limit    *literal
	returned *returned
}

// A sample asks for so many of the rows, drawn at random.
type sample struct{ size, seed *literal }

// returned says which columns an answer has: all, or those that are named.
type returned struct {
	all     bool
	columns []name
}

// An orderTerm is a property, or of groups a column of their rows.
type orderTerm struct {
	by         name
	descending bool
}

// A total is one of totalFunctions of the values of a property.
type total struct {
	function string
	of       name
	pos      Pos
}

// A name is a property as it was written. That of a share of labels or a total is its spelling.
type name struct {
	text    string
	pos     Pos
	share   *share
	isTotal bool
}

// A share is that of the nodes within some hops with one label: with the class, or else with the one that the property
// has.
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

	// test compares a property by an operator with values, or with another property of the same node.
	test struct {
		property name
		operator string
		values   []literal // one, of in one or more
		other    *name     // in place of values
	}
)

// Operators of a test beside = != < <= > >= in like, which have values.
const (
	operatorNull = "null"
	operatorTrue = "true" // of a property that stands alone
)

func (n name) String() string {
	if n.share != nil || n.isTotal {
		return n.text
	}
	return QuoteName(n.text)
}

// String is the total as the language has it, which names its column.
func (t *total) String() string { return t.function + "(" + t.of.String() + ")" }

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
