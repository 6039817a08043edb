package query

import (
	"slices"
	"strings"
)

// parse reads one statement that starts at a place; a semicolon may end it.
func parse(text string, at Pos) (s Statement, err error) {
	err = caught(func() {
		p := newParser(text, at)
		p.statement(&s)
		if p.acceptAs(";", "the end of the statement") {
			p.end("nothing after the statement")
		}
		p.end()
		s.params = p.params
	})
	return s, err
}

func (p *parser) statement(s *Statement) {
	for i, v := range slices.Concat(readers, writers) {
		if !p.accept(v.name) {
			continue
		}
		s.verb, s.writes = v, i >= len(readers)
		if v.parse != nil {
			v.parse(p, s)
		}
		return
	}
	p.wants = nil
	p.fail("a statement (" + strings.Join(StatementNames(), ", ") + ")")
}

// listed are the rows that are nodes. A statement of this name lists them.
var listed = []string{"suspects", "nodes", "labels"}

// list = rows clauses .
func (p *parser) list(s *Statement) {
	p.rows(s, s.name)
	p.clauses(s, listWords)
}

// rows = "suspects" [ ( "fpr" | "fnr" | "fdr" ) number ] | "nodes" | "labels" trusted | "history" . The word was read.
func (p *parser) rows(s *Statement, word string) {
	switch s.rows = word; word {
	case "labels":
		s.bound = p.trusted()
	case "suspects":
		p.each([]string{"fpr", "fnr", "fdr"}, func(kind string, _ []string) []string {
			s.bound = p.bounded(kind)
			return nil
		})
	}
}

// bounded reads the share after the kind of a bound.
func (p *parser) bounded(kind string) *bound {
	wanted := "an error rate, as 0.05"
	if kind != "fpr" && kind != "fnr" {
		wanted = "a share, as 0.1"
	}
	return &bound{kind, p.number(wanted)}
}

// trusted = "trusted" "fdr" number .
func (p *parser) trusted() *bound {
	p.expect("trusted", "fdr")
	return p.bounded("trusted")
}

// The words that clauses begin with: of statements that find nodes, of those that find other rows, and of counts.
var (
	listWords   = []string{"where", "sample", "order", "limit", "return"}
	filterWords = []string{"where", "order", "limit", "return"}
	countWords  = []string{"where", "group", "return"}
	groupWords  = []string{"order", "limit"}
)

// clauses reads clauses that begin with some words, such as "sample" number [ "seed" number ] . Those of a count return
// totals.
func (p *parser) clauses(s *Statement, words []string) {
	c := &s.clauses
	counts := slices.Contains(words, "group")
	p.each(words, func(word string, left []string) []string {
		switch word {
		case "where":
			c.where = p.expression()
		case "sample":
			s.size = p.number("a number of rows")
			if p.accept("seed") {
				s.seed = p.number("a whole number")
			}
		case "group":
			left = append(left, groupWords...)
			p.expect("by")
			c.groupBy = p.figures()
		case "order":
			p.expect("by")
			c.order = listOf(p, func() orderTerm { return p.orderTerm(counts) })
		case "limit":
			c.limit = p.number("a number of rows")
		case "return":
			if counts {
				c.totals = listOf(p, p.total)
			} else {
				c.returned = p.returned()
			}
		}
		return left
	})
}

// returned = "return" ( "*" | figure { "," figure } ) .
func (p *parser) returned() *returned {
	if p.acceptAs("*", "* (all)") {
		return &returned{all: true}
	}
	return &returned{columns: p.figures()}
}

// orderTerm = ( figure | total ) [ "asc" | "desc" ] . Totals are of groups.
func (p *parser) orderTerm(ofGroups bool) (term orderTerm) {
	if ofGroups && p.atFunction(totalFunctions...) {
		term.by = p.total()
	} else {
		term.by = p.figure()
	}
	ascending := p.accept("asc")
	term.descending = !ascending && p.accept("desc")
	return term
}

// totalFunctions are those of the values of a property.
var totalFunctions = []string{"min", "max", "avg", "sum"}

// total = ( "min" | "max" | "avg" | "sum" ) "(" figure ")" .
func (p *parser) total() name {
	at := p.current.pos
	function := p.oneOf(totalFunctions...)
	p.expect("(")
	of := p.figure()
	p.expect(")")
	return name{text: function + "(" + of.String() + ")", pos: at, function: function, of: &of}
}

// count = "count" rows { where | group | totals | order | limit } . The last two follow group.
func (p *parser) count(s *Statement) {
	s.counts = true
	p.rows(s, p.oneOf(append([]string{"history"}, listed...)...))
	p.clauses(s, countWords)
}

// plan = "plan" ( list | "count" rows { where | group | totals | order | limit } ) , of nodes.
func (p *parser) plan(s *Statement) {
	words, rows := listWords, p.oneOf(append(slices.Clone(listed), "count")...)
	if rows == "count" {
		s.counts = true
		words, rows = countWords, p.oneOf(listed...)
	}
	p.rows(s, rows)
	p.clauses(s, words)
}

// node = "node" ids .
func (p *parser) node(s *Statement) { s.ids = p.ids() }

// explain = "explain" id .
func (p *parser) explain(s *Statement) { s.ids = []literal{p.id()} }

// neighbors = "neighbors" id [ "hops" number ] filters .
func (p *parser) neighbors(s *Statement) {
	s.ids = []literal{p.id()}
	if p.accept("hops") {
		s.hops = p.number("a number of hops")
	}
	p.clauses(s, filterWords)
}

// history = "history" [ id ] filters .
func (p *parser) history(s *Statement) {
	if !p.atEnd("the id of a node") && !slices.ContainsFunc(filterWords, p.current.is) {
		s.ids = []literal{p.id()}
	}
	p.clauses(s, filterWords)
}

// atEnd reports whether a statement is over where one more thing could follow.
func (p *parser) atEnd(more string) bool {
	if p.current.kind != tokenEnd && !p.current.is(";") {
		return false
	}
	p.wants = append(p.wants, more)
	return true
}
