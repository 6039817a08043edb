package index

import (
	"slices"
	"unicode/utf8"
)

// A pattern is a parsed Like: characters, and anyRune and anyRun in the places of _ and %.
type pattern []rune

// What stands for _ and % is no valid rune.
const (
	anyRune rune = -1
	anyRun  rune = -2
)

func (p Like) parse() (parsed pattern) {
	quoted := false
	for i, r := range p.Pattern {
		switch {
		case quoted || r != '%' && r != '_' && r != '\\' || r == '\\' && i == len(p.Pattern)-1:
			parsed, quoted = append(parsed, r), false
		case r == '\\':
			quoted = true
		case r == '_':
			parsed = append(parsed, anyRune)
		default:
			parsed = append(parsed, anyRun)
		}
	}
	return parsed
}

// prefix is the literal text that every match begins with.
func (p pattern) prefix() string {
	if open := slices.IndexFunc(p, func(r rune) bool { return r < 0 }); open >= 0 {
		return string(p[:open])
	}
	return string(p)
}

// literal returns the one string that matches, where there is only one.
func (p pattern) literal() (string, bool) {
	return string(p), !slices.ContainsFunc(p, func(r rune) bool { return r < 0 })
}

// prefixOnly reports whether every string that begins with prefix matches.
func (p pattern) prefixOnly() bool {
	end := slices.IndexFunc(p, func(r rune) bool { return r < 0 })
	return end >= 0 && !slices.ContainsFunc(p[end:], func(r rune) bool { return r != anyRun })
}

// match reports whether the whole of text matches. Each % takes as little as it can; where the rest does not match, the
// last % takes one character more.
func (p pattern) match(text string) bool {
	at, run, taken := 0, -1, 0 // run is the place of the last %, taken where what follows it began in text
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case at < len(p) && p[at] == anyRun:
			run, taken = at, i
			at++
		case at < len(p) && (p[at] == anyRune || p[at] == r):
			at++
			i += size
		case run >= 0:
			_, size := utf8.DecodeRuneInString(text[taken:])
			taken += size
			at, i = run+1, taken
		default:
			return false
		}
	}
	return !slices.ContainsFunc(p[at:], func(r rune) bool { return r != anyRun })
}
