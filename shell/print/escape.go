package print

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// EscapeControls writes characters that move the cursor or hide text as escapes such as \n, \x1b and \u202e, and bytes
// that are no character as escapes such as \x9b.
func EscapeControls(s string) string { return escape(s, "") }

// EscapeLines is EscapeControls for a text of several lines: it leaves the ends of lines.
func EscapeLines(s string) string { return escape(s, "\n") }

// escape is EscapeControls without the characters kept.
func escape(s, exceptions string) string {
	const joiner = '\u200d' // holds an emoji of several people together
	odd := func(r rune, size int) bool {
		return r == utf8.RuneError && size == 1 || !unicode.IsPrint(r) && r != joiner && !strings.ContainsRune(exceptions, r)
	}
	var out strings.Builder
	plain := 0 // bytes that have been written
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if odd(r, size) {
			out.WriteString(s[plain:i])
			quoted := strconv.Quote(s[i : i+size])
			out.WriteString(quoted[1 : len(quoted)-1])
			plain = i + size
		}
		i += size
	}
	if plain == 0 {
		return s
	}
	out.WriteString(s[plain:])
	return out.String()
}
