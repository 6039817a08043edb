package query

import (
	"slices"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner"
)

// parse reads one statement that starts at a place; a semicolon may end it.
func parse(text string, at Pos) (statement, error) {
	p := newParser(text, at)
	s, err := p.statement()
	if err != nil {
		return nil, err
	}
	if p.acceptAs(";", "the end of the statement") {
		return s, p.end("nothing after the statement")
	}
	return s, p.end("")
}

func (p *parser) statement() (statement, error) {
	if s, err := p.listed(); s != nil || err != nil {
		if err == nil {
			err = p.clauses(&s.clauses, listWords)
		}
		return s, err
	}
	switch {
	case p.accept("count"):
		return p.count()
	case p.accept("plan"):
		return p.plan()
	case p.accept("node"):
		ids, err := p.ids()
		return &nodeStatement{ids: ids}, err
	case p.accept("neighbors"):
		return p.neighbors()
	case p.accept("explain"):
		id, err := p.id()
		return &explainStatement{id: id}, err
	case p.accept("clean"):
		return p.clean()
	case p.accept("rescore"):
		return &rescoreStatement{full: p.accept("full")}, nil
	case p.accept("audit"):
		return p.audit()
	case p.accept("undo"):
		return &undoStatement{}, nil
	case p.accept("history"):
		return p.history()
	}
	for _, kind := range decisionKinds {
		if p.accept(kind.String()) {
			return p.decide(kind)
		}
	}
	for _, verb := range []string{"create", "drop"} {
		if p.accept(verb) {
			return p.index(verb)
		}
	}
	for _, word := range []string{"classes", "noise", "runs", "stats"} {
		if p.accept(word) {
			return &wordStatement{word: word}, nil
		}
	}
	p.wants = nil
	return nil, p.fail("a statement (" + strings.Join(StatementNames(), ", ") + ")")
}

// listed = "suspects" [ guarantee | fdr ] | "nodes" | "labels" trusted . It is nil of another word.
func (p *parser) listed() (s *listStatement, err error) {
	s = &listStatement{}
	switch {
	case p.accept("suspects"):
		s.suspects = true
		for _, kind := range []string{"fpr", "fnr"} {
			if p.accept(kind) {
				s.guarantee = &guarantee{kind: kind}
				s.guarantee.alpha, err = p.number("an error rate, as 0.05")
				return s, err
			}
		}
		if p.accept("fdr") {
			s.promise, err = p.promised(cleaner.ListSuspects)
		}
	case p.accept("nodes"):
	case p.accept("labels"):
		s.promise, err = p.trusted()
	default:
		return nil, nil
	}
	return s, err
}

// promised reads the share after fdr.
func (p *parser) promised(kind cleaner.ListKind) (*promise, error) {
	share, err := p.number("a share, as 0.1")
	return &promise{kind: kind, share: share}, err
}

// trusted = "trusted" "fdr" number .
func (p *parser) trusted() (*promise, error) {
	if err := p.expect("trusted", "fdr"); err != nil {
		return nil, err
	}
	return p.promised(cleaner.ListTrusted)
}

// The words that clauses begin with: of statements that find nodes, of those that find other rows, and of counts.
var (
	listWords   = []string{"where", "sample", "order", "limit", "return"}
	filterWords = []string{"where", "order", "limit", "return"}
	countWords  = []string{"where", "group", "return"}
	groupWords  = []string{"order", "limit"}
)

// clauses reads clauses that begin with some words, each at most once, in any order. Those of a count return totals.
func (p *parser) clauses(c *clauses, words []string) (err error) {
	counts := slices.Contains(words, "group")
	words = slices.Clone(words)
	for err == nil {
		i := slices.IndexFunc(words, p.accept)
		if i < 0 {
			return nil
		}
		word := words[i]
		words = slices.Delete(words, i, i+1)
		switch word {
		case "where":
			c.where, err = p.expression()
		case "sample":
			c.sample, err = p.sample()
		case "group":
			words = append(words, groupWords...)
			if err = p.expect("by"); err == nil {
				c.groupBy, err = p.figures()
			}
		case "order":
			c.order, err = p.order(counts)
		case "limit":
			c.limit, err = p.number("a number of rows")
		case "return":
			if counts {
				c.totals, err = p.totals()
			} else {
				c.returned, err = p.returned()
			}
		}
	}
	return err
}

// sample = "sample" number [ "seed" number ] .
func (p *parser) sample() (s *sample, err error) {
	s = &sample{}
	if s.size, err = p.number("a number of rows"); err == nil && p.accept("seed") {
		s.seed, err = p.number("a whole number")
	}
	return s, err
}

// returned = "return" ( "*" | figure { "," figure } ) .
func (p *parser) returned() (r *returned, err error) {
	r = &returned{all: p.acceptAs("*", "* (all)")}
	if !r.all {
		r.columns, err = p.figures()
	}
	return r, err
}

// order = "order" "by" figure [ "asc" | "desc" ] { "," figure [ "asc" | "desc" ] } . Groups are ordered by totals too.
func (p *parser) order(ofGroups bool) (terms []orderTerm, err error) {
	if err := p.expect("by"); err != nil {
		return nil, err
	}
	for {
		var term orderTerm
		if ofGroups && p.atFunction(totalFunctions...) {
			var t total
			t, err = p.total()
			term.by = name{text: t.String(), pos: t.pos, isTotal: true}
		} else {
			term.by, err = p.figure()
		}
		if err != nil {
			return nil, err
		}
		ascending := p.accept("asc")
		term.descending = !ascending && p.accept("desc")
		if terms = append(terms, term); !p.accept(",") {
			return terms, nil
		}
	}
}

// totals = "return" total { "," total } .
func (p *parser) totals() ([]total, error) { return listOf(p, p.total) }

// totalFunctions are those of the values of a property.
var totalFunctions = []string{"min", "max", "avg", "sum"}

// total = ( "min" | "max" | "avg" | "sum" ) "(" figure ")" .
func (p *parser) total() (t total, err error) {
	t.pos = p.current.pos
	i := slices.IndexFunc(totalFunctions, p.accept)
	if i < 0 {
		return t, p.fail()
	}
	t.function = totalFunctions[i]
	if err = p.expect("("); err == nil {
		t.of, err = p.figure()
	}
	if err == nil {
		err = p.expect(")")
	}
	return t, err
}

// count = "count" ( listed | "history" ) { where | group | totals | order | limit } . The last two follow group.
func (p *parser) count() (statement, error) {
	if p.accept("history") {
		s := &historyStatement{counts: true}
		return s, p.clauses(&s.clauses, countWords)
	}
	return p.counted()
}

// counted is a count of nodes.
func (p *parser) counted() (*listStatement, error) {
	s, err := p.listed()
	if s == nil && err == nil {
		err = p.fail()
	}
	if err != nil {
		return nil, err
	}
	s.counts = true
	return s, p.clauses(&s.clauses, countWords)
}

// plan = "plan" ( listed clauses | "count" counted ) .
func (p *parser) plan() (statement, error) {
	s, err := p.listed()
	switch {
	case err != nil:
		return nil, err
	case s != nil:
		return &planStatement{of: s}, p.clauses(&s.clauses, listWords)
	}
	if err := p.expect("count"); err != nil {
		return nil, err
	}
	s, err = p.counted()
	return &planStatement{of: s}, err
}

// neighbors = "neighbors" id [ "hops" number ] filters .
func (p *parser) neighbors() (statement, error) {
	s := &neighborsStatement{}
	var err error
	if s.id, err = p.id(); err == nil && p.accept("hops") {
		s.hops, err = p.number("a number of hops")
	}
	if err != nil {
		return nil, err
	}
	return s, p.clauses(&s.clauses, filterWords)
}

// history = "history" [ id ] filters .
func (p *parser) history() (statement, error) {
	s := &historyStatement{}
	if !p.atEnd("the id of a node") && !slices.ContainsFunc(filterWords, p.current.is) {
		id, err := p.id()
		if err != nil {
			return nil, err
		}
		s.id = &id
	}
	return s, p.clauses(&s.clauses, filterWords)
}

// atEnd reports whether a statement is over where one more thing could follow.
func (p *parser) atEnd(more string) bool {
	if p.current.kind != tokenEnd && !p.current.is(";") {
		return false
	}
	p.wants = append(p.wants, more)
	return true
}
