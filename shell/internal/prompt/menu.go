package prompt

import (
	"strings"

	"github.com/reeflective/readline"

	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// completions is what the prompt offers after the text before the cursor.
func (s *session) completions(before string) readline.Completions {
	candidates, prefix := s.candidates(before)
	// The menu must not be longer than the screen, whose end the editor does not know.
	if lines := print.ScreenOf(s.opt.Out).Height - strings.Count(before, "\n") - 3; lines > 0 && len(candidates) > lines {
		candidates = candidates[:lines]
	}
	pairs := make([]string, 0, 2*len(candidates))
	for _, c := range candidates {
		pairs = append(pairs, c.Text, c.Note)
	}
	completions := readline.CompleteValuesDescribed(pairs...)
	completions.PREFIX = prefix
	return completions
}

// candidates returns what can be typed at the end of a text, and the part of the text that it replaces.
func (s *session) candidates(before string) (candidates []query.Candidate, word string) {
	if last := strings.TrimLeft(query.LastStatement(before), " \t\n"); strings.HasPrefix(last, ".") {
		return dotCandidates(last)
	}
	return s.opt.Store.Complete(before)
}

// dotCandidates completes the name of a dot command.
func dotCandidates(before string) (candidates []query.Candidate, prefix string) {
	for _, c := range dotCommands {
		if strings.HasPrefix(c.name, before) {
			candidates = append(candidates, query.Candidate{Text: c.name, Note: c.summary})
		}
	}
	return candidates, before
}
