package query

import (
	"fmt"
	"strconv"
	"unicode"

	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// reserved words cannot be property names without double quotes.
var reserved = map[string]bool{
	"where": true, "order": true, "by": true, "limit": true, "return": true, "group": true,
	"and": true, "or": true, "not": true, "in": true, "like": true, "is": true, "null": true,
	"asc": true, "desc": true, "true": true, "false": true,
}

// maxDepth bounds nested brackets and nots, so that no text can exhaust the stack.
const maxDepth = 200

// A parser is a recursive descent over tokens, one method for each rule of the grammar, which its comment has in EBNF:
// | separates alternatives, [ ] encloses what may be left out, { } what may be repeated. Each test of the current token
// notes what would have been accepted, for "want …" in errors.
type parser struct {
	scan    scanner
	current token
	wants   []string // what the grammar would accept at the current token, as errors call it
	depth   int
}

// wantClass is how errors call a class.
const wantClass = "a class in single quotes"

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

// ahead is the token after the current one.
func (p *parser) ahead() token {
	scan := p.scan
	return scan.next()
}

// fail is the error of a token that nothing wanted. More names others that could stand here.
func (p *parser) fail(more ...string) error {
	if p.current.kind == tokenBad {
		return &ParseError{Pos: p.current.pos, Msg: p.current.text, Unfinished: p.current.open}
	}
	got := p.current.String()
	if p.current.is(",") {
		got = `","` // beside the comma of the sentence
	}
	msg := fmt.Sprintf("got %s, want %s", got, wording.AnyOf(append(p.wants, more...)))
	return &ParseError{Pos: p.current.pos, Msg: msg, Unfinished: p.current.kind == tokenEnd}
}

// end is the error of a text that goes on where it should end.
func (p *parser) end(label string) error {
	if p.current.kind == tokenEnd {
		return nil
	}
	if label == "" {
		return p.fail()
	}
	return p.fail(label)
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
	if label != "" {
		p.wants = append(p.wants, label)
	}
	return false
}

// expect moves over words that must stand here.
func (p *parser) expect(words ...string) error {
	for _, word := range words {
		if !p.accept(word) {
			return p.fail()
		}
	}
	return nil
}
