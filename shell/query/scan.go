package query

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Pos is a place in the text of a statement. Line and Column start at 1, and a column is one character. Offset counts
// bytes from the start of the text.
type Pos struct {
	Offset, Line, Column int
}

// String is line:column.
func (p Pos) String() string { return fmt.Sprintf("%d:%d", p.Line, p.Column) }

// startOfText is where a text that is not part of a longer one begins.
var startOfText = Pos{Line: 1, Column: 1}

// after returns the place reached by reading text from p.
func (p Pos) after(text string) Pos {
	for _, r := range text {
		if r == '\n' {
			p.Line, p.Column = p.Line+1, 1
		} else {
			p.Column++
		}
	}
	p.Offset += len(text)
	return p
}

type tokenKind uint8

const (
	tokenEnd    tokenKind = iota
	tokenName             // a bare word: a keyword or a property
	tokenQuoted           // "a name in double quotes"
	tokenString           // 'text in single quotes'
	tokenNumber           // 12, -0.5, 1e-3
	tokenParam            // $1
	tokenMark             // an operator or a bracket
	tokenWord             // an id without quotes, scanned by word
	tokenBad              // not readable; text says why
)

// A token is one piece of a statement. Text is the decoded value of names and strings, the number of
// a parameter without its $, and the source otherwise.
type token struct {
	kind tokenKind
	text string
	pos  Pos
	open bool // a quote that never closes
}

// String describes the token for "got X".
func (t token) String() string {
	switch t.kind {
	case tokenEnd:
		return "the end"
	case tokenQuoted:
		return QuoteName(t.text)
	case tokenString:
		return Quote(t.text)
	case tokenParam:
		return "$" + t.text
	default:
		return t.text
	}
}

// is reports whether the token is the keyword or mark, in upper or lower case.
func (t token) is(word string) bool {
	return (t.kind == tokenName || t.kind == tokenMark) && strings.EqualFold(t.text, word)
}

// A scanner cuts a text into tokens.
type scanner struct {
	text string
	base int // offset of text[0]
	pos  Pos // of the next token
}

func newScanner(text string, at Pos) scanner {
	return scanner{text: text, base: at.Offset, pos: at}
}

func (s *scanner) rest() string { return s.text[s.pos.Offset-s.base:] }

// take moves over n bytes and returns them.
func (s *scanner) take(n int) string {
	text := s.rest()[:n]
	s.pos = s.pos.after(text)
	return text
}

// skipBlank moves over white space and comments. A comment is -- to the end of the line, where it does
// not touch what stands before it, so that an id may hold two dashes. A flag is no comment.
func (s *scanner) skipBlank() {
	for {
		rest := s.rest()
		blank := len(rest) - len(strings.TrimLeftFunc(rest, unicode.IsSpace))
		s.take(blank)
		if !strings.HasPrefix(s.rest(), "--") || !s.apart() || s.atFlag() {
			return
		}
		comment := strings.IndexByte(s.rest(), '\n')
		if comment < 0 {
			comment = len(s.rest())
		}
		s.take(comment)
	}
}

// apart reports whether nothing, white space or a semicolon stands just before the scanner.
func (s *scanner) apart() bool {
	before, _ := utf8.DecodeLastRuneInString(s.text[:s.pos.Offset-s.base])
	return s.pos.Offset == s.base || before == ';' || unicode.IsSpace(before)
}

// atFlag reports whether -- and a letter stand here, and are not a part of an id. Whoever writes that means a flag of a
// command. To read it as a comment would drop what it asks for without a word.
func (s *scanner) atFlag() bool {
	after, dashes := strings.CutPrefix(s.rest(), "--")
	return dashes && after != "" && 'a' <= after[0]|0x20 && after[0]|0x20 <= 'z' && s.apart()
}

// next returns the next token. What cannot be read is a tokenBad: whoever wanted a token there reports
// it, and a parser that wanted a word may scan the same place again.
func (s *scanner) next() token {
	s.skipBlank()
	rest := s.rest()
	if rest == "" {
		return s.token(tokenEnd, 0)
	}
	first, size := utf8.DecodeRuneInString(rest)
	switch {
	case first == '\'' || first == '"':
		return s.quoted(byte(first))
	case startsName(first):
		return s.token(tokenName, lengthOf(rest, continuesName))
	case s.atFlag():
		flag := rest[:lengthOf(rest, func(r rune) bool { return continuesName(r) || r == '-' })]
		return s.bad(len(flag),
			fmt.Sprintf("got %q, and a statement has no flags: give them to the command, as in: shell DB --who ann -c undo. "+
				"A comment begins with -- and a space", flag))
	case numberForm.MatchString(rest):
		return s.number(len(numberForm.FindString(rest)))
	case first == '$':
		digits := lengthOf(rest[1:], isDigit)
		if digits == 0 {
			return s.bad(1, "a parameter is $ and a number, as in $1")
		}
		t := s.token(tokenParam, 1+digits)
		t.text = t.text[1:]
		return t
	}
	for _, mark := range []string{"!=", "<>", "<=", ">=", "=", "<", ">", "(", ")", ",", ";", "*"} {
		if strings.HasPrefix(rest, mark) {
			return s.token(tokenMark, len(mark))
		}
	}
	if first == utf8.RuneError && size == 1 {
		return s.bad(size, "the text is not valid UTF-8 here")
	}
	return s.bad(size, fmt.Sprintf("got %q, which has no meaning here", first))
}

// word returns what stands next as one id: everything up to white space, a quote, a comma, a bracket
// or a semicolon. An id that begins with -- needs quotes.
func (s *scanner) word() token {
	s.skipBlank()
	n := lengthOf(s.rest(), continuesID)
	if n == 0 || strings.HasPrefix(s.rest(), "--") {
		return s.next()
	}
	if !utf8.ValidString(s.rest()[:n]) {
		return s.bad(n, "the text is not valid UTF-8 here")
	}
	return s.token(tokenWord, n)
}

func (s *scanner) token(kind tokenKind, size int) token {
	at := s.pos
	text := s.take(size)
	return token{kind: kind, text: text, pos: at}
}

func (s *scanner) bad(size int, why string) token {
	t := s.token(tokenBad, size)
	t.text = why
	return t
}

// quoted scans 'text' or "name", where the quote doubled stands for itself.
func (s *scanner) quoted(quote byte) token {
	rest := s.rest()
	kind, what := tokenString, "text"
	if quote == '"' {
		kind, what = tokenQuoted, "name"
	}
	for i := 1; i < len(rest); i++ {
		if rest[i] != quote {
			continue
		}
		if i+1 < len(rest) && rest[i+1] == quote {
			i++
			continue
		}
		inside := rest[1:i]
		if !utf8.ValidString(inside) {
			return s.bad(i+1, "the text is not valid UTF-8 here")
		}
		t := s.token(kind, i+1)
		t.text = strings.ReplaceAll(inside, string([]byte{quote, quote}), string(quote))
		return t
	}
	t := s.bad(len(rest), fmt.Sprintf("the %s that starts here has no closing %c", what, quote))
	t.open = true
	return t
}

// numberForm is a number at the beginning of a text.
var numberForm = regexp.MustCompile(`^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?`)

// number scans a number of so many bytes, after which no name may follow.
func (s *scanner) number(size int) token {
	rest := s.rest()
	if tail := lengthOf(rest[size:], func(r rune) bool { return continuesName(r) || r == '.' }); tail > 0 {
		return s.bad(size+tail,
			fmt.Sprintf("got %s, which is not a number; text takes single quotes: '%[1]s'", rest[:size+tail]))
	}
	return s.token(tokenNumber, size)
}

func startsName(r rune) bool    { return r == '_' || unicode.IsLetter(r) }
func continuesName(r rune) bool { return startsName(r) || unicode.IsDigit(r) || unicode.IsMark(r) }
func continuesID(r rune) bool {
	return !unicode.IsSpace(r) && unicode.IsPrint(r) && !strings.ContainsRune(`'",();$`, r)
}
func isDigit(r rune) bool { return '0' <= r && r <= '9' }

// lengthOf returns how many bytes at the start of text are of a kind.
func lengthOf(text string, of func(rune) bool) int {
	return len(text) - len(strings.TrimLeftFunc(text, of))
}

// Quote puts a text into single quotes, as the language reads it.
func Quote(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// QuoteName writes a property name as the language reads it: bare if it can be.
func QuoteName(name string) string {
	first, _ := utf8.DecodeRuneInString(name)
	if startsName(first) && lengthOf(name, continuesName) == len(name) && !reserved[strings.ToLower(name)] {
		return name
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}
