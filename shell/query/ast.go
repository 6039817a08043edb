package query

import (
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

// String returns the text of the statement in one fixed spelling. The text parses to an equal statement.
func (s Statement) String() string { return s.of.String() }

// Writes reports whether the statement changes a store.
func (s Statement) Writes() bool {
	switch s.of.(type) {
	case *cleanStatement, *rescoreStatement, *decideStatement, *undoStatement, *indexStatement:
		return true
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

// A statement is the tree of one parsed statement. String is the text of a Statement.
type statement interface {
	String() string
}

type (
	// suspectsStatement lists suspects; the guarantee, if any, sets the threshold.
	suspectsStatement struct {
		guarantee *guarantee
		clauses
	}

	// nodesStatement lists nodes; moment, if any, is when they had the labels that are asked for.
	nodesStatement struct {
		moment *moment
		clauses
	}

	// countStatement counts what a suspectsStatement or nodesStatement finds.
	countStatement struct {
		of      statement
		groupBy *name
	}

	// planStatement says how a statement would be answered.
	planStatement struct{ of statement }

	nodeStatement    struct{ id literal }
	explainStatement struct{ id literal }

	neighborsStatement struct {
		id    literal
		hops  *literal
		limit *literal
	}

	cleanStatement struct {
		hops, threshold, expect, seed *literal
		direction                     kv.Direction
		preset                        cleaner.Preset       // "" where not given
		diagonal                      cleaner.DiagonalMode // "" where not given
	}

	// decideStatement decides on the nodes of ids, or where ids is nil on the suspects that a condition is true of, or on
	// all nodes that it is.
	decideStatement struct {
		kind  decide.Kind
		ids   []literal
		all   bool
		where expression
		label *literal // of relabel
		why   *literal
	}

	undoStatement    struct{ steps *literal }
	rescoreStatement struct{}
	historyStatement struct{ id *literal }

	// indexStatement creates or drops the index of a property.
	indexStatement struct {
		verb     string // create or drop
		property name
	}

	// wordStatement is a statement that is only its name: classes, noise, runs, stats.
	wordStatement struct{ word string }
)

// A moment is after a run of clean or at a time.
type moment struct {
	run  *literal
	time *literal // where run is nil
}

// A guarantee asks for the threshold that bounds an error rate by alpha; rate is the mislabel rate p,
// where the run's own estimate is not wanted.
type guarantee struct {
	kind  string // fpr or fnr
	alpha literal
	rate  *literal
}

// clauses are what may follow suspects and nodes.
type clauses struct {
	where   expression
	order   []orderTerm
	limit   *literal
	columns []name
}

type orderTerm struct {
	by         name
	descending bool
}

// A name is a property as it was written.
type name struct {
	text string
	pos  Pos
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

// An expression is a condition on properties.
type expression interface {
	String() string
}

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

	membership struct {
		property name
		values   []literal
	}

	likeness struct {
		property name
		pattern  literal
	}

	// between includes both ends.
	between struct {
		property  name
		low, high literal
	}

	isNull struct{ property name }
)

func (s *suspectsStatement) String() string {
	text := "suspects"
	if g := s.guarantee; g != nil {
		text += " " + g.kind + " " + g.alpha.String()
		if g.rate != nil {
			text += " p " + g.rate.String()
		}
	}
	return text + s.clauses.String()
}

func (s *nodesStatement) String() string { return "nodes" + s.moment.String() + s.clauses.String() }

// String is " as of …", "" of no moment.
func (m *moment) String() string {
	switch {
	case m == nil:
		return ""
	case m.run != nil:
		return " as of run " + m.run.String()
	default:
		return " as of " + m.time.String()
	}
}

func (s *countStatement) String() string {
	text := "count " + s.of.String()
	if s.groupBy != nil {
		text += " group by " + s.groupBy.String()
	}
	return text
}

func (s *planStatement) String() string    { return "plan " + s.of.String() }
func (s *nodeStatement) String() string    { return "node " + s.id.String() }
func (s *explainStatement) String() string { return "explain " + s.id.String() }
func (s *wordStatement) String() string    { return s.word }

func (s *neighborsStatement) String() string {
	text := "neighbors " + s.id.String()
	if s.hops != nil {
		text += " hops " + s.hops.String()
	}
	if s.limit != nil {
		text += " limit " + s.limit.String()
	}
	return text
}

func (s *cleanStatement) String() string {
	text := "clean"
	option := func(name, value string) {
		if value != "" {
			text += " " + name + " " + value
		}
	}
	option("hops", s.hops.orNothing())
	option("preset", string(s.preset))
	if s.direction != kv.Both {
		option("direction", s.direction.String())
	}
	option("diagonal", string(s.diagonal))
	option("threshold", s.threshold.orNothing())
	option("expect", s.expect.orNothing())
	option("seed", s.seed.orNothing())
	return text
}

func (s *decideStatement) String() string {
	text := s.kind.String()
	for i, id := range s.ids {
		text += []string{" ", ", "}[min(i, 1)] + id.String()
	}
	if s.label != nil {
		text += " " + s.label.String()
	}
	if s.all {
		text += " all"
	}
	if s.where != nil {
		text += " where " + s.where.String()
	}
	if s.why != nil {
		text += " because " + s.why.String()
	}
	return text
}

func (*rescoreStatement) String() string   { return "rescore" }
func (s *undoStatement) String() string    { return strings.TrimSpace("undo " + s.steps.orNothing()) }
func (s *historyStatement) String() string { return strings.TrimSpace("history " + s.id.orNothing()) }
func (s *indexStatement) String() string   { return s.verb + " index on " + s.property.String() }

func (c *clauses) String() string {
	var text strings.Builder
	if c.where != nil {
		text.WriteString(" where " + c.where.String())
	}
	for i, term := range c.order {
		text.WriteString([]string{" order by ", ", "}[min(i, 1)] + term.by.String())
		if term.descending {
			text.WriteString(" desc")
		}
	}
	if c.limit != nil {
		text.WriteString(" limit " + c.limit.String())
	}
	for i, column := range c.columns {
		text.WriteString([]string{" return ", ", "}[min(i, 1)] + column.String())
	}
	return text.String()
}

func (n name) String() string { return quoteName(n.text) }

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

// orNothing is the text of a literal that may be left out.
func (l *literal) orNothing() string {
	if l == nil {
		return ""
	}
	return l.String()
}

func (e *logical) String() string {
	parts := make([]string, len(e.terms))
	for i, term := range e.terms {
		parts[i] = term.String()
		if _, nested := term.(*logical); nested {
			parts[i] = "(" + parts[i] + ")"
		}
	}
	return strings.Join(parts, " "+e.operator+" ")
}

func (e *negation) String() string {
	if _, nested := e.term.(*logical); nested {
		return "not (" + e.term.String() + ")"
	}
	return "not " + e.term.String()
}

func (e *comparison) String() string {
	return e.property.String() + " " + e.operator + " " + e.value.String()
}

func (e *membership) String() string {
	parts := make([]string, len(e.values))
	for i, value := range e.values {
		parts[i] = value.String()
	}
	return e.property.String() + " in (" + strings.Join(parts, ", ") + ")"
}

func (e *likeness) String() string { return e.property.String() + " like " + e.pattern.String() }

func (e *between) String() string {
	return e.property.String() + " between " + e.low.String() + " and " + e.high.String()
}

func (e *isNull) String() string { return e.property.String() + " is null" }
