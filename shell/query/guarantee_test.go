package query

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
)

// TestPrintedThresholdFindsTheSameSuspects writes the threshold that suspects with a guarantee print into a condition.
func TestPrintedThresholdFindsTheSameSuspects(t *testing.T) {
	tx := papers.Cleaned(t).Begin()
	defer tx.Close()
	for _, test := range []struct{ guarantee, printed, condition string }{
		{"fpr", `, λ = (\S+): score above λ`, "score > "},
		{"fnr", ` of 1−λ = (\S+) or more`, "score > 0.5 and score >= "},
	} {
		found := 0
		for _, alpha := range []string{"0.1", "0.2", "0.3", "0.5", "0.8"} {
			statement := "suspects " + test.guarantee + " " + alpha
			result, err := Query(t.Context(), tx, Options{}, statement)
			if err != nil {
				continue // there are too few scores for this guarantee
			}
			notices := strings.Join(result.Notices(), "\n")
			printed := regexp.MustCompile(test.printed).FindStringSubmatch(notices)
			if printed == nil {
				t.Fatalf("%s: got the notices %q, want a threshold", statement, notices)
			}
			want := idsOf(t, tx, Options{}, statement+" return id")
			if got := idsOf(t, tx, Options{}, "suspects where "+test.condition+printed[1]+
				" return id"); !slices.Equal(got, want) {
				t.Errorf("%s: %s%s finds %q, want %q", statement, test.condition, printed[1], got, want)
			}
			found++
		}
		if found == 0 {
			t.Errorf("%s: no guarantee can be given: the test misses its point", test.guarantee)
		}
	}
}
