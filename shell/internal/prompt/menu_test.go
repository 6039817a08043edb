package prompt

import (
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
)

// What is offered behind a dot command is what commands take, and elsewhere what the language takes.
func TestCandidates(t *testing.T) {
	s := &session{opt: Options{Store: opened(papers.Cleaned(t))}}
	for _, test := range []struct {
		before string
		prefix string
		want   []string
	}{
		{"stats; cl", "cl", []string{"classes", "clean"}},
		{".he", ".he", []string{".help"}},
		{"stats; .mo", ".mo", []string{".mode"}},
	} {
		candidates, prefix := s.candidates(test.before)
		var got []string
		for _, c := range candidates {
			got = append(got, c.Text)
		}
		if !slices.Equal(got, test.want) || prefix != test.prefix {
			t.Errorf("after %q: got %q for %q, want %q for %q", test.before, got, prefix, test.want, test.prefix)
		}
	}
}
