package index

import (
	"strings"
	"unicode/utf8"
)

// A pattern is a parsed Like: the literal text between its % signs, where anyRune marks a _.
type pattern struct {
	pieces [][]rune // split at %; n pieces have n-1 % between them
	lower  bool     // the pieces are in lower case, and match a text in lower case
}

// anyRune stands for _ inside a piece; it is no valid rune.
const anyRune rune = -1

func (p Like) parse() pattern {
	if p.AnyCase {
		folded := parsePattern(strings.ToLower(p.Pattern))
		folded.lower = true
		return folded
	}
	return parsePattern(p.Pattern)
}

func parsePattern(text string) pattern {
	pieces := [][]rune{nil}
	last := func() *[]rune { return &pieces[len(pieces)-1] }
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		switch {
		case r == '%':
			pieces = append(pieces, nil)
		case r == '_':
			*last() = append(*last(), anyRune)
		case r == '\\' && i < len(text):
			r, size = utf8.DecodeRuneInString(text[i:])
			i += size
			*last() = append(*last(), r)
		default: // also a \ at the end, which stands for itself
			*last() = append(*last(), r)
		}
	}
	return pattern{pieces: pieces}
}

// prefix is the literal text every match begins with, "" if its case is open.
func (p pattern) prefix() string {
	var b strings.Builder
	if p.lower {
		return ""
	}
	for _, r := range p.pieces[0] {
		if r == anyRune {
			break
		}
		b.WriteRune(r)
	}
	return b.String()
}

// literal returns the one string that matches, where there is only one.
func (p pattern) literal() (string, bool) {
	if len(p.pieces) > 1 || p.lower {
		return "", false
	}
	for _, r := range p.pieces[0] {
		if r == anyRune {
			return "", false
		}
	}
	return string(p.pieces[0]), true
}

// prefixOnly reports whether every string that begins with prefix matches.
func (p pattern) prefixOnly() bool {
	if p.lower {
		return false
	}
	for i, piece := range p.pieces {
		for _, r := range piece {
			if i > 0 || r == anyRune {
				return false
			}
		}
	}
	return len(p.pieces) > 1
}

// match reports whether the whole of text matches. The first and last piece are tied to the ends; each piece
// between takes its leftmost place, which leaves most room to the rest.
func (p pattern) match(text string) bool {
	if p.lower {
		text = strings.ToLower(text)
	}
	first, last := p.pieces[0], p.pieces[len(p.pieces)-1]
	rest, ok := cutPiece(text, first)
	if !ok {
		return false
	}
	if len(p.pieces) == 1 {
		return rest == ""
	}
	for _, piece := range p.pieces[1 : len(p.pieces)-1] {
		for {
			after, ok := cutPiece(rest, piece)
			if ok {
				rest = after
				break
			}
			if rest == "" {
				return false
			}
			_, size := utf8.DecodeRuneInString(rest)
			rest = rest[size:]
		}
	}
	cut := len(rest) // where the last len(last) characters begin
	for range last {
		if cut == 0 {
			return false
		}
		_, size := utf8.DecodeLastRuneInString(rest[:cut])
		cut -= size
	}
	_, ok = cutPiece(rest[cut:], last)
	return ok
}

// cutPiece removes from the front of text what piece matches.
func cutPiece(text string, piece []rune) (rest string, ok bool) {
	for _, want := range piece {
		if text == "" {
			return "", false
		}
		r, size := utf8.DecodeRuneInString(text)
		if want != anyRune && r != want {
			return "", false
		}
		text = text[size:]
	}
	return text, true
}
