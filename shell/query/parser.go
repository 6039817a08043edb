package query

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// reserved words cannot be property names without double quotes.
var reserved = map[string]bool{
	"where": true, "order": true, "by": true, "limit": true, "return": true, "group": true,
	"and": true, "or": true, "not": true, "in": true, "like": true, "is": true, "null": true,
	"between": true, "asc": true, "desc": true, "true": true, "false": true,
}

// maxDepth bounds nested brackets and nots, so that no text can exhaust the stack.
const maxDepth = 200

// A parser is a recursive descent over tokens, one method for each rule of the grammar in the package
// documentation. Each test of the current token notes what would have been accepted, which makes both
// "want …" in errors and the completions of the prompt.
type parser struct {
	scan    scanner
	current token
	wants   []want
	depth   int
	within  int // conditions on neighbours that the current token stands in

	list string // that the statement is about: history, classes or neighbors; "" is nodes

	alone      string // the property before the current token, if it stands alone
	beforeEnds int    // how many wants there were for what could stand behind it instead
}

// A want is what the grammar would accept at the current token.
type want struct {
	label    string   // in errors; "" stays unmentioned
	words    []string // keywords and marks
	complete completion
	property string // whose values complete, for completeValues
	list     string // of parser, where it matters
}

type completion uint8

const (
	completeWords completion = iota
	completeProperties
	completeValues
	completeIDs
)

func newParser(text string, at Pos) *parser {
	p := &parser{scan: newScanner(text, at)}
	p.advance()
	return p
}

// advance moves to the next token.
func (p *parser) advance() {
	p.current = p.scan.next()
	p.wants, p.alone = p.wants[:0], ""
}

// fail is the error of a token that nothing wanted.
func (p *parser) fail() error {
	if p.current.kind == tokenBad {
		return &ParseError{Pos: p.current.pos, Msg: p.current.text + p.missingEnd(), Unfinished: p.current.open}
	}
	var labels, words []string
	for _, w := range p.wants {
		if w.label != "" {
			labels = append(labels, w.label)
		}
		words = append(words, slices.DeleteFunc(slices.Clone(w.words), isMark)...)
	}
	if p.current.kind == tokenFlag {
		return &ParseError{Pos: p.current.pos, Msg: p.current.noFlag(words)}
	}
	got := p.current.String()
	if p.current.is(",") {
		got = `","` // beside the comma of the sentence
	}
	msg := fmt.Sprintf("got %s, want %s", got, wording.AnyOf(labels))
	begins := func(word string) bool { return slices.Contains(words, word) }
	switch {
	case p.current.is("by") && begins("group"):
		msg += "; write group by"
	case p.current.is("by") && begins("order"):
		msg += "; write order by"
	case p.current.kind == tokenName:
		msg += wording.DidYouMean(p.current.text, words)
	}
	return &ParseError{Pos: p.current.pos, Msg: msg + p.missingEnd(), Unfinished: p.current.kind == tokenEnd}
}

// noFlag says why a flag is an error, and what to write where one of words can stand in its place.
func (t token) noFlag(words []string) string {
	clause := strings.Fields(strings.ReplaceAll(strings.ToLower(t.text), "-", " "))
	if slices.Contains(words, clause[0]) {
		return fmt.Sprintf("got %q, and a statement has no flags: write %s", t.text, strings.Join(clause, " "))
	}
	return fmt.Sprintf("got %q, and a statement has no flags: give them to the command, as in: shell DB --who ann -c "+
		"undo. "+
		"A comment begins with -- and a space", t.text)
}

// missingEnd says so where the current token looks like the next statement or a dot command: it begins a line, and with the name
// of a statement, with a word for the session such as exit, or with a point and a letter.
func (p *parser) missingEnd() string {
	at := p.current.pos.Offset - p.scan.base
	before, line := p.scan.text[:at], strings.Fields(p.scan.text[at:])
	newline := strings.LastIndexByte(before, '\n')
	if newline < 0 || len(line) == 0 || strings.TrimSpace(before[newline:]) != "" {
		return ""
	}
	word := strings.ToLower(strings.TrimRight(line[0], ";"))
	isDot := len(word) > 1 && word[0] == '.' && unicode.IsLetter(rune(word[1]))
	if !isDot && !slices.Contains(append(StatementNames(), lineWords...), word) {
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
