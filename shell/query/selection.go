package query

import (
	"slices"
	"strings"
)

// selection is the error of a text that begins with select, as in SQL.
func (p *parser) selection() error {
	return &ParseError{Pos: p.current.pos, Msg: "select is no statement here; select id from nodes where degree > 3 is: nodes where degree > 3 return id"}
}

// show is the error of a text that begins with show, as in SQL. It names the statement to write.
func (p *parser) show() error {
	begin, would := p.current.pos, "describe"
	if p.advance(); p.current.is("labels") {
		would = "classes"
	}
	if slices.ContainsFunc(StatementNames(), p.current.is) {
		would = strings.ToLower(p.current.text)
	}
	return &ParseError{Pos: begin, Msg: "show is no statement here; write " + would}
}
