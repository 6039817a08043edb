package shell

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	content := must.Get(os.ReadFile(path))(t)
	return content
}

// Labels for those who leave suspects out, and for those who take both labels. A node that is put aside as unsure is no
// suspect.
func TestExportedLabels(t *testing.T) {
	store := papers.Cleaned(t)
	for _, statement := range []string{"accept s3", "unsure p4"} { // s3 is Theory
		must.Get(query.Exec(t.Context(), store, query.Options{}, statement))(t)
	}
	for _, test := range []struct {
		command exportCommand
		want    string
	}{
		{exportCommand{}, "id,label,original_label|p4,Systems,Systems|p5,Theory,Theory|s3,Theory,Systems|e 1,Neural Nets,Neural Nets|東,,"},
		{exportCommand{WithoutSuspects: true}, "id,label,original_label|p4,Systems,Systems|p5,Theory,Theory|s3,Theory,Systems|e 1,Neural Nets,Neural Nets|東,,"},
		{
			exportCommand{WithoutSuspects: true, suspicion: suspicion{ptr(0.7)}},
			"id,label,original_label|p4,Systems,Systems|p5,,Theory|s3,Theory,Systems|e 1,Neural Nets,Neural Nets|東,,",
		},
	} {
		tx := store.Begin()
		test.command.What = "labels"
		result := must.Get(test.command.result(t.Context(), tx))(t)
		var out bytes.Buffer
		must.Get(print.Render(&out, result, print.FormatCSV))(t)
		tx.Close()
		var kept []string
		for line := range strings.Lines(out.String()) {
			if id, _, _ := strings.Cut(line, ","); slices.Contains([]string{"id", "p4", "p5", "s3", "e 1", "東"}, id) {
				kept = append(kept, strings.TrimSuffix(line, "\n"))
			}
		}
		if got := strings.Join(kept, "|"); got != test.want {
			t.Errorf("%+v:\ngot  %s\nwant %s", test.command, got, test.want)
		}
	}
}

// What clean takes from decisions, in the order of the nodes file. The run of this store gives no chances, so there are no scores.
func TestExportedVerdicts(t *testing.T) {
	store := papers.Cleaned(t)
	verdicts := func() string {
		t.Helper()
		tx := store.Begin()
		defer tx.Close()
		result := must.Get((&exportCommand{What: "verdicts"}).result(t.Context(), tx))(t)
		var out bytes.Buffer
		must.Get(print.Render(&out, result, print.FormatCSV))(t)
		return out.String()
	}
	const head = "id,label_before,label_now,score\n"
	if got := verdicts(); got != head {
		t.Errorf("before all decisions: got %q, want %q", got, head)
	}
	decide := func(who, statement string) {
		t.Helper()
		must.Get(query.Exec(t.Context(), store, query.Options{Who: who}, statement))(t)
	}
	for _, statement := range []string{"unlabel 'e 1'", "accept s3", "reject p4", "relabel 東 'Theory'", "unsure p5", "accept p1", "undo"} {
		decide("ann", statement)
	}
	if got, want := verdicts(), head+"p4,Systems,Systems,0.984375\ns3,Systems,Theory,0.9921875\ne 1,Neural Nets,,0.75\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	decide("bob", "relabel p4 'Theory'") // disputed
	decide("ann", "relabel s3 'Neural Nets'")
	if got, want := verdicts(), head+"s3,Systems,Neural Nets,0.9921875\ne 1,Neural Nets,,0.75\n"; got != want {
		t.Errorf("with a dispute: got\n%swant\n%s", got, want)
	}
}

func ptr[T any](v T) *T { return &v }

func TestGate(t *testing.T) {
	store := papers.Cleaned(t)
	dir := t.TempDir()
	judged := func(c gateCommand) (out, people string, err error) {
		t.Helper()
		var outBuffer, errBuffer bytes.Buffer
		s := &streams{ctx: t.Context(), out: &outBuffer, messages: messages{err: &errBuffer}}
		c.DB, c.Format, c.Memory = "g", print.FormatCSV, 64<<20
		if c.Limit == 0 {
			c.Limit = 20
		}
		must.Do(t, c.check())
		verdict := new(gateVerdict)
		if err = c.judge(t.Context(), store, verdict, s); err == nil {
			err = verdict.print(s, &c)
		}
		return outBuffer.String(), errBuffer.String(), err
	}
	const head = "id,given_label,score,suggested_label,confidence\n"
	const s3, p4, p5 = "s3,Systems,0.9921875,Theory,0.5\n", "p4,Systems,0.984375,Theory,0.875\n", "p5,Theory,0.96875,Neural Nets,0.5\n"
	write := func(text string) string {
		path := filepath.Join(dir, strconv.Itoa(len(text))+".csv")
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	known := write(head + p4 + s3)
	for _, test := range []struct {
		command     gateCommand
		out, people string
		fails       string
	}{
		{command: gateCommand{Most: ptr[int64](2)}, people: "g: 2 of 9 scored nodes are suspects above 0.97: passed\n"},
		{command: gateCommand{Most: ptr[int64](1)}, out: head + s3 + p4, fails: "2 suspects above 0.97, want at most 1"},
		{command: gateCommand{Most: ptr[int64](1), Limit: 1}, out: head + s3, people: "and 1 more: --limit 2 prints them\n", fails: "2 suspects"},
		{command: gateCommand{MostShare: ptr(0.3)}, people: "g: 2 of 9 scored nodes are suspects above 0.97: passed\n"},
		{
			command: gateCommand{MostShare: ptr(0.3), suspicion: suspicion{ptr(0.9)}}, out: head + s3 + p4 + p5,
			fails: "3 of 9 scored nodes are suspects above 0.9, a share of 0.3333, want at most 0.3",
		},
		{command: gateCommand{Baseline: known}, people: "g: 2 of 9 scored nodes are suspects above 0.97: passed\n"},
		{
			command: gateCommand{Baseline: known, suspicion: suspicion{ptr(0.9)}}, out: head + p5,
			fails: "3 suspects above 0.9, 1 of them not in " + known,
		},
		{
			command: gateCommand{Baseline: known, Most: ptr[int64](1), suspicion: suspicion{ptr(0.9)}}, out: head + p5,
			fails: "3 suspects above 0.9, want at most 1; 3 suspects above 0.9, 1 of them not in " + known,
		},
		{command: gateCommand{Baseline: write("id,given_label\np4,Systems\ns3,Theory\n")}, out: head + s3, fails: "2 suspects above 0.97, 1 of them not in"},
		{command: gateCommand{Baseline: write("id\ns3\np4\ngone\n")}, people: "g: 2 of 9 scored nodes are suspects above 0.97: passed\n"},
		{command: gateCommand{Baseline: write("id\ns3\np4\ns3\n")}, fails: `:4: column "id": got "s3" again, want every id once`},
		{command: gateCommand{Baseline: write("name\ns3\n")}, fails: `has no column "id"`},
	} {
		out, people, err := judged(test.command)
		if out != test.out || people != test.people {
			t.Errorf("%+v: got %q and %q, want %q and %q", test.command, out, people, test.out, test.people)
		}
		if (err == nil) != (test.fails == "") || err != nil && !strings.Contains(err.Error(), test.fails) {
			t.Errorf("%+v: got error %v, want %q", test.command, err, test.fails)
		}
	}
	// What was decided is no suspect.
	must.Get(query.Exec(t.Context(), store, query.Options{}, "reject s3"))(t)
	if _, people, err := judged(gateCommand{Most: ptr[int64](1)}); err != nil || !strings.HasPrefix(people, "g: 1 of 9") {
		t.Errorf("after a decision: got %q and error %v, want one suspect", people, err)
	}
}
