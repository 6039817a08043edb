package shell

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
)

// A score compares with its printed text as equal, in conditions and as a threshold.
func TestPrintedScores(t *testing.T) {
	db := closedStore(t, papers.Scored(t, 100))
	for line := range strings.Lines(mustRun(t, "shell", db, "-c", "nodes where score is not null order by score desc limit 5 return id, score", "--format", "csv")) {
		fields := strings.Split(strings.TrimSpace(line), ",")
		if fields[0] == "id" {
			continue
		}
		id, score := fields[0], fields[1]
		for condition, want := range map[string]bool{
			"score = " + score: true, "score != " + score: false, "score > " + score: false, "score >= " + score: true, "score < " + score: false,
			"score <= " + score: true, "score in (2, " + score + ")": true, fmt.Sprintf("score >= %s and score <= %[1]s", score): true,
			"score < 1e39 and score > -1e39 and score > 1e-60": true,
		} {
			got := mustRun(t, "shell", db, "-c", fmt.Sprintf("count nodes where id = '%s' and %s", id, condition), "--format", "csv")
			if (got == "count\n1\n") != want {
				t.Errorf("node %s with score %s: %s: got %q, want %v", id, score, condition, got, want)
			}
		}
	}
}
