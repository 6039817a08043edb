package query

import (
	"errors"
	"slices"
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
// notes what would have been accepted, for "want …" in errors. A text that does not fit is a panic with a *TextError,
// which caught returns.
type parser struct {
	scan    scanner
	current token
	wants   []string // what the grammar would accept at the current token, as errors call it
	depth   int
	params  map[int]bool // the numbers of parameters so far
}

// wantClass is how errors call a class.
const wantClass = "a class in single quotes"

func newParser(text string, at Pos) *parser {
	p := &parser{scan: newScanner(text, at)}
	p.advance()
	return p
}

// caught applies a rule of the grammar, and returns the *TextError of a text that does not fit.
func caught(rule func()) (err error) {
	defer func() {
		failure := recover()
		wrong, ok := failure.(*TextError)
		if ok {
			err = wrong
		} else if failure != nil {
			panic(failure)
		}
	}()
	rule()
	return nil
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

// fail refuses a token that nothing wanted. More names others that could stand here.
func (p *parser) fail(more ...string) {
	if p.current.kind == tokenBad {
		panic(&TextError{Pos: p.current.pos, Err: errors.New(p.current.text), Unfinished: p.current.open})
	}
	got := p.current.String()
	if p.current.is(",") {
		got = `","` // beside the comma of the sentence
	}
	wrong := faultAt(p.current.pos, "got %s, want %s", got, wording.AnyOf(append(p.wants, more...)))
	wrong.Unfinished = p.current.kind == tokenEnd
	panic(wrong)
}

// end refuses a text that goes on where it should end.
func (p *parser) end(label ...string) {
	if p.current.kind != tokenEnd {
		p.fail(label...)
	}
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
func (p *parser) expect(words ...string) {
	for _, word := range words {
		p.oneOf(word)
	}
}

// oneOf moves over one of some words, and returns it.
func (p *parser) oneOf(words ...string) string {
	i := slices.IndexFunc(words, p.accept)
	if i < 0 {
		p.fail()
	}
	return words[i]
}

// each reads what begins with some words, each at most once, in any order. Reading may change the words that are left.
func (p *parser) each(words []string, read func(word string, left []string) []string) {
	words = slices.Clone(words)
	for {
		i := slices.IndexFunc(words, p.accept)
		if i < 0 {
			return
		}
		word := words[i]
		words = read(word, slices.Delete(words, i, i+1))
	}
}

// listOf reads one or more of something, with commas between.
func listOf[T any](p *parser, one func() T) (all []T) {
	for {
		if all = append(all, one()); !p.accept(",") {
			return all
		}
	}
}
