package shell

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/reeflective/readline"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/index"
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

// A candidate is a text that could be typed next.
type candidate struct{ text, note string }

// completions is what the prompt offers after the text before the cursor.
func (s *session) completions(before string) readline.Completions {
	candidates, prefix := s.candidates(before)
	// The menu must not be longer than the screen, whose end the editor does not know.
	if lines := screenOf(s.opt.Out).height - strings.Count(before, "\n") - 3; lines > 0 && len(candidates) > lines {
		candidates = candidates[:lines]
	}
	pairs := make([]string, 0, 2*len(candidates))
	for _, c := range candidates {
		pairs = append(pairs, c.text, c.note)
	}
	offered := readline.CompleteValuesDescribed(pairs...)
	offered.PREFIX = prefix
	return offered
}

// candidates returns what the grammar and the store allow at the end of a text, and the part of it that they
// replace.
func (s *session) candidates(before string) (candidates []candidate, prefix string) {
	before = lastStatement(before)
	if trimmed := strings.TrimLeft(before, " \t\n"); strings.HasPrefix(trimmed, ".") {
		return dotCandidates(trimmed)
	}
	begin := wordStart(before)
	wants := wantsAfter(before[:begin])
	if at := idStart(before); at < begin {
		if ofID := wantsAfter(before[:at]); slices.ContainsFunc(ofID, func(w want) bool { return w.complete == completeIDs }) {
			begin, wants = at, ofID
		}
	}
	prefix = before[begin:]
	for _, w := range wants {
		candidates = append(candidates, s.wanted(w, prefix)...)
	}
	matches := func(c candidate) bool {
		return len(c.text) >= len(prefix) && strings.EqualFold(c.text[:len(prefix)], prefix)
	}
	return slices.DeleteFunc(candidates, func(c candidate) bool { return !matches(c) }), prefix
}

// wantsAfter returns what the grammar accepts behind a text, nothing where it does not accept the text.
func wantsAfter(text string) []want {
	p := newParser(text, startOfText)
	// A text that can go on fails at its end, for what is missing.
	if _, err := p.statement(); err != nil && p.current.kind != tokenEnd {
		return nil
	}
	return p.wants
}

// wanted lists what a want can be met with. Of ids it lists only those that begin with a prefix: the rest are many.
func (s *session) wanted(w want, prefix string) []candidate {
	var candidates []candidate
	tx := s.engine.store.Begin()
	defer tx.Close()
	switch w.complete {
	case completeIDs:
		return s.idCandidates(tx, prefix)
	case completeProperties:
		for _, property := range index.Names(tx) {
			note := ""
			if c, ok := tx.Column(property); ok {
				note = kindName(c.Kind)
			}
			candidates = append(candidates, candidate{quoteName(property), note})
		}
	case completeValues:
		switch w.property {
		case "label", "suggested":
			classes := tx.Classes()
			for _, class := range classes[:min(len(classes), maxClasses)] {
				candidates = append(candidates, candidate{text: quoteString(class)})
			}
		case decide.Column:
			for _, kind := range decisionKinds {
				candidates = append(candidates, candidate{text: quoteString(kind.String())})
			}
		case "split":
			for _, split := range []string{"train", "val", "test"} {
				candidates = append(candidates, candidate{text: quoteString(split)})
			}
		}
	default:
		for _, word := range w.words {
			if isMark(word) {
				continue
			}
			note := ""
			if i := slices.Index(statementNames(), word); i >= 0 && len(w.words) > 1 {
				note = manual[i].summary
			}
			candidates = append(candidates, candidate{word, note})
		}
	}
	return candidates
}

// idCandidates lists ids that begin with a prefix, as they are to be typed: suspects first, the highest score before the
// others, then nodes in the order of the node file. What fails, or takes too long, ends the list.
func (s *session) idCandidates(tx *kv.Tx, prefix string) (candidates []candidate) {
	seen := make(map[string]bool)
	// add reports whether there is room for more.
	add := func(id, note string) bool {
		text := quoteID(id)
		if strings.HasPrefix(prefix, "'") {
			text = quoteString(id)
		}
		if strings.HasPrefix(text, prefix) && !seen[id] && !hasControls(id) {
			seen[id] = true
			candidates = append(candidates, candidate{text, note})
		}
		return len(candidates) < maxIDs
	}
	for id := range s.suspectIDs() {
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

// suspectIDs yields the ids of the suspects with the highest scores, none where the store has no scores.
func (s *session) suspectIDs() iter.Seq[string] {
	return func(yield func(string) bool) {
		ctx, cancel := context.WithTimeout(context.Background(), maxWait)
		defer cancel()
		suspects, err := parse(fmt.Sprintf("suspects limit %d return id", maxSuspectsRead), startOfText)
		if err != nil {
			return
		}
		found, err := s.engine.run(ctx, suspects)
		if err != nil {
			return
		}
		for row, err := range found.Rows() {
			if err != nil || !yield(row.Text("id")) {
				return
			}
		}
	}
}

// hasControls reports whether a text cannot be shown in a menu as it is.
func hasControls(text string) bool {
	return !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

// dotCandidates completes a dot command or its argument.
func dotCandidates(before string) (candidates []candidate, prefix string) {
	name, argument, begun := strings.Cut(before, " ")
	if !begun {
		for _, c := range dotCommands {
			if strings.HasPrefix(c.name, name) {
				candidates = append(candidates, candidate{c.name, c.summary})
			}
		}
		return candidates, name
	}
	argument = strings.TrimLeft(argument, " ")
	for _, c := range dotCommands {
		words := c.words
		if name == ".help" {
			words = statementNames()
		}
		if c.name != name {
			continue
		}
		for _, word := range words {
			if strings.HasPrefix(word, argument) {
				candidates = append(candidates, candidate{text: word})
			}
		}
	}
	return candidates, argument
}

// lastStatement is what follows the last semicolon that ends a statement.
func lastStatement(text string) string {
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
