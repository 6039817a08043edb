package query

import (
	"slices"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
)

// decisionKinds are those that statements make; each is the name of its statement.
var decisionKinds = []decide.Kind{
	decide.Accept, decide.Reject, decide.Relabel, decide.Unlabel, decide.Unsure,
}

// decide = ( "accept" | "reject" | "unlabel" | "unsure" ) ( ids [ if ] | [ "all" ] where [ limit ] ) [ because ]
//
//	| "relabel" ( ids class [ if ] | class [ "all" ] where [ limit ] ) [ because ] .
func (p *parser) decide(kind decide.Kind) (statement, error) {
	s := &decideStatement{kind: kind}
	err := p.decision(s)
	if err == nil && s.ids != nil && p.accept("if") {
		s.proviso, err = p.expression()
	}
	if err == nil && s.where != nil && p.accept("limit") {
		var limit literal
		limit, err = p.number("a number of nodes")
		s.limit = &limit
	}
	if err != nil || !p.accept("because") {
		return s, err
	}
	if p.current.kind != tokenString && p.current.kind != tokenParam {
		p.wants = append(p.wants, want{label: "a reason in single quotes"})
		return nil, p.fail()
	}
	why, err := p.literal()
	s.why = &why
	return s, err
}

// decision reads what a decision is about, and the class of relabel.
func (p *parser) decision(s *decideStatement) (err error) {
	relabel := s.kind == decide.Relabel
	if relabel {
		p.wants = append(p.wants, want{label: "a class in single quotes", complete: completeValues, property: kv.LabelColumn})
	} else if p.condition(s) {
		s.where, err = p.expression()
		return err
	}
	first := p.current
	if s.ids, err = p.ids(); err != nil || !relabel {
		if only := s.ids; len(only) == 1 && only[0].kind == literalWord && strings.EqualFold(only[0].text, "all") {
			p.wants = append(p.wants, want{words: []string{"where"}})
		}
		return err
	}
	// What stands before where is the class, and what follows ids too. A number was read as an id, which it may be as well.
	only := s.ids[0]
	isNumber := first.kind == tokenNumber && first.text == only.text
	if len(s.ids) == 1 && (only.kind != literalWord || isNumber) && p.condition(s) {
		if isNumber {
			if only, err = newParser(only.text, only.pos).literal(); err != nil {
				return err
			}
		}
		s.ids, s.label = nil, &only
		s.where, err = p.expression()
		return err
	}
	if p.current.is("all") { // which is no class
		p.advance()
		return p.expect("where")
	}
	class, err := p.class()
	s.label = &class
	return err
}

// condition moves over what stands before the condition of a decision: [ "all" ] "where". All alone is an id.
func (p *parser) condition(s *decideStatement) bool {
	if p.accept("where") {
		return true
	}
	ahead := *p
	ahead.wants = nil
	if p.current.is("all") {
		if ahead.advance(); ahead.current.is("where") {
			p.advance()
			p.advance()
			s.all = true
			return true
		}
	}
	p.wants = append(p.wants, want{words: []string{"all"}})
	return false
}

// ids = id { "," id } .
func (p *parser) ids() ([]literal, error) {
	var ids []literal
	for {
		id, err := p.id()
		if err != nil {
			return nil, err
		}
		if ids = append(ids, id); !p.accept(",") {
			return ids, nil
		}
	}
}

// class = string | number | parameter .
func (p *parser) class() (literal, error) {
	if k := p.current.kind; k == tokenString || k == tokenNumber || k == tokenParam {
		return p.literal()
	}
	p.wants = append(p.wants, want{label: "a class in single quotes", complete: completeValues, property: kv.LabelColumn})
	return literal{}, p.fail()
}

// undo = "undo" [ number ] .
func (p *parser) undo() (statement, error) {
	s := &undoStatement{}
	if p.atEnd(want{label: "a number of steps"}) {
		return s, nil
	}
	steps, err := p.number("a number of steps")
	s.steps = &steps
	return s, err
}

// history = "history" [ id ] filters .
func (p *parser) history() (statement, error) {
	s := &historyStatement{}
	if p.atEnd(want{label: "the id of a node", complete: completeIDs}) {
		p.wants = append(p.wants, want{words: filterWords})
		return s, nil
	}
	if !slices.ContainsFunc(filterWords, p.current.is) {
		id, err := p.id()
		if err != nil {
			return nil, err
		}
		s.id = &id
	}
	return s, p.filters(&s.clauses)
}
