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
	return p.chain("or", p.conjunction)
}

// conjunction = term { "and" term } .
func (p *parser) conjunction() (expression, error) {
	return p.chain("and", p.term)
}

func (p *parser) chain(operator string, operand func() (expression, error)) (expression, error) {
	first, err := operand()
	if err != nil {
		return nil, err
	}
	terms := []expression{first}
	for p.accept(operator) {
		next, err := operand()
		if err != nil {
			return nil, err
		}
		terms = append(terms, next)
	}
	if len(terms) == 1 {
		return first, nil
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
		if err != nil {
			return nil, err
		}
		return &negation{term: inner}, nil
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

// operatorNames lists the operators in errors.
const operatorNames = "=, !=, <, <=, >, >=, in, like, ilike, between, is"

// testWords are the operators that are words.
var testWords = []string{"in", "like", "ilike", "between", "is"}

// atTestEnd reports whether the current token may stand behind a test.
func (p *parser) atTestEnd() bool {
	t := p.current
	if t.kind == tokenEnd || p.within > 0 && t.is(",") {
		return true
	}
	return slices.ContainsFunc([]string{")", ";", "and", "or", "sample", "order", "limit", "offset", "return", "group", "because"}, t.is)
}

// test = figure [ compare ( value | figure ) | "is" [ "not" ] "null"
//
//	| [ "not" ] ( in | like | ilike | between ) ] | neighbor | lowered .
func (p *parser) test() (expression, error) {
	if p.atFunction("lower") {
		return p.lowered()
	}
	if p.atFunction("neighbor") {
		return p.neighbor()
	}
	property, err := p.figure()
	if err != nil {
		return nil, err
	}
	if p.acceptAs("is", "an operator ("+operatorNames+")") {
		negated := p.accept("not")
		if err := p.expect("null"); err != nil {
			return nil, err
		}
		return negate(&isNull{property}, negated), nil
	}
	for _, operator := range []string{"=", "!=", "<>", "<=", "<", ">=", ">"} {
		if !p.acceptAs(operator, "") {
			continue
		}
		if operator == "<>" {
			operator = "!="
		}
		if p.atProperty() {
			other, err := p.figure()
			return &pair{property, operator, other}, err
		}
		value, err := p.value(property, want{label: "a property name", complete: completeProperties, list: p.list},
			want{words: []string{"share"}, list: p.list})
		return &comparison{property, operator, value}, err
	}
	negated := p.acceptAs("not", "")
	label := ""
	if negated {
		label = "in, like, ilike or between"
	}
	switch {
	case p.acceptAs("in", label):
		values, err := p.values(property)
		return negate(&membership{property, values}, negated), err
	case p.acceptAs("like", ""):
		pattern, err := p.pattern()
		return negate(&likeness{property: property, pattern: pattern}, negated), err
	case p.acceptAs("ilike", ""):
		pattern, err := p.pattern()
		return negate(&likeness{property: property, pattern: pattern, anyCase: true}, negated), err
	case p.acceptAs("between", ""):
		low, err := p.value(property)
		if err != nil {
			return nil, err
		}
		if err := p.expect("and"); err != nil {
			return nil, err
		}
		high, err := p.value(property)
		return negate(&between{property, low, high}, negated), err
	case !negated && p.atTestEnd():
		p.alone, p.beforeEnds = property.text, len(p.wants)
		return &bare{property}, nil
	}
	return nil, p.fail()
}

// atFunction reports whether a word with a bracket behind it stands here. Without a bracket, the word is the name of a property.
func (p *parser) atFunction(words ...string) bool {
	p.wants = append(p.wants, want{words: words, list: p.list})
	ahead := *p
	ahead.wants = nil
	ahead.advance()
	return slices.ContainsFunc(words, p.current.is) && ahead.current.is("(")
}

// neighbor = "neighbor" "(" expression [ "," number ] ")" .
func (p *parser) neighbor() (expression, error) {
	n := &neighbor{pos: p.current.pos}
	p.advance()
	p.advance()
	p.within++
	var err error
	n.where, err = p.expression()
	p.within--
	if err == nil {
		n.hops, err = p.lastHops()
	}
	return n, err
}

// lastHops = [ "," number ] ")" .
func (p *parser) lastHops() (*literal, error) {
	if !p.accept(",") {
		return nil, p.expect(")")
	}
	hops, err := p.number("a number of hops")
	if err != nil {
		return nil, err
	}
	return &hops, p.expect(")")
}

// figure = property | share .
func (p *parser) figure() (name, error) {
	if p.atFunction("share") {
		return p.share()
	}
	return p.property()
}

// share = "share" "(" ( property | class ) [ "," number ] ")" .
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
		p.wants = append(p.wants, want{label: "label, suggested", words: []string{"label", "suggested"}})
		class, err := p.class()
		if err != nil {
			return n, err
		}
		n.share.class, n.text = &class, class.String()
	}
	var err error
	n.share.hops, err = p.lastHops()
	hops := "1"
	if n.share.hops != nil {
		hops = n.share.hops.String()
	}
	n.text = "share(" + n.text + ", " + hops + ")"
	return n, err
}

// lowered = "lower" "(" property ")" ( ( "=" | "!=" | "<>" ) pattern | [ "not" ] "in" "(" pattern { "," pattern } ")"
//
//	| [ "not" ] "like" pattern ) .
func (p *parser) lowered() (expression, error) {
	p.advance()
	p.advance()
	property, err := p.property()
	if err == nil {
		err = p.expect(")")
	}
	if err != nil {
		return nil, err
	}
	for _, operator := range []string{"=", "!=", "<>"} {
		if p.accept(operator) {
			text, err := p.text()
			return negate(&lowered{property, "=", []literal{text}}, operator != "="), err
		}
	}
	negated := p.accept("not")
	switch {
	case p.accept("like"):
		pattern, err := p.pattern()
		return negate(&lowered{property, "like", []literal{pattern}}, negated), err
	case p.accept("in"):
		if err := p.expect("("); err != nil {
			return nil, err
		}
		var texts []literal
		for {
			text, err := p.text()
			if err != nil {
				return nil, err
			}
			if texts = append(texts, text); !p.accept(",") {
				return negate(&lowered{property, "in", texts}, negated), p.expect(")")
			}
		}
	}
	return nil, p.fail()
}

// text = string | parameter .
func (p *parser) text() (literal, error) {
	if p.current.kind == tokenString || p.current.kind == tokenParam {
		return p.literal()
	}
	p.wants = append(p.wants, want{label: "a text in single quotes"})
	return literal{}, p.fail()
}

func negate(e expression, negated bool) expression {
	if negated {
		return &negation{term: e}
	}
	return e
}

// values = "(" value { "," value } ")" .
func (p *parser) values(property name) ([]literal, error) {
	if err := p.expect("("); err != nil {
		return nil, err
	}
	var values []literal
	for {
		value, err := p.value(property)
		if err != nil {
			return nil, err
		}
		values = append(values, value)
		if !p.accept(",") {
			return values, p.expect(")")
		}
	}
}

// atProperty reports whether the current token can be the name of a property.
func (p *parser) atProperty() bool {
	t := p.current
	return t.kind == tokenQuoted || t.kind == tokenName && !reserved[strings.ToLower(t.text)]
}

// property = name | '"' name '"' .
func (p *parser) property() (name, error) {
	if t := p.current; p.atProperty() {
		p.advance()
		return name{text: t.text, pos: t.pos}, nil
	}
	p.wants = append(p.wants, want{label: "a property name", complete: completeProperties, list: p.list})
	err := p.fail()
	if wrong, ok := errors.AsType[*ParseError](err); ok && p.current.kind == tokenName {
		ahead := *p
		ahead.wants = nil
		if ahead.advance(); ahead.current.kind == tokenMark && !ahead.current.is("(") ||
			slices.ContainsFunc(testWords, ahead.current.is) {
			wrong.Msg = fmt.Sprintf("%s is a word of the language: as the name of a property it takes double quotes: "+
				"\"%[1]s\"", p.current.text)
		}
	}
	return name{}, err
}

// value = string | number | parameter | "true" | "false" . Or is what else could stand here.
func (p *parser) value(property name, or ...want) (literal, error) {
	t := p.current
	switch {
	case t.kind == tokenString || t.kind == tokenNumber || t.kind == tokenParam:
		return p.literal()
	case t.is("true") || t.is("false"):
		p.advance()
		return literal{kind: literalBool, boolean: t.is("true"), pos: t.pos}, nil
	case t.is("null"):
		return literal{}, &ParseError{Pos: t.pos, Msg: fmt.Sprintf("got null, want a value (write %s is null)", property)}
	case p.atProperty():
		return literal{}, &ParseError{Pos: t.pos, Msg: fmt.Sprintf("got %s, want a value (text takes single quotes: %s)", t, Quote(t.text))}
	}
	p.wants = append(p.wants, want{label: "a value", complete: completeValues, property: property.text, list: p.list})
	p.wants = append(p.wants, or...)
	return literal{}, p.fail()
}

// pattern = string | parameter .
func (p *parser) pattern() (literal, error) {
	if p.current.kind == tokenString || p.current.kind == tokenParam {
		return p.literal()
	}
	p.wants = append(p.wants, want{label: "a pattern in single quotes, as 'graph%'"})
	return literal{}, p.fail()
}

// number is a number or a parameter, called label in errors.
func (p *parser) number(label string) (literal, error) {
	if p.current.kind == tokenNumber || p.current.kind == tokenParam {
		return p.literal()
	}
	p.wants = append(p.wants, want{label: label})
	return literal{}, p.fail()
}

// id = string | parameter | word . A word is read anew from the text: it may hold what is no name.
func (p *parser) id() (literal, error) {
	if p.current.kind == tokenString || p.current.kind == tokenParam {
		return p.literal()
	}
	p.scan.pos = p.current.pos
	p.current = p.scan.word()
	if p.current.kind != tokenWord {
		p.wants = append(p.wants, want{label: "the id of a node", complete: completeIDs})
		return literal{}, p.fail()
	}
	id := literal{kind: literalWord, text: p.current.text, pos: p.current.pos}
	p.advance()
	return id, nil
}

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
