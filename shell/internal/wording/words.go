// Package wording words the outcomes of runs, decisions, errors and counts, so that statements and commands say the
// same. It prints nothing, and knows no statement, flag or terminal.
package wording

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Nodes counts nodes, such as "1 node" and "12 nodes".
func Nodes[N int | int64](n N) string { return Count(n, "node", "nodes") }

// Count puts a count before its noun: one for 1, many for any other number.
func Count[N int | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.FormatInt(int64(n), 10) + " " + many
}

// AnyOf joins "a", "b" and "c" to "a, b or c", each once.
func AnyOf(words []string) string {
	var once []string
	for _, word := range words {
		if !slices.Contains(once, word) {
			once = append(once, word)
		}
	}
	if len(once) < 2 {
		return strings.Join(once, "")
	}
	return strings.Join(once[:len(once)-1], ", ") + " or " + once[len(once)-1]
}

// Sentence begins a text with a capital letter.
func Sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// Short cuts a text that a message quotes.
func Short(text string) string { return Cut(text, 80) }

// Cut cuts a text to at most so many bytes, and says so by an ellipsis.
func Cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}

// Percent prints a share as a percentage, and NaN as "none".
func Percent(share float64) string {
	if math.IsNaN(share) {
		return "none"
	}
	return fmt.Sprintf("%.1f%%", 100*share)
}

// rooms are the names of rooms of the program in errors, and the errors that only say of which sort an error is.
var rooms = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(^|: )(?:cleaner|index|kv|ops|query): (?:bad options(?:: |$))?`)
})

// Plain is the text of an error for people: without the rooms of the program that it comes from.
func Plain(err error) string {
	return strings.TrimSuffix(rooms().ReplaceAllString(err.Error(), "$1"), ": ")
}

// Reworded is an error with other words. errors.Is and errors.As find the error behind them.
func Reworded(err error, text string) error { return reworded{err, text} }

type reworded struct {
	error
	text string
}

func (r reworded) Error() string { return r.text }
func (r reworded) Unwrap() error { return r.error }

// ShellWord quotes a word for a command line that the user may copy.
func ShellWord(word string) string {
	plain := func(r rune) bool {
		return strings.ContainsRune("./-_=,", r) || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// timeLayouts are the ways to write a time, in UTC if there is no offset.
var timeLayouts = []string{
	time.RFC3339, "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05", time.DateTime, "2006-01-02T15:04",
	"2006-01-02 15:04", time.DateOnly,
}

// ParseTime reads a time that a person or a file gives. The year 1 stands for no time.
func ParseTime(text string) (t time.Time, ok bool) {
	for _, layout := range timeLayouts {
		if t, err := time.Parse(layout, text); err == nil && !t.IsZero() {
			return t, true
		}
	}
	return time.Time{}, false
}
