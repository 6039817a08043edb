package query

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// expression = conjunction { "or" conjunction } .
func (p *parser) expression() (expression, error) {
	return p.chain("or", func() (expression, error) { return p.chain("and", p.term) })
}

func (p *parser) chain(operator string, operand func() (expression, error)) (expression, error) {
	var terms []expression
	for {
		term, err := operand()
		if err != nil {
			return nil, err
		}
		if terms = append(terms, term); !p.accept(operator) {
			break
		}
	}
	if len(terms) == 1 {
		return terms[0], nil
	}
	return &logical{operator: operator, terms: terms}, nil
}

// term = "not" term | "(" expression ")" | test .
func (p *parser) term() (expression, error) {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxDepth {
		return nil, &ParseError{Pos: p.current.pos, Msg: fmt.Sprintf("more than %d nested conditions", maxDepth)}
	}
	if p.acceptAs("not", "") {
		inner, err := p.term()
		return negate(inner, true), err
	}
	if p.acceptAs("(", "") {
		inner, err := p.expression()
		if err != nil {
			return nil, err
		}
		return inner, p.expect(")")
	}
	return p.test()
}

func negate(e expression, negated bool) expression {
	if negated {
		return &negation{term: e}
	}
	return e
}

// operatorNames lists the operators in errors.
const operatorNames = "=, !=, <, <=, >, >=, in, like, is"

// test = figure [ compare ( value | figure ) | "is" [ "not" ] "null" | [ "not" ] ( in | like ) ] .
func (p *parser) test() (expression, error) {
	property, err := p.figure()
	if err != nil {
		return nil, err
	}
	t := &test{property: property, operator: operatorTrue}
	if p.acceptAs("is", "an operator ("+operatorNames+")") {
		t.operator = operatorNull
		return negate(t, p.accept("not")), p.expect("null")
	}
	for _, operator := range []string{"=", "!=", "<>", "<=", "<", ">=", ">"} {
		if !p.acceptAs(operator, "") {
			continue
		}
		if t.operator = operator; operator == "<>" {
			t.operator = "!="
		}
		if p.atProperty() {
			other, err := p.figure()
			t.other = &other
			return t, err
		}
		return t, p.value(t, "a property name")
	}
	negated, label := p.acceptAs("not", ""), ""
	if negated {
		label = "in or like"
	}
	switch {
	case p.acceptAs("in", label):
		t.operator, err = "in", p.values(t)
	case p.acceptAs("like", ""):
		t.operator, err = "like", p.pattern(t)
	case negated:
		err = p.fail()
	}
	return negate(t, negated), err
}

// values = "(" value { "," value } ")" .
func (p *parser) values(t *test) error {
	if err := p.expect("("); err != nil {
		return err
	}
	for {
		if err := p.value(t); err != nil {
			return err
		}
		if !p.accept(",") {
			return p.expect(")")
		}
	}
}

// value = string | number | parameter | "true" | "false" . It goes to the values of a test. Or has other tokens allowed
// here.
func (p *parser) value(of *test, or ...string) error {
	at := p.current
	switch {
	case at.is("true") || at.is("false"):
		p.advance()
		of.values = append(of.values, literal{kind: literalBool, boolean: at.is("true"), pos: at.pos})
		return nil
	case at.is("null"):
		return &ParseError{Pos: at.pos, Msg: fmt.Sprintf("got null, want a value (write %s is null)", of.property)}
	case p.atProperty():
		return &ParseError{Pos: at.pos, Msg: fmt.Sprintf("got %s, want a value (text takes single quotes: %s)", at, Quote(at.text))}
	case !p.atConstant(tokenString, tokenNumber):
		return p.fail(append([]string{"a value"}, or...)...)
	}
	value, err := p.literal()
	of.values = append(of.values, value)
	return err
}

// pattern = string | parameter .
func (p *parser) pattern(of *test) error {
	pattern, err := p.constant("a pattern in single quotes, as 'graph%'", tokenString)
	of.values = []literal{pattern}
	return err
}

// atFunction reports whether a word with a bracket after it stands here. Without a bracket, the word is the name of a
// property.
func (p *parser) atFunction(words ...string) bool {
	return slices.ContainsFunc(words, p.current.is) && p.ahead().is("(")
}

// figure = property | share .
func (p *parser) figure() (name, error) {
	if p.atFunction("share") {
		return p.share()
	}
	return p.property()
}

// figures = figure { "," figure } .
func (p *parser) figures() ([]name, error) { return listOf(p, p.figure) }

// listOf parses one or more of something, with commas between.
func listOf[T any](p *parser, one func() (T, error)) (all []T, err error) {
	for {
		next, err := one()
		if err != nil {
			return nil, err
		}
		if all = append(all, next); !p.accept(",") {
			return all, nil
		}
	}
}

// share = "share" "(" ( property | class ) [ "," number ] ")" . Its text is its spelling.
func (p *parser) share() (name, error) {
	n := name{pos: p.current.pos, share: &share{}}
	p.advance()
	p.advance()
	if p.atProperty() {
		of, err := p.property()
		if err != nil {
			return n, err
		}
		n.share.of, n.text = &of, of.String()
	} else {
		p.wants = append(p.wants, "label, suggested")
		class, err := p.class()
		if err != nil {
			return n, err
		}
		n.share.class, n.text = &class, class.String()
	}
	hops := "1"
	if p.accept(",") {
		var err error
		if n.share.hops, err = p.number("a number of hops"); err != nil {
			return n, err
		}
		hops = n.share.hops.String()
	}
	n.text = "share(" + n.text + ", " + hops + ")"
	return n, p.expect(")")
}

// atProperty reports whether the current token can be the name of a property.
func (p *parser) atProperty() bool {
	t := p.current
	return t.kind == tokenQuoted || t.kind == tokenName && !reserved[strings.ToLower(t.text)]
}

// property = name | '"' name '"' .
func (p *parser) property() (name, error) {
	t := p.current
	if !p.atProperty() {
		return name{}, p.fail("a property name")
	}
	p.advance()
	return name{text: t.text, pos: t.pos}, nil
}

// atConstant reports whether the current token is a parameter, or of one of some kinds.
func (p *parser) atConstant(kinds ...tokenKind) bool {
	return p.current.kind == tokenParam || slices.Contains(kinds, p.current.kind)
}

// constant is a parameter, or a literal of one of some kinds.
func (p *parser) constant(wanted string, kinds ...tokenKind) (literal, error) {
	if !p.atConstant(kinds...) {
		return literal{}, p.fail(wanted)
	}
	return p.literal()
}

// number is a number or a parameter, called label in errors.
func (p *parser) number(label string) (*literal, error) {
	number, err := p.constant(label, tokenNumber)
	return &number, err
}

// class = string | number | parameter .
func (p *parser) class() (literal, error) {
	return p.constant(wantClass, tokenString, tokenNumber)
}

// id = string | parameter | word . A word is read anew from the text: it may hold what is no name.
func (p *parser) id() (literal, error) {
	if p.atConstant(tokenString) {
		return p.literal()
	}
	p.scan.pos = p.current.pos
	p.current = p.scan.word()
	if p.current.kind != tokenWord {
		return literal{}, p.fail("the id of a node")
	}
	id := literal{kind: literalWord, text: p.current.text, pos: p.current.pos}
	p.advance()
	return id, nil
}

// ids = id { "," id } .
func (p *parser) ids() ([]literal, error) { return listOf(p, p.id) }

// literal reads the current string, number or parameter.
func (p *parser) literal() (literal, error) {
	t := p.current
	l := literal{text: t.text, pos: t.pos}
	switch t.kind {
	case tokenString:
		l.kind = literalString
	case tokenParam:
		number, err := strconv.Atoi(t.text)
		if err != nil || number < 1 {
			return l, &ParseError{Pos: t.pos, Msg: fmt.Sprintf("got $%s, want a parameter from $1", t.text)}
		}
		l.kind, l.number = literalParam, number
	default:
		integer, err := strconv.ParseInt(t.text, 10, 64)
		if err == nil {
			l.kind, l.integer = literalInt, integer
			break
		}
		float, err := strconv.ParseFloat(t.text, 64)
		if errors.Is(err, strconv.ErrRange) {
			return l, &ParseError{Pos: t.pos, Msg: fmt.Sprintf("%s is beyond the range of a number", t.text)}
		}
		if err != nil {
			return l, &ParseError{Pos: t.pos, Msg: fmt.Sprintf("got %s, want a number", t.text)}
		}
		l.kind, l.float = literalFloat, float
	}
	p.advance()
	return l, nil
}
