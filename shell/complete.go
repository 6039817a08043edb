package shell

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/reeflective/readline"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/index"
)

// maxClasses bounds how many class names are offered at once.
const maxClasses = 200

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
	prefix = before[begin:]
	p := newParser(before[:begin], startOfText)
	if _, err := p.statement(); err == nil && p.current.kind != tokenEnd || p.current.kind == tokenBad {
		return nil, prefix
	}
	if p.current.kind != tokenEnd {
		return nil, prefix
	}
	for _, w := range p.wants {
		candidates = append(candidates, s.wanted(w)...)
	}
	matches := func(c candidate) bool {
		return len(c.text) >= len(prefix) && strings.EqualFold(c.text[:len(prefix)], prefix)
	}
	return slices.DeleteFunc(candidates, func(c candidate) bool { return !matches(c) }), prefix
}

// wanted lists what a want can be met with.
func (s *session) wanted(w want) []candidate {
	var candidates []candidate
	tx := s.engine.store.Begin()
	defer tx.Close()
	switch w.complete {
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
		case cleaner.DecisionColumn:
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
		end, dot := cut.find([]byte(text))
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
	cut.find([]byte(text))
	if cut.inside == '\'' || cut.inside == '"' {
		return strings.LastIndexByte(text, byte(cut.inside))
	}
	begin := len(text)
	for begin > 0 {
		r, size := utf8.DecodeLastRuneInString(text[:begin])
		if !continuesName(r) {
			break
		}
		begin -= size
	}
	return begin
}
