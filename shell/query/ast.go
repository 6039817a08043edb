package query

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A Statement is one parsed statement. Its names are not yet looked up in a store.
type Statement struct {
	verb
	writes bool
	params map[int]bool // the numbers of parameters

	// rows are what it lists or counts: suspects, nodes, labels or history. A count has groups, and its order and limit
	// are those of the groups.
	rows   string
	counts bool
	clauses

	ids   []literal
	hops  *literal
	bound *bound // of a list, or of an audit that draws

	size, seed *literal // of a sample of rows, or of an audit that draws; clean has a seed too
	expect     *literal // of clean
	preset     string   // "" if not given
	imported   cleaner.Imported

	// A decision is on the nodes of ids, if a proviso is true of each of them. If ids is nil, it is on the suspects that
	// the condition of clauses is true of, or with all on all nodes that it is.
	kind    decide.Kind
	proviso *expression // nil: none
	all     bool
	label   *literal // of relabel
	why     *literal

	full     bool // of rescore
	property name // of an index
}

// A verb is how statements that begin with a word are read and answered.
type verb struct {
	name   string
	parse  func(p *parser, s *Statement) // what follows the name; nil: nothing
	answer func(q *query, ctx context.Context, s *Statement) (*Result, error)
}

// The verbs, those that read and those that write.
var (
	readers = []verb{
		{"audit", (*parser).audit, (*query).audit},
		{"classes", nil, (*query).classes},
		{"count", (*parser).count, (*query).count},
		{"explain", (*parser).explain, (*query).explain},
		{"history", (*parser).history, (*query).history},
		{"labels", (*parser).list, (*query).list},
		{"neighbors", (*parser).neighbors, (*query).neighbors},
		{"node", (*parser).node, (*query).describeNodes},
		{"nodes", (*parser).list, (*query).list},
		{"noise", nil, (*query).noise},
		{"plan", (*parser).plan, (*query).plan},
		{"runs", nil, (*query).runs},
		{"stats", nil, (*query).stats},
		{"suspects", (*parser).list, (*query).list},
	}
	writers = []verb{
		{"accept", (*parser).decide, (*query).decide},
		{"clean", (*parser).clean, (*query).clean},
		{"create", (*parser).index, (*query).index},
		{"drop", (*parser).index, (*query).index},
		{"reject", (*parser).decide, (*query).decide},
		{"relabel", (*parser).decide, (*query).decide},
		{"rescore", (*parser).rescore, (*query).rescore},
		{"undo", nil, (*query).undo},
		{"unlabel", (*parser).decide, (*query).decide},
		{"unsure", (*parser).decide, (*query).decide},
	}
)

// Parse reads one statement; a semicolon may end it. An error is a *TextError.
func Parse(text string) (Statement, error) { return parse(text, startOfText) }

// Writes reports whether the statement changes a store.
func (s Statement) Writes() bool { return s.writes }

// CheckCondition reads a condition, as it follows where; an empty text is one that is true of every node. An error is a
// *TextError.
func CheckCondition(text string) error {
	_, err := parseCondition(text)
	return err
}

func parseCondition(text string) (where *expression, err error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	err = caught(func() {
		p := newParser(text, startOfText)
		where = p.expression()
		p.end("the end of the condition")
	})
	return where, err
}

// ListsNodes reports whether the rows of the answer are nodes, each with its id if the statement returns that.
func (s Statement) ListsNodes() bool { return slices.Contains(listed, s.name) }

// A bound asks for a list that errs little. The kinds fpr and fnr set the threshold of suspects that bounds an error
// rate by a share; fdr and trusted promise a list of which at most a share is wasted.
type bound struct {
	kind  string
	share *literal
}

// isPromise reports whether draws of an audit must show that the bound is kept.
func (b *bound) isPromise() bool { return b != nil && (b.kind == "fdr" || b.kind == "trusted") }

// clauses may follow a statement that finds rows.
type clauses struct {
	where    *expression
	groupBy  []name
	totals   []name
	order    []orderTerm
	limit    *literal
	returned *returned
}

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

// A name is a property as it was written. That of a share of labels or a total is its spelling. A total is one of
// totalFunctions of the values of a property.
type name struct {
	text     string
	pos      Pos
	share    *share
	function string
	of       *name
}

// A share is that of the nodes within some hops with one label: with the class, or else with the one that the property
// has.
type share struct {
	of    *name
	class *literal
	hops  *literal // nil: 1
}

// A literal is a constant or a parameter.
type literal struct {
	value  kv.Value // of a constant
	text   string   // of a string or a word, and the source of a number
	isWord bool     // an id without quotes
	number int      // of a parameter, from 1; 0: a constant
	pos    Pos
}

// An expression is a condition on properties.
type expression struct {
	operator string        // and, or, not, which have terms, or that of a test
	terms    []*expression // of not one

	// A test compares a property with values, or with another property of the same node.
	property name
	values   []literal // one, of in one or more
	other    *name     // in place of values
}

// Operators of a test beside = != < <= > >= in like, which have values.
const (
	operatorNull = "null"
	operatorTrue = "true" // of a property that stands alone
)

func (n name) String() string {
	if n.share != nil || n.of != nil {
		return n.text
	}
	return QuoteName(n.text)
}

func (l literal) String() string {
	switch {
	case l.number > 0:
		return "$" + strconv.Itoa(l.number)
	case l.value.Kind() == kv.KindString && !l.isWord:
		return Quote(l.text)
	}
	return l.text
}
