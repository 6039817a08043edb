// Package wording words the outcomes of runs, decisions, errors and counts, so that statements and commands say the
// same. It prints nothing, and knows no statement, flag or terminal.
package wording

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
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
