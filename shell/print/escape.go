package print

import (
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/query"
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

// An escapeWriter writes to a terminal text of a format for programs, its control characters escaped but for the ends
// of lines and the tabs between fields.
type escapeWriter struct {
	out  io.Writer
	rest []byte // the beginning of a character whose end has not come
}

func (w *escapeWriter) Write(p []byte) (int, error) {
	text := slices.Concat(w.rest, p)
	whole := len(text)
	for i := max(0, len(text)-utf8.UTFMax+1); i < len(text); i++ {
		if utf8.RuneStart(text[i]) && !utf8.FullRune(text[i:]) {
			whole = i
			break
		}
	}
	w.rest = text[whole:]
	if _, err := io.WriteString(w.out, escape(string(text[:whole]), "\n\t")); err != nil {
		return 0, err
	}
	return len(p), nil
}

// end writes the beginning of a character that nothing ended.
func (w *escapeWriter) end() error {
	_, err := io.WriteString(w.out, EscapeControls(string(w.rest)))
	w.rest = nil
	return err
}

// safeText puts an apostrophe before a text that a spreadsheet would take for a formula: a text that is no number and
// begins with =, +, -, @, one of these in full width, a tab or an end of line. Afterwards nobody can tell whether an
// apostrophe was there before.
func safeText(text string) string {
	first, _ := utf8.DecodeRuneInString(text)
	if text == "" || !strings.ContainsRune("=+-@＝＋－＠\t\r\n", first) {
		return text
	}
	if isNumber(text) {
		return text
	}
	return "'" + text
}

// isNumber reports whether a text is a decimal number. strconv alone would also take 0x1p-2, 1_000, NaN and Inf.
func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil && strings.Trim(text, "0123456789+-.eE") == ""
}

// fieldText is a value in csv or tsv.
func fieldText(v kv.Value, kind kv.Kind, safe bool) string {
	text := query.Exact(v, kind)
	if safe && v.Kind() == kv.KindString {
		return safeText(text)
	}
	return text
}

// fieldNames are the names of columns in csv or tsv.
func fieldNames(columns []query.ColumnInfo, safe bool) []string {
	names := make([]string, len(columns))
	for i, c := range columns {
		if names[i] = c.Name; safe {
			names[i] = safeText(c.Name)
		}
	}
	return names
}
