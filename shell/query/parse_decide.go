package query

import (
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
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
	err := p.decided(s)
	if err == nil && s.ids != nil && p.accept("if") {
		s.proviso, err = p.expression()
	}
	if err == nil && s.where != nil && p.accept("limit") {
		s.limit, err = p.number("a number of nodes")
	}
	if err == nil && p.accept("because") {
		var why literal
		why, err = p.constant(want{label: "a reason in single quotes"}, tokenString)
		s.why = &why
	}
	return s, err
}

// decided reads the nodes that a decision is about, and the class of relabel.
func (p *parser) decided(s *decideStatement) (err error) {
	if s.kind != decide.Relabel {
		if p.condition(s) {
			s.where, err = p.expression()
		} else {
			s.ids, err = p.ids()
		}
		return err
	}
	// Before where stands a class, and elsewhere ids come first. A string, number or parameter may be either.
	if p.atConstant(tokenString, tokenNumber) {
		ahead := *p
		ahead.wants = nil
		class, err := ahead.literal()
		if err == nil && ahead.condition(s) {
			*p = ahead
			s.label = &class
			s.where, err = p.expression()
			return err
		}
	}
	p.wants = append(p.wants, wantClass)
	if s.ids, err = p.ids(); err != nil {
		return err
	}
	p.wants = append(p.wants, want{words: []string{"where", "all"}})
	class, err := p.class()
	s.label = &class
	return err
}

// condition moves over the words before the condition of a decision: [ "all" ] "where". All alone is an id.
func (p *parser) condition(s *decideStatement) bool {
	if p.accept("where") {
		return true
	}
	p.wants = append(p.wants, want{words: []string{"all"}})
	if !p.current.is("all") || !p.ahead().is("where") {
		return false
	}
	p.advance()
	p.advance()
	s.all = true
	return true
}

// undo = "undo" [ number ] .
func (p *parser) undo() (s *undoStatement, err error) {
	s = &undoStatement{}
	if !p.atEnd("a number of steps") {
		s.steps, err = p.number("a number of steps")
	}
	return s, err
}
