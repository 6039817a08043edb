package query

import (
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/cleaner/paper"
)

// decisionKinds are the kinds that statements make; each is the name of its statement.
var decisionKinds = []decide.Kind{
	decide.Accept, decide.Reject, decide.Relabel, decide.Unlabel, decide.Unsure,
}

// decide = ( "accept" | "reject" | "unlabel" | "unsure" ) ( ids [ if ] | [ "all" ] where ) [ because ]
//
//	| "relabel" ( ids class [ if ] | class [ "all" ] where ) [ because ] .
func (p *parser) decide(kind decide.Kind) (statement, error) {
	s := &decideStatement{kind: kind}
	err := p.decided(s)
	if err == nil && s.ids != nil && p.accept("if") {
		s.proviso, err = p.expression()
	}
	if err == nil && p.accept("because") {
		var why literal
		why, err = p.constant("a reason in single quotes", tokenString)
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
	class, err := p.class()
	s.label = &class
	return err
}

// condition moves over the words before the condition of a decision: [ "all" ] "where". All alone is an id.
func (p *parser) condition(s *decideStatement) bool {
	if p.accept("where") {
		return true
	}
	if !p.current.is("all") || !p.ahead().is("where") {
		return false
	}
	p.advance()
	p.advance()
	s.all = true
	return true
}

// clean = "clean" { "hops" number | "preset" ( "default" | "paper" ) | "expect" number | "seed" number | imported } ,
// each at most once.
func (p *parser) clean() (statement, error) {
	s := &cleanStatement{}
	words := []string{"hops", "preset", "expect", "seed", "out", "in", "as"}
	for {
		i := slices.IndexFunc(words, p.accept)
		if i < 0 {
			return s, nil
		}
		var err error
		switch words[i] {
		case "hops":
			s.hops, err = p.number("a number of hops")
		case "preset":
			s.preset, err = p.preset()
		case "expect":
			s.expect, err = p.number("a share between 0 and 1")
		case "seed":
			s.seed, err = p.number("a whole number")
		case "out":
			s.imported, err = cleaner.OutOfFold, p.expect("of", "fold")
		case "in":
			s.imported, err = cleaner.InSample, p.expect("sample")
		case "as":
			s.imported, err = cleaner.AsGiven, p.expect("given")
		}
		if err != nil {
			return nil, err
		}
		words = slices.Delete(words, i, i+1)
		if s.imported != "" { // the other two of these words
			words = slices.DeleteFunc(words, func(word string) bool { return slices.Contains([]string{"out", "in", "as"}, word) })
		}
	}
}

// preset = "default" | "paper" .
func (p *parser) preset() (string, error) {
	if p.accept(cleaner.PresetDefault) {
		return cleaner.PresetDefault, nil
	}
	return paper.Name, p.expect(paper.Name)
}

// audit = "audit" [ "draw" ( "for" promise | number [ "for" promise | "seed" number ] ) ] .
func (p *parser) audit() (s *auditStatement, err error) {
	s = &auditStatement{}
	if !p.accept("draw") {
		return s, nil
	}
	if !p.accept("for") {
		if s.size, err = p.number("a number of labels"); err != nil {
			return nil, err
		}
		if p.accept("seed") {
			s.seed, err = p.number("a whole number")
			return s, err
		}
		if !p.accept("for") {
			return s, nil
		}
	}
	s.promise, err = p.promise()
	return s, err
}

// promise = "fdr" number | trusted .
func (p *parser) promise() (*promise, error) {
	if p.accept("fdr") {
		return p.promised(cleaner.ListSuspects)
	}
	return p.trusted()
}

// index = ( "create" | "drop" ) "index" "on" property .
func (p *parser) index(verb string) (statement, error) {
	if err := p.expect("index", "on"); err != nil {
		return nil, err
	}
	property, err := p.property()
	return &indexStatement{verb: verb, property: property}, err
}
