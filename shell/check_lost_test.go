package shell

import (
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// TestCheckRepairOfLostRun takes the record of the last run away: one repair takes out its scores, counts them as lost, and
// says how to have scores again.
func TestCheckRepairOfLostRun(t *testing.T) {
	reviewedStore(t)
	must.Do(t, withStore("g", kv.Options{MemoryBudget: 64 << 20}, func(s *kv.Store) error {
		return s.Update(func(tx *kv.Tx) error { return tx.Documents("runs").Delete("000000000001") })
	}))
	if got := run(t, "", "check", "g"); got.code != exitFailed || !strings.Contains(got.out, "the scores of another run than the last, 0") {
		t.Fatalf("check: got exit code %d and %s, want scores without their run", got.code, got.out)
	}
	got := run(t, "", "check", "g", "--repair", "--yes")
	for _, want := range []string{"g: no problems after", " scores, 1 run; restore it from a backup", " clean g makes scores again; ", "import --scores --run imports scores of a larger graph again"} {
		if got.code != exitDone || !strings.Contains(got.out, want) {
			t.Errorf("check --repair: got exit code %d, %s and %s, want %q", got.code, got.out, got.err, want)
		}
	}
	mustRun(t, "check", "g")
	mustRun(t, "clean", "g")
	mustRun(t, "check", "g")
	if got := mustRun(t, "shell", "g", "-c", "history"); !strings.Contains(got, "tester") {
		t.Errorf("got the history %s, want the decisions that there were", got)
	}
}

// TestCheckTellsWhoMakesScores wants other advice where the scores were made elsewhere: clean makes those of the part that is here.
func TestCheckTellsWhoMakesScores(t *testing.T) {
	cleanedElsewhere(t)
	mustRun(t, fromElsewhere("home", "")...)
	s := &streams{program: "graphcleaner"}
	for db, want := range map[string]string{
		"g":    "graphcleaner clean g makes scores again",
		"home": "graphcleaner import --scores --run imports scores of a larger graph again",
	} {
		if got, err := (&checkCommand{DB: db}).scoresAgain(s, 0); err != nil || got != want {
			t.Errorf("%s: got %q and %v, want %q", db, got, err, want)
		}
	}
}

// TestCheckLeftText names a source also where a repair left problems and lost nothing.
func TestCheckLeftText(t *testing.T) {
	c := &checkCommand{DB: "g"}
	s := &streams{program: "graphcleaner"}
	classifier := kv.Losses{{Kind: "classifier", Count: 1}}
	got := c.lossText(s, classifier, 0, "")
	if got != "lost for good: 1 classifier; graphcleaner predict g trains the classifier again, or, "+
		"if your own predictions are in the store, graphcleaner clean g" {
		t.Errorf("got %q, want what trains a classifier, and no import", got)
	}
	for _, lost := range []kv.Losses{nil, {{Kind: "edge", Count: 2}}} {
		if got := c.lossText(s, lost, 1, ""); !strings.Contains(got, "backup (graphcleaner restore), or import the files again") {
			t.Errorf("lost %v: got %q, want a source", lost, got)
		}
	}
}
