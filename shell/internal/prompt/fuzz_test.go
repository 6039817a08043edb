package prompt

import (
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// FuzzPrompt holds that completing a text that is being typed, and asking whether it is whole, does not panic, and that
// what is offered begins with what it stands in for.
func FuzzPrompt(f *testing.F) {
	for _, page := range query.Manual() {
		for _, example := range page.Examples {
			f.Add(example)
			f.Add(example[:len(example)/2])
		}
	}
	for _, text := range []string{".mo", ".mode c", ".help sus", "nodes where label = 'Th", "nodes where \"old", "'", "\xff", ";;", "nodes -- "} {
		f.Add(text)
	}
	s := &session{opt: Options{Store: opened(papers.Cleaned(f))}}
	f.Fuzz(func(t *testing.T, text string) {
		isComplete(text)
		candidates, prefix := s.candidates(text)
		if !strings.HasSuffix(text, prefix) {
			t.Fatalf("%q: what is replaced is %q, want an end of the text", text, prefix)
		}
		for _, c := range candidates {
			if len(c.Text) < len(prefix) || !strings.EqualFold(c.Text[:len(prefix)], prefix) {
				t.Fatalf("%q: %q is offered for %q", text, c.Text, prefix)
			}
		}
		s.completions(text)
	})
}
