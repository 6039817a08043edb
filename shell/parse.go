package shell

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/graphcleaner/graphcleaner/kv"
)

// reserved words cannot be property names without double quotes.
var reserved = map[string]bool{
	"where": true, "order": true, "by": true, "limit": true, "return": true, "group": true,
	"and": true, "or": true, "not": true, "in": true, "like": true, "is": true, "null": true,
	"between": true, "asc": true, "desc": true, "true": true, "false": true,
}

// maxDepth bounds nested brackets and nots, so that no text can exhaust the stack.
const maxDepth = 200

// parse reads one statement that starts at a place; a semicolon may end it.
func parse(text string, at Pos) (statement, error) {
	p := newParser(text, at)
	return p.statement()
}

// A parser is a recursive descent over tokens, one method for each rule of the grammar in the package
// documentation. Each test of the current token notes what would have been accepted, which makes both
// "want …" in errors and the completions of the prompt.
type parser struct {
	scan    scanner
	current token
	wants   []want
	depth   int
}

// A want is what the grammar would accept at the current token.
type want struct {
	label    string   // in errors; "" stays unmentioned
	words    []string // keywords and marks
	complete completion
	property string // whose values complete, for completeValues
}

type completion uint8

const (
	completeWords completion = iota
	completeProperties
	completeValues
)

func newParser(text string, at Pos) *parser {
	p := &parser{scan: newScanner(text, at)}
	p.advance()
	return p
}

// advance moves to the next token.
func (p *parser) advance() {
	p.current = p.scan.next()
	p.wants = p.wants[:0]
}

// fail is the error of a token that nothing wanted.
func (p *parser) fail() error {
	if p.current.kind == tokenBad {
		return &ParseError{Pos: p.current.pos, Msg: p.current.text + p.missingEnd(), atEnd: p.current.open}
	}
	var labels, words []string
	for _, w := range p.wants {
		if w.label != "" {
			labels = append(labels, w.label)
		}
		words = append(words, slices.DeleteFunc(slices.Clone(w.words), isMark)...)
	}
	msg := fmt.Sprintf("got %s, want %s", p.current, anyOf(labels))
	if p.current.kind == tokenName {
		msg += didYouMean(p.current.text, words)
	}
	return &ParseError{Pos: p.current.pos, Msg: msg + p.missingEnd(), atEnd: p.current.kind == tokenEnd}
}

// missingEnd says so where the current token looks like the next statement or a dot command: it begins a line, and with a
// word that they begin with.
func (p *parser) missingEnd() string {
	at := p.current.pos.Offset - p.scan.base
	before, line := p.scan.text[:at], strings.Fields(p.scan.text[at:])
	newline := strings.LastIndexByte(before, '\n')
	if newline < 0 || len(line) == 0 || strings.TrimSpace(before[newline:]) != "" {
		return ""
	}
	word := strings.ToLower(strings.TrimRight(line[0], ";"))
	isDot := slices.ContainsFunc(dotCommands, func(c dotCommand) bool { return c.name == word })
	if !isDot && !slices.Contains(statementNames(), word) {
		return ""
	}
	return fmt.Sprintf("; statements end with a semicolon: is one missing before %s?", line[0])
}

// accept moves over a keyword or mark if it is the current token.
func (p *parser) accept(word string) bool {
	if isMark(word) {
		return p.acceptAs(word, strconv.Quote(word))
	}
	return p.acceptAs(word, word)
}

// isMark reports whether a word of the grammar is an operator or a bracket.
func isMark(word string) bool { return !unicode.IsLetter(rune(word[0])) }

// acceptAs is accept with its own label in errors.
func (p *parser) acceptAs(word, label string) bool {
	if p.current.is(word) {
		p.advance()
		return true
	}
	p.wants = append(p.wants, want{label: label, words: []string{word}})
	return false
}

func (p *parser) expect(word string) error {
	if !p.accept(word) {
		return p.fail()
	}
	return nil
}

// statement = body [ ";" ] .
func (p *parser) statement() (statement, error) {
	s, err := p.body()
	if err != nil {
		return nil, err
	}
	if p.acceptAs(";", "the end of the statement") {
		p.wants = append(p.wants, want{label: "nothing after the statement"})
	}
	if p.current.kind != tokenEnd {
		return nil, p.fail()
	}
	return s, nil
}

// body = suspects | nodes | count | plan | node | neighbors | explain | clean | "classes" | … .
func (p *parser) body() (statement, error) {
	first := p.current
	switch {
	case p.accept("suspects"):
		return p.suspects()
	case p.accept("nodes"):
		return p.nodes()
	case p.accept("count"):
		return p.count()
	case p.accept("plan"):
		return p.plan()
	case p.accept("node"):
		return p.node()
	case p.accept("neighbors"):
		return p.neighbors()
	case p.accept("explain"):
		return p.explain()
	case p.accept("clean"):
		return p.clean()
	}
	for _, word := range []string{"classes", "noise", "runs", "stats"} {
		if p.accept(word) {
			return &wordStatement{word: word}, nil
		}
	}
	if first.kind == tokenName {
		return nil, &ParseError{Pos: first.pos, Msg: fmt.Sprintf("unknown statement %s%s (statements: %s)",
			first.text, didYouMean(first.text, statementNames()), strings.Join(statementNames(), ", "))}
	}
	p.wants = []want{{label: "a statement (" + strings.Join(statementNames(), ", ") + ")", words: statementNames()}}
	return nil, p.fail()
}

// suspects = "suspects" [ guarantee ] clauses .
func (p *parser) suspects() (statement, error) {
	s := &suspectsStatement{}
	var err error
	if s.guarantee, err = p.guarantee(); err != nil {
		return nil, err
	}
	return s, p.clauses(&s.clauses)
}

// guarantee = ( "fpr" | "fnr" ) number [ "p" number ] .
func (p *parser) guarantee() (*guarantee, error) {
	for _, kind := range []string{"fpr", "fnr"} {
		if !p.accept(kind) {
			continue
		}
		alpha, err := p.number("an error rate, as 0.05")
		if err != nil {
			return nil, err
		}
		g := &guarantee{kind: kind, alpha: alpha}
		if p.accept("p") {
			rate, err := p.number("a mislabel rate, as 0.1")
			if err != nil {
				return nil, err
			}
			g.rate = &rate
		}
		return g, nil
	}
	return nil, nil
}

// nodes = "nodes" clauses .
func (p *parser) nodes() (statement, error) {
	s := &nodesStatement{}
	return s, p.clauses(&s.clauses)
}

// clauses = { where | order | limit | return } , each at most once.
func (p *parser) clauses(c *clauses) (err error) {
	for err == nil {
		switch {
		case c.where == nil && p.accept("where"):
			c.where, err = p.expression()
		case c.order == nil && p.accept("order"):
			c.order, err = p.order()
		case c.limit == nil && p.accept("limit"):
			var limit literal
			limit, err = p.number("a number of rows")
			c.limit = &limit
		case c.columns == nil && p.accept("return"):
			c.columns, err = p.names()
		default:
			return nil
		}
	}
	return err
}

// order = "order" "by" property [ "asc" | "desc" ] { "," property [ "asc" | "desc" ] } .
func (p *parser) order() ([]orderTerm, error) {
	if err := p.expect("by"); err != nil {
		return nil, err
	}
	var terms []orderTerm
	for {
		by, err := p.property()
		if err != nil {
			return nil, err
		}
		ascending := p.accept("asc")
		terms = append(terms, orderTerm{by: by, descending: !ascending && p.accept("desc")})
		if !p.accept(",") {
			return terms, nil
		}
	}
}

// names = property { "," property } .
func (p *parser) names() ([]name, error) {
	var names []name
	for {
		n, err := p.property()
		if err != nil {
			return nil, err
		}
		names = append(names, n)
		if !p.accept(",") {
			return names, nil
		}
	}
}

// count = "count" ( "suspects" [ guarantee ] | "nodes" ) [ where ] [ "group" "by" property ] .
func (p *parser) count() (statement, error) {
	s := &countStatement{}
	var counted *clauses
	switch {
	case p.accept("suspects"):
		g, err := p.guarantee()
		if err != nil {
			return nil, err
		}
		suspects := &suspectsStatement{guarantee: g}
		s.of, counted = suspects, &suspects.clauses
	case p.accept("nodes"):
		nodes := &nodesStatement{}
		s.of, counted = nodes, &nodes.clauses
	default:
		return nil, p.fail()
	}
	if p.accept("where") {
		var err error
		if counted.where, err = p.expression(); err != nil {
			return nil, err
		}
	}
	if p.accept("group") {
		if err := p.expect("by"); err != nil {
			return nil, err
		}
		by, err := p.property()
		if err != nil {
			return nil, err
		}
		s.groupBy = &by
	}
	return s, nil
}

// plan = "plan" ( suspects | nodes | count ) .
func (p *parser) plan() (statement, error) {
	for _, of := range []struct {
		name  string
		parse func() (statement, error)
	}{{"suspects", p.suspects}, {"nodes", p.nodes}, {"count", p.count}} {
		if p.accept(of.name) {
			s, err := of.parse()
			return &planStatement{of: s}, err
		}
	}
	return nil, p.fail()
}

// node = "node" id .
func (p *parser) node() (statement, error) {
	id, err := p.id()
	return &nodeStatement{id: id}, err
}

// explain = "explain" id .
func (p *parser) explain() (statement, error) {
	id, err := p.id()
	return &explainStatement{id: id}, err
}

// neighbors = "neighbors" id [ "hops" number ] [ "limit" number ] .
func (p *parser) neighbors() (statement, error) {
	id, err := p.id()
	if err != nil {
		return nil, err
	}
	s := &neighborsStatement{id: id}
	if p.accept("hops") {
		hops, err := p.number("a number of hops")
		if err != nil {
			return nil, err
		}
		s.hops = &hops
	}
	if p.accept("limit") {
		limit, err := p.number("a number of rows")
		if err != nil {
			return nil, err
		}
		s.limit = &limit
	}
	return s, nil
}

// clean = "clean" [ "hops" number ] [ "direction" ( "out" | "in" | "both" ) ] .
func (p *parser) clean() (statement, error) {
	s := &cleanStatement{}
	if p.accept("hops") {
		hops, err := p.number("a number of hops")
		if err != nil {
			return nil, err
		}
		s.hops = &hops
	}
	if p.accept("direction") {
		for _, d := range []kv.Direction{kv.Out, kv.In, kv.Both} {
			if p.accept(d.String()) {
				s.direction = d
				return s, nil
			}
		}
		return nil, p.fail()
	}
	return s, nil
}
