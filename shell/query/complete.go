package query

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
)

// maxClasses bounds how many class names are offered at once.
const maxClasses = 200

// Ids are not sorted in the store: to find those that begin with a text, as many are read, and for suspects as long is
// waited, and as many are offered.
const (
	maxIDs          = 30
	maxIDsRead      = 100_000
	maxSuspectsRead = 1000
	maxWait         = 300 * time.Millisecond
)

// A Candidate is a text that could be typed next, with a note for the person who types.
type Candidate struct{ Text, Note string }

// Complete returns the texts that the grammar and the store allow at the end of an unfinished statement. A candidate replaces the last
// part of the text, which Complete returns as replaced.
func Complete(tx *kv.Tx, before string) (candidates []Candidate, word string) {
	before = LastStatement(before)
	begin := wordStart(before)
	wants := wantsAfter(tx, before[:begin])
	if at := idStart(before); at < begin {
		if ofID := wantsAfter(tx, before[:at]); slices.ContainsFunc(ofID, func(w want) bool { return w.complete == completeIDs }) {
			begin, wants = at, ofID
		}
	}
	prefix := before[begin:]
	for _, w := range wants {
		candidates = append(candidates, candidatesFor(tx, w, prefix)...)
	}
	matches := func(c Candidate) bool {
		return len(c.Text) >= len(prefix) && strings.EqualFold(c.Text[:len(prefix)], prefix)
	}
	return slices.DeleteFunc(candidates, func(c Candidate) bool { return !matches(c) }), prefix
}

// wantsAfter returns what the grammar accepts behind a text, nothing where it does not accept the text. A property can stand alone only
// if it is true or false.
func wantsAfter(tx *kv.Tx, text string) []want {
	p := newParser(text, startOfText)
	// A text that can go on fails at its end, for what is missing.
	if _, err := p.statement(); err != nil && p.current.kind != tokenEnd {
		return nil
	}
	if column, _ := tx.Column(p.alone); p.alone != "" && p.alone != decide.DisputedColumn && column.Kind != kv.KindBool {
		return p.wants[:p.beforeEnds]
	}
	return p.wants
}

// candidatesFor lists what a want can be met with. Of ids it lists only those that begin with a prefix: the rest are many.
func candidatesFor(tx *kv.Tx, w want, prefix string) []Candidate {
	var candidates []Candidate
	ofRecords := w.list == "history" || w.list == "classes" // which have no properties of nodes
	switch w.complete {
	case completeIDs:
		return idCandidates(tx, prefix)
	case completeProperties:
		for _, c := range listColumns(tx, w.list) {
			candidates = append(candidates, Candidate{QuoteName(c.Name), kindName(c.Kind)})
		}
		if ofRecords {
			break
		}
		for _, property := range propertyNames(tx) {
			note := ""
			if c, ok := tx.Column(property); ok {
				note = kindName(c.Kind)
			}
			candidates = append(candidates, Candidate{QuoteName(property), note})
		}
	case completeValues:
		switch w.property {
		case "label", "suggested":
			classes := tx.Classes()
			for _, class := range classes[:min(len(classes), maxClasses)] {
				candidates = append(candidates, Candidate{Text: Quote(class)})
			}
		default:
			for _, value := range fixedValues(w.property, listColumns(tx, w.list)) {
				candidates = append(candidates, Candidate{Text: Quote(value)})
			}
		}
	default:
		for _, word := range w.words {
			if isMark(word) || ofRecords && (word == "share" || word == "neighbor") {
				continue
			}
			note := ""
			if i := slices.Index(StatementNames(), word); i >= 0 && len(w.words) > 1 {
				note = manual[i].Summary
			}
			candidates = append(candidates, Candidate{word, note})
		}
	}
	return candidates
}

// idCandidates lists ids that begin with a prefix, as they are to be typed: suspects first, the highest score before the
// others, then nodes in the order of the node file. What fails, or takes too long, ends the list.
func idCandidates(tx *kv.Tx, prefix string) (candidates []Candidate) {
	seen := make(map[string]bool)
	// add reports whether there is room for more.
	add := func(id, note string) bool {
		text := quoteID(id)
		if strings.HasPrefix(prefix, "'") {
			text = Quote(id)
		}
		if strings.HasPrefix(text, prefix) && !seen[id] && !hasControls(id) {
			seen[id] = true
			candidates = append(candidates, Candidate{text, note})
		}
		return len(candidates) < maxIDs
	}
	for id := range suspectIDs(tx) {
		if !add(id, "suspect") {
			return candidates
		}
	}
	read := 0
	for id, err := range tx.IDs() {
		if read++; err != nil || read > maxIDsRead || !add(id, "") {
			break
		}
	}
	return candidates
}

// suspectIDs yields the ids of the suspects with the highest scores, none if the store has no scores.
func suspectIDs(tx *kv.Tx) iter.Seq[string] {
	return func(yield func(string) bool) {
		ctx, cancel := context.WithTimeout(context.Background(), maxWait)
		defer cancel()
		for id, err := range Rows[string](Query(ctx, tx, Options{}, "suspects limit $1 return id", maxSuspectsRead)) {
			if err != nil || !yield(id) {
				return
			}
		}
	}
}

// hasControls reports whether a text cannot be shown in a menu as it is.
func hasControls(text string) bool {
	return !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

// LastStatement returns the text after the last semicolon that ends a statement, or from the last dot command on.
func LastStatement(text string) string {
	for {
		var cut cutter
		end, dot := cut.find([]byte(text), true)
		if end < 0 || dot {
			return text
		}
		text = text[end:]
	}
}

// wordStart is where the word that is being typed at the end of a text begins: a name, a number, or the
// text since an open quote.
func wordStart(text string) int {
	var cut cutter
	cut.find([]byte(text), true)
	if cut.inside == '\'' || cut.inside == '"' {
		return strings.LastIndexByte(text, byte(cut.inside))
	}
	return len(strings.TrimRightFunc(text, continuesName))
}

// idStart is where an id that is being typed at the end of a text begins, with or without a quote.
func idStart(text string) int {
	begin := wordStart(text)
	if strings.HasPrefix(text[begin:], "'") || strings.HasPrefix(text[begin:], `"`) {
		return begin
	}
	return len(strings.TrimRightFunc(text[:begin], continuesID))
}
