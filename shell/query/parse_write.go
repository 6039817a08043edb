package query

import (
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/cleaner/paper"
)

// decide = ( "accept" | "reject" | "unlabel" | "unsure" ) ( ids [ if ] | [ "all" ] where ) [ because ]
//
//	| "relabel" ( ids class [ if ] | class [ "all" ] where ) [ because ] .
func (p *parser) decide(s *Statement) {
	var err error
	if s.kind, err = decide.ParseKind(s.name); err != nil {
		panic(err) // the name is that of a kind
	}
	p.decided(s)
	if s.ids != nil && p.accept("if") {
		s.proviso = p.expression()
	}
	if p.accept("because") {
		why := p.constant("a reason in single quotes", tokenString)
		s.why = &why
	}
}

// decided reads the nodes that a decision is about, and the class of relabel.
func (p *parser) decided(s *Statement) {
	// Before where stands a class, and elsewhere ids come first. A string, number or parameter may be either.
	labels := s.kind == decide.Relabel
	labelFirst := labels && p.atConstant(tokenString, tokenNumber) && p.beforeCondition()
	if labelFirst {
		label := p.literal()
		s.label = &label
	}
	if labelFirst || !labels {
		if s.all = p.current.is("all") && p.ahead().is("where"); s.all { // alone it is an id
			p.advance()
		}
		if p.accept("where") {
			s.where = p.expression()
			return
		}
	}
	if labels {
		p.wants = append(p.wants, wantClass)
	}
	if s.ids = p.ids(); labels {
		label := p.class()
		s.label = &label
	}
}

// beforeCondition reports whether the words before a condition follow the current token: [ "all" ] "where".
func (p *parser) beforeCondition() bool {
	scan := p.scan
	next := scan.next()
	return next.is("where") || next.is("all") && scan.next().is("where")
}

// clean = "clean" { "hops" number | "preset" ( "default" | "paper" ) | "expect" number | "seed" number | imported } ,
// each at most once.
func (p *parser) clean(s *Statement) {
	p.each([]string{"hops", "preset", "expect", "seed", "out", "in", "as"}, func(word string, left []string) []string {
		switch word {
		case "hops":
			s.hops = p.number("a number of hops")
		case "preset":
			s.preset = p.oneOf(cleaner.PresetDefault, paper.Name)
		case "expect":
			s.expect = p.number("a share between 0 and 1")
		case "seed":
			s.seed = p.number("a whole number")
		case "out":
			s.imported = cleaner.OutOfFold
			p.expect("of", "fold")
		case "in":
			s.imported = cleaner.InSample
			p.expect("sample")
		case "as":
			s.imported = cleaner.AsGiven
			p.expect("given")
		}
		if s.imported != "" { // the other two of these words
			left = slices.DeleteFunc(left, func(word string) bool { return slices.Contains([]string{"out", "in", "as"}, word) })
		}
		return left
	})
}

// rescore = "rescore" [ "full" ] .
func (p *parser) rescore(s *Statement) { s.full = p.accept("full") }

// audit = "audit" [ "draw" ( "for" promise | number [ "for" promise | "seed" number ] ) ] .
func (p *parser) audit(s *Statement) {
	if s.writes = p.accept("draw"); !s.writes {
		return
	}
	if !p.accept("for") {
		s.size = p.number("a number of labels")
		if p.accept("seed") {
			s.seed = p.number("a whole number")
			return
		}
		if !p.accept("for") {
			return
		}
	}
	s.bound = p.promise()
}

// promise = "fdr" number | trusted .
func (p *parser) promise() *bound {
	if p.accept("fdr") {
		return p.bounded("fdr")
	}
	return p.trusted()
}

// index = ( "create" | "drop" ) "index" "on" property .
func (p *parser) index(s *Statement) {
	p.expect("index", "on")
	s.property = p.property()
}
