package query

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/kv"
)

// expression = conjunction { "or" conjunction } .
func (p *parser) expression() *expression {
	return p.chain("or", func() *expression { return p.chain("and", p.term) })
}

func (p *parser) chain(operator string, operand func() *expression) *expression {
	terms := []*expression{operand()}
	for p.accept(operator) {
		terms = append(terms, operand())
	}
	if len(terms) == 1 {
		return terms[0]
	}
	return &expression{operator: operator, terms: terms}
}

// term = "not" term | "(" expression ")" | test .
func (p *parser) term() *expression {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxDepth {
		panic(faultAt(p.current.pos, "more than %d nested conditions", maxDepth))
	}
	if p.acceptAs("not", "") {
		return negate(p.term(), true)
	}
	if p.acceptAs("(", "") {
		inner := p.expression()
		p.expect(")")
		return inner
	}
	return p.test()
}

func negate(e *expression, negated bool) *expression {
	if negated {
		return &expression{operator: "not", terms: []*expression{e}}
	}
	return e
}

// operatorNames lists the operators in errors.
const operatorNames = "=, !=, <, <=, >, >=, in, like, is"

// test = figure [ compare ( value | figure ) | "is" [ "not" ] "null" | [ "not" ] ( in | like ) ] .
func (p *parser) test() *expression {
	t := &expression{property: p.figure(), operator: operatorTrue}
	if p.acceptAs("is", "an operator ("+operatorNames+")") {
		t.operator = operatorNull
		negated := p.accept("not")
		p.expect("null")
		return negate(t, negated)
	}
	for _, operator := range []string{"=", "!=", "<>", "<=", "<", ">=", ">"} {
		if !p.acceptAs(operator, "") {
			continue
		}
		if t.operator = operator; operator == "<>" {
			t.operator = "!="
		}
		if p.atProperty() {
			other := p.figure()
			t.other = &other
		} else {
			t.values = []literal{p.value(t.property, "a property name")}
		}
		return t
	}
	negated, label := p.acceptAs("not", ""), ""
	if negated {
		label = "in or like"
	}
	switch {
	case p.acceptAs("in", label):
		t.operator = "in"
		p.expect("(")
		t.values = listOf(p, func() literal { return p.value(t.property) })
		p.expect(")")
	case p.acceptAs("like", ""):
		t.operator = "like"
		t.values = []literal{p.constant("a pattern in single quotes, as 'graph%'", tokenString)}
	case negated:
		p.fail()
	}
	return negate(t, negated)
}

// value = string | number | parameter | "true" | "false" . A property is compared with it. Or has other tokens allowed
// here.
func (p *parser) value(of name, or ...string) literal {
	at := p.current
	switch {
	case at.is("true") || at.is("false"):
		p.advance()
		return literal{text: strings.ToLower(at.text), value: kv.ValueOf(at.is("true")), pos: at.pos}
	case at.is("null"):
		panic(faultAt(at.pos, "got null, want a value (write %s is null)", of))
	case p.atProperty():
		panic(faultAt(at.pos, "got %s, want a value (text takes single quotes: %s)", at, Quote(at.text)))
	case !p.atConstant(tokenString, tokenNumber):
		p.fail(append([]string{"a value"}, or...)...)
	}
	return p.literal()
}

// atFunction reports whether a word with a bracket after it stands here. Without a bracket, the word is the name of a
// property.
func (p *parser) atFunction(words ...string) bool {
	return slices.ContainsFunc(words, p.current.is) && p.ahead().is("(")
}

// figure = property | share .
func (p *parser) figure() name {
	if p.atFunction("share") {
		return p.share()
	}
	return p.property()
}

// figures = figure { "," figure } .
func (p *parser) figures() []name { return listOf(p, p.figure) }

// share = "share" "(" ( property | class ) [ "," number ] ")" . Its text is its spelling.
func (p *parser) share() name {
	n := name{pos: p.current.pos, share: &share{}}
	p.advance()
	p.advance()
	if p.atProperty() {
		of := p.property()
		n.share.of, n.text = &of, of.String()
	} else {
		p.wants = append(p.wants, "label, suggested")
		class := p.class()
		n.share.class, n.text = &class, class.String()
	}
	hops := "1"
	if p.accept(",") {
		n.share.hops = p.number("a number of hops")
		hops = n.share.hops.String()
	}
	n.text = "share(" + n.text + ", " + hops + ")"
	p.expect(")")
	return n
}

// atProperty reports whether the current token can be the name of a property.
func (p *parser) atProperty() bool {
	t := p.current
	return t.kind == tokenQuoted || t.kind == tokenName && !reserved[strings.ToLower(t.text)]
}

// property = name | '"' name '"' .
func (p *parser) property() name {
	t := p.current
	if !p.atProperty() {
		p.fail("a property name")
	}
	p.advance()
	return name{text: t.text, pos: t.pos}
}

// atConstant reports whether the current token is a parameter, or of one of some kinds.
func (p *parser) atConstant(kinds ...tokenKind) bool {
	return p.current.kind == tokenParam || slices.Contains(kinds, p.current.kind)
}

// constant is a parameter, or a literal of one of some kinds.
func (p *parser) constant(wanted string, kinds ...tokenKind) literal {
	if !p.atConstant(kinds...) {
		p.fail(wanted)
	}
	return p.literal()
}

// number is a number or a parameter, called label in errors.
func (p *parser) number(label string) *literal {
	number := p.constant(label, tokenNumber)
	return &number
}

// class = string | number | parameter .
func (p *parser) class() literal { return p.constant(wantClass, tokenString, tokenNumber) }

// id = string | parameter | word . A word is read anew from the text: it may hold what is no name.
func (p *parser) id() literal {
	if p.atConstant(tokenString) {
		return p.literal()
	}
	p.scan.pos = p.current.pos
	p.current = p.scan.word()
	if p.current.kind != tokenWord {
		p.fail("the id of a node")
	}
	return p.literal()
}

// ids = id { "," id } .
func (p *parser) ids() []literal { return listOf(p, p.id) }

// literal reads the current string, number, word or parameter.
func (p *parser) literal() literal {
	t := p.current
	l := literal{text: t.text, pos: t.pos, isWord: t.kind == tokenWord}
	refuse := func(format string) { panic(faultAt(t.pos, format, t.text)) }
	switch t.kind {
	case tokenString, tokenWord:
		l.value = kv.ValueOf(t.text)
	case tokenParam:
		var err error
		if l.number, err = strconv.Atoi(t.text); err != nil || l.number < 1 {
			refuse("got $%s, want a parameter from $1")
		}
		if p.params == nil {
			p.params = map[int]bool{}
		}
		p.params[l.number] = true
	default:
		if integer, err := strconv.ParseInt(t.text, 10, 64); err == nil {
			l.value = kv.ValueOf(integer)
			break
		}
		float, err := strconv.ParseFloat(t.text, 64)
		if errors.Is(err, strconv.ErrRange) {
			refuse("%s is beyond the range of a number")
		}
		if err != nil {
			refuse("got %s, want a number")
		}
		l.value = kv.ValueOf(float)
	}
	p.advance()
	return l
}
