package prompt

import (
	"testing"

	"github.com/graphcleaner/graphcleaner/shell/query"
)

// FuzzPrompt holds that asking whether a text that is being typed is whole does not panic.
func FuzzPrompt(f *testing.F) {
	for _, page := range query.Manual() {
		for _, example := range page.Examples {
			f.Add(example)
			f.Add(example[:len(example)/2])
		}
	}
	for _, text := range []string{".mo", ".help sus", "nodes where label = 'Th", "nodes where \"old", "'", "\xff", ";;", "nodes -- "} {
		f.Add(text)
	}
	f.Fuzz(func(_ *testing.T, text string) { isComplete(text) })
}
