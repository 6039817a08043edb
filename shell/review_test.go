package shell

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	return must.Get(os.ReadFile(path))(t)
}

// What clean takes from decisions, in the order of the nodes file.
func TestExportedVerdicts(t *testing.T) {
	store := papers.Cleaned(t)
	verdicts := func() string {
		t.Helper()
		tx := store.Begin()
		defer tx.Close()
		result := must.Get((&exportCommand{What: "verdicts"}).result(t.Context(), tx, nil))(t)
		var out bytes.Buffer
		must.Get(print.Render(&out, result, print.FormatCSV, &print.Screen{}))(t)
		return out.String()
	}
	const head = "id,label_before,label_now\n"
	if got := verdicts(); got != head {
		t.Errorf("before all decisions: got %q, want %q", got, head)
	}
	decide := func(who, statement string) {
		t.Helper()
		must.Get(query.Exec(t.Context(), store, query.Options{Who: who}, statement))(t)
	}
	for _, statement := range []string{"unlabel 'e 1'", "accept s3", "reject p4", "relabel 東 'Theory'", "unsure p5",
		"accept p1", "undo"} {
		decide("ann", statement)
	}
	if got, want := verdicts(), head+"p4,Systems,Systems\ns3,Systems,Theory\ne 1,Neural Nets,\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	decide("bob", "relabel p4 'Theory'") // disputed
	decide("ann", "relabel s3 'Neural Nets'")
	if got, want := verdicts(), head+"s3,Systems,Neural Nets\ne 1,Neural Nets,\n"; got != want {
		t.Errorf("with a dispute: got\n%swant\n%s", got, want)
	}
}

// TestGate compares suspects with limits and with a baseline: s3, whose score is the highest, and p4.
func TestGate(t *testing.T) {
	db := closedStore(t, papers.Cleaned(t))
	writeFiles(t, map[string]string{
		"known.csv": "id,given_label\np4,Systems\ns3,Systems\n", "other.csv": "id,given_label\np4,Systems\ns3,Theory\n",
		"ids.csv": "id\ns3\n", "names.csv": "name\ns3\n",
	})
	for _, test := range []struct {
		flags  string
		listed []string
		says   string // "" where it passes
	}{
		{"--most 2", nil, ""},
		{"--most 1", []string{"p4", "s3"}, "2 of 9 scored nodes are suspects above 0.97, want at most 1"},
		{"--most-share 0.3", nil, ""},
		{"--most-share 0.2", []string{"p4", "s3"}, "a share of 0.2222, want at most 0.2"},
		{"--baseline known.csv", nil, ""},
		{"--baseline known.csv --most 1", nil, "want at most 1"},
		{"--baseline other.csv --most 1", []string{"s3"}, "want at most 1; 2 of 9 scored nodes are suspects above 0.97, 1 " +
			"of them not in other.csv"},
		{"--baseline ids.csv", nil, `has no column "given_label"`},
		{"--baseline names.csv", nil, `has no column "id"`},
	} {
		got := run(t, "", append([]string{"gate", db}, strings.Fields(test.flags)...)...)
		if test.says == "" &&
			(got.code != exitDone || got.out != "" ||
				!strings.Contains(got.err, "2 of 9 scored nodes are suspects above 0.97: passed")) {
			t.Errorf("%s: got exit code %d, %s and %s, want that it passes", test.flags, got.code, got.out, got.err)
		}
		if !strings.Contains(got.err, test.says) {
			t.Errorf("%s: got %s, want %q", test.flags, got.err, test.says)
		}
		for _, id := range []string{"s3", "p4"} {
			if want := slices.Contains(test.listed, id); want != strings.Contains(got.out, id+" ") {
				t.Errorf("%s: got %s, want %s in it: %v", test.flags, got.out, id, want)
			}
		}
	}
	mustRun(t, "shell", db, "-c", "reject s3") // which is no suspect any more
	mustRun(t, "gate", db, "--most", "1")
}
