package files

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/kv"
)

// guessedKinds are the kinds that a column may be found to have, the narrowest first. Else it has strings.
var guessedKinds = [...]kv.Kind{kv.KindBool, kv.KindInt, kv.KindFloat}

// A kindGuess finds the narrowest kind that all values of a column have. Empty values are null and have every kind.
type kindGuess struct {
	not  [len(guessedKinds)]bool // there is a value that is not of the kind
	some bool                    // there is a value
}

// see takes a value.
func (g *kindGuess) see(text []byte) {
	if len(text) == 0 {
		return
	}
	g.some = true
	for i, kind := range guessedKinds {
		if !g.not[i] {
			_, ok := parseValue(kind, text)
			g.not[i] = !ok
		}
	}
}

// merge adds the findings of another guess about the same column.
func (g *kindGuess) merge(other kindGuess) {
	for i := range g.not {
		g.not[i] = g.not[i] || other.not[i]
	}
	g.some = g.some || other.some
}

func (g *kindGuess) kind() kv.Kind {
	for i, kind := range guessedKinds {
		if g.some && !g.not[i] {
			return kind
		}
	}
	return kv.KindString
}

// parseValue reads a value of a kind; an empty text is null.
func parseValue(kind kv.Kind, text []byte) (kv.Value, bool) {
	if len(text) == 0 {
		return kv.Value{}, true
	}
	switch kind {
	case kv.KindBool:
		switch {
		case strings.EqualFold(string(text), "true"):
			return kv.ValueOf(true), true
		case strings.EqualFold(string(text), "false"):
			return kv.ValueOf(false), true
		}
		return kv.Value{}, false
	case kv.KindInt:
		if !startsPlainNumber(text) {
			return kv.Value{}, false
		}
		i, err := strconv.ParseInt(string(text), 10, 64)
		return kv.ValueOf(i), err == nil
	case kv.KindFloat:
		if !startsPlainNumber(text) {
			f, ok := parseNonFinite(text)
			return kv.ValueOf(f), ok
		}
		f, ok := parseNumber(text)
		return kv.ValueOf(f), ok && keepsDigits(f, text)
	}
	return kv.ValueOf(string(text)), true
}

// parseNumber reads a finite decimal number; strconv alone would also take 0x1p-2, 1_000, NaN and Inf.
func parseNumber(text []byte) (float64, bool) {
	if len(bytes.Trim(text, "0123456789+-.eE")) > 0 {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(text), 64)
	return f, err == nil
}

// keepsDigits reports whether a float holds all digits of the integer that a text writes, such as those of a hash,
// which the nearest float would silently change. Of other numbers it does not ask.
func keepsDigits(f float64, text []byte) bool {
	const always = 15 // digits that every float keeps
	if len(text) <= always || bytes.ContainsAny(text, ".eE") {
		return true
	}
	return strconv.FormatFloat(f, 'f', 0, 64) == string(text)
}

// parseNonFinite reads what programs write for a float that is no number, which a store keeps as null, or infinite:
// NaN, inf and infinity, in upper or lower case, an infinity with or without its sign.
func parseNonFinite(text []byte) (float64, bool) {
	if len(text) > len("-infinity") {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(text), 64)
	return f, err == nil && (math.IsNaN(f) || math.IsInf(f, 0))
}

// startsPlainNumber tells numbers from texts that strconv would take for some: 007, which is a code more likely than a
// number, 0x10 and +5.
func startsPlainNumber(text []byte) bool {
	if text[0] == '-' {
		text = text[1:]
	}
	switch {
	case len(text) == 0:
		return false
	case text[0] == '0':
		return len(text) == 1 || text[1] == '.' || text[1] == 'e' || text[1] == 'E'
	}
	return text[0] == '.' || '1' <= text[0] && text[0] <= '9'
}

// valueName is the name of a value of a kind in a message.
func valueName(kind kv.Kind) string {
	switch kind {
	case kv.KindBool:
		return "true or false"
	case kv.KindInt:
		return "an integer"
	case kv.KindFloat:
		return "a number"
	}
	return "text"
}
