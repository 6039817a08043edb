package files

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// adopt takes the decisions of a file with a text.
func adopt(t *testing.T, store *kv.Store, text string) (Adoption, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "d.csv")
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	return Adopt(t.Context(), store, path, Adopting{Who: "tester", Job: Job{Memory: 1 << 20}})
}

// decideNow decides about one paper at a time.
func decideNow(t *testing.T, store *kv.Store, at time.Time, id string, kind decide.Kind, to string) {
	t.Helper()
	var v kv.NodeID
	must.Do(t, store.View(func(tx *kv.Tx) (err error) {
		v, err = tx.Node(id)
		return err
	}))
	must.Get(decide.Write(t.Context(), store, []decide.Request{{Node: v, Kind: kind, To: to}},
		decide.Options{Who: "tester", Time: at}))(t)
}

func TestAdoptDecisions(t *testing.T) {
	may := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		name, text string
		before     func(store *kv.Store)
		want       Adoption
		labels     []string
	}{
		{
			name: "labels", text: "id,label\np4,Theory\np1,Theory\ns1,Theory\np2,\n東,\n",
			want:   Adoption{Count: 4, Steps: 1, There: 1},
			labels: []string{"p1 Theory reject", "p2  unlabel", "p4 Theory accept", "s1 Theory relabel"},
		},
		{
			name: "about another label",
			text: "id,from,to,decision\np4,Neural Nets,Theory,\ns3,Theory,Theory,reject\n",
			want: Adoption{Other: LeftOut{Count: 2, Some: []string{"p4", "s3"}}},
		},
		{
			name:   "no labels named",
			text:   "id,decision,why,extra\np4,accept,,\np1,unsure,read it twice,\np2,unlabel,,\np3,reject,,x\n",
			want:   Adoption{Count: 4, Steps: 3},
			labels: []string{"p1 Theory unsure", "p2  unlabel", "p3 Theory reject", "p4 Theory accept"},
		},
		{
			name: "the last counts, and undone ones do not",
			text: "seq,id,decision,from,to,undoes\n1,p1,relabel,Theory,Systems,\n2,p2,unlabel,Theory,,\n3,p1,undo,Systems,Theory,1\n" +
				"4,p2,relabel,,Systems,\n5,p3,reject,Theory,Theory,\n6,p3,unlabel,Theory,,\n7,p3,unlabel,,Theory,6\n",
			// The last decision about p2 was one about no label; the store has the label from before.
			want: Adoption{Count: 2, Steps: 1}, labels: []string{"p2 Systems relabel", "p3 Theory reject"},
		},
		{
			name: "older than the store's own",
			text: "id,label,time\np4,Theory,2026-04-01T00:00:00Z\np1,Systems,2026-06-01T00:00:00Z\n",
			before: func(store *kv.Store) {
				decideNow(t, store, may, "p4", decide.Reject, "")
				decideNow(t, store, may, "p1", decide.Reject, "")
			},
			want:   Adoption{Count: 1, Steps: 1, Older: LeftOut{Count: 1, Some: []string{"p4"}}},
			labels: []string{"p1 Systems relabel", "p4 Systems reject"},
		},
		{
			name: "there in other words", text: "id,decision,from,to\np4,relabel,Systems,Theory\n",
			before: func(store *kv.Store) { decideNow(t, store, may, "p4", decide.Accept, "") },
			want:   Adoption{There: 1}, labels: []string{"p4 Theory accept"},
		},
		{
			name: "unsure is settled by a label", text: "id,label\np4,Systems\n",
			before: func(store *kv.Store) { decideNow(t, store, may, "p4", decide.Unsure, "") },
			want:   Adoption{Count: 1, Steps: 1}, labels: []string{"p4 Systems reject"},
		},
		{
			name:   "decisions about another label or suggestion",
			text:   "id,decision,label\np1,reject,Systems\np2,unsure,Systems\np3,reject,Systems\np3,reject,Systems\np4,accept,Neural Nets\np5,reject,\ns1,unsure,\n",
			want:   Adoption{Count: 2, Steps: 1, Other: LeftOut{Count: 4, Some: []string{"p1", "p3", "p2", "p4"}}},
			labels: []string{"p5 Theory reject", "s1 Systems unsure"},
		},
		{
			name: "kinds as they are said",
			text: "id,decision,from,to\np1,accept,Theory,Theory\np2,relabel,Theory,Theory\n",
			want: Adoption{Count: 2, Steps: 1}, labels: []string{"p1 Theory accept", "p2 Theory relabel"},
		},
		{name: "nothing", text: "\ufeffid,label\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			store := papers.Cleaned(t)
			if test.before != nil {
				test.before(store)
			}
			got := must.Get(adopt(t, store, test.text))(t)
			if fmt.Sprint(got) != fmt.Sprint(test.want) {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
			labels := papers.LabelsNow(t, store)
			if !slices.Equal(labels, test.labels) {
				t.Errorf("labels and decisions are %q, want %q", labels, test.labels)
			}
			again, err := adopt(t, store, test.text)
			if err != nil || again.Count != 0 || again.There != got.There+int(got.Count) {
				t.Errorf("the same file again: got %+v and error %v, want all to be there", again, err)
			}
		})
	}
}

// What is wrong with a file is said with its place, and nothing of it is decided.
func TestBadDecisions(t *testing.T) {
	store := papers.Cleaned(t)
	for _, test := range []struct{ text, want string }{
		{"id,label\np4,Theory\nzz,Theory\n", `d.csv:3: column "id": got "zz", want the id of a node`},
		{"label\nTheory\n", `d.csv:1: has no column "id"; its columns are label`},
		{"id,text\np4,a\n", `d.csv:1: has no column "label"; its columns are id, text`},
		{"id,label\np4,Theroy\n",
			`d.csv:2: column "label": got "Theroy", want one of the classes Neural Nets, Systems, Theory`},
		{"id,decision\np4,agree\n",
			`d.csv:2: column "decision": got "agree", want accept, reject, relabel, unlabel or unsure`},
		{"id,decision,label\np4,relabel,\n",
			`d.csv:2: column "label": names no class, want the one that relabel gives`},
		{"id,label,to\np4,Systems,Theory\n",
			`d.csv:2: column "label": got "Systems", want the same as in "to", which has "Theory"`},
		{"id,label,from,original_label\np4,Theory,Systems,Theory\n",
			`d.csv:2: column "original_label": got "Theory", want the same as in "from"`},
		{"id,decision,from,to\np4,reject,Systems,Theory\n",
			`d.csv:2: column "label": got "Theory", want "Systems", the label from before, which reject keeps`},
		{"id,label,why\np4,Theory,a\x01b\n", `d.csv:2: column "why": got "a\x01b", want no control characters`},
		{"id,Label,LABEL\np4,Theory,Systems\n",
			`d.csv:1: got the columns "Label" and "LABEL", want one of them named "label"`},
		{"id,label,time\np4,Theory,noon\n", `d.csv:2: column "time": got "noon", want a time as 2026-01-31T18:00:00Z`},
		{"id,decision,to\np4,undo,Theory\n",
			`d.csv:2: column "undoes": is empty, want the seq of the decision that the undo takes back`},
		{"id,label,undoes\np4,Theory,x\n", `d.csv:2: column "undoes": got "x", want the number of a decision`},
		{"id,label,why\np4,Theory," + strings.Repeat("x", decide.MaxWhy+1) + "\n",
			`d.csv:2: who and why may have 256 and 4096 bytes`},
		{"id,label,time\np4,Theory,0000-01-01T00:00:00+23:00\n", `want a time from the year 1 on`},
		{"id,label,time\np1,Theory,2020-01-31T18:00:00Z\np4,Theory,2999-01-31T18:00:00Z\n",
			`d.csv:3: column "time": got "2999-01-31T18:00:00Z", want a time from the year 1 on, and not ahead of the clock by more than 5 minutes`},
	} {
		_, err := adopt(t, store, test.text)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.80q: got error %v, want %q in it", test.text, err, test.want)
		}
	}
	if got := papers.LabelsNow(t, store); got != nil {
		t.Errorf("files that are wrong decided %q, want nothing", got)
	}
}

// A node that was put aside as unsure after a change of its label gets that label in a store of the same files, and is
// unsure when the file is taken again.
func TestAdoptUnsureBehindAnotherDecision(t *testing.T) {
	const text = "id,decision,from,to\np4,relabel,Systems,Neural Nets\np4,unsure,Neural Nets,Neural Nets\n"
	store := papers.Cleaned(t)
	for _, want := range []string{"p4 Neural Nets relabel", "p4 Neural Nets unsure"} {
		must.Get(adopt(t, store, text))(t)
		if got := papers.LabelsNow(t, store); !slices.Equal(got, []string{want}) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A file whose decisions do not fit into the memory is refused with the memory that would do.
func TestDecisionsBeyondMemory(t *testing.T) {
	store := papers.Scored(t, 3000)
	text := "id,label,who\n"
	for v := range 3000 {
		text += fmt.Sprintf("%d,A,%d\n", v, v)
	}
	path := filepath.Join(t.TempDir(), "d.csv")
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	_, err := Adopt(t.Context(), store, path, Adopting{Job: Job{Memory: 100_000}})
	small, ok := errors.AsType[*ops.BudgetError](err)
	if !ok || !strings.Contains(err.Error(), "d.csv: ") {
		t.Fatalf("got error %v, want one that names a memory that would do", err)
	}
	got, err := Adopt(t.Context(), store, path, Adopting{Job: Job{Memory: small.Least}})
	if err != nil || got.Count != 3000 || got.Steps != 3000 {
		t.Errorf("got %+v, %v, want 3000 decisions taken in as many steps", got, err)
	}
}

// decisionsOf exports the history of a store.
func decisionsOf(t *testing.T, store *kv.Store) string {
	t.Helper()
	text := "seq,time,id,decision,from,to,who,why,undoes\n"
	must.Do(t, store.View(func(tx *kv.Tx) error {
		for d, err := range decide.History(t.Context(), tx, kv.NoNode) {
			must.Do(t, err)
			text += fmt.Sprintf("%d,%s,%s,%s,%s,%s,%s,%s,%d\n", d.Seq, d.Time.Format(time.RFC3339Nano), d.ID, d.Kind, d.From,
				d.To, d.Who, d.Why, d.Undoes)
		}
		return nil
	}))
	return text
}

// Decisions that several people made in stores of their own, at times that interleave, come together in one store, file
// by file or in one file, and from there in another: each keeps its time and who made it, and of two people about one
// node both count.
func TestAdoptDecisionsOfSeveralPeople(t *testing.T) {
	at := func(day int) time.Time { return time.Date(2026, 5, day, 12, 0, 0, 1000, time.UTC) }
	ann, bob := papers.Cleaned(t), papers.Cleaned(t)
	decideNow(t, ann, at(3), "p4", decide.Accept, "")
	decideNow(t, ann, at(9), "p1", decide.Reject, "")
	decideNow(t, ann, at(11), "s1", decide.Reject, "")
	decideNow(t, bob, at(2), "p2", decide.Unlabel, "")
	decideNow(t, bob, at(5), "p1", decide.Unsure, "")
	decideNow(t, bob, at(6), "p3", decide.Unsure, "")
	must.Get(cleaner.Undo(t.Context(), bob, decide.Options{Time: at(7)}))(t)
	decideNow(t, bob, at(10), "p3", decide.Relabel, "Systems")
	files := map[string]string{
		"ann": strings.ReplaceAll(decisionsOf(t, ann), "tester", "ann"), "bob": strings.ReplaceAll(decisionsOf(t, bob),
			"tester", "bob"),
	}
	want := []string{
		"p1 Theory reject ann 9 bob 5", "p2  unlabel bob 2", "p3 Systems relabel bob 10", "p4 Theory accept ann 3",
		"s1 Systems reject ann 11",
	}
	// inForce lists the decisions in force, each with all who decided and on which day.
	inForce := func(store *kv.Store) (lines []string) {
		last := map[string]decide.Decision{}
		entries := map[string][]decide.Decision{}
		people := map[string][]string{}
		must.Do(t, store.View(func(tx *kv.Tx) error {
			for d, err := range decide.History(t.Context(), tx, kv.NoNode) {
				must.Do(t, err)
				last[d.ID] = d
				entries[d.ID] = append(entries[d.ID], d)
			}
			for id := range last {
				words, _ := decide.Words(entries[id])
				for _, d := range words {
					if !d.Time.Equal(at(d.Time.Day())) {
						t.Errorf("%s: made at %v, want noon of a day", id, d.Time)
					}
					people[id] = append(people[id], fmt.Sprint(" ", d.Who, " ", d.Time.Day()))
				}
			}
			return decide.Check(t.Context(), tx, func(p kv.Problem) { t.Errorf("check: %s", p) })
		}))
		for id, d := range last {
			slices.Sort(people[id])
			lines = append(lines, fmt.Sprintf("%s %s %s%s", id, d.Label, d.After, strings.Join(people[id], "")))
		}
		slices.Sort(lines)
		return lines
	}
	for _, order := range [][]string{{"ann", "bob"}, {"bob", "ann"}} {
		store := papers.Cleaned(t)
		for _, name := range order {
			must.Get(adopt(t, store, files[name]))(t)
		}
		if got := inForce(store); !slices.Equal(got, want) {
			t.Errorf("%v: got %q, want %q", order, got, want)
		}
		other := papers.Cleaned(t)
		must.Get(adopt(t, other, decisionsOf(t, store)))(t)
		if got := inForce(other); !slices.Equal(got, want) {
			t.Errorf("%v, from there to another store: got %q, want %q", order, got, want)
		}
	}
}

// TestAdoptDisputes takes the decisions of people who disagree: from files of each, and from the history of a store
// where some disputes were settled. What is taken twice is there.
func TestAdoptDisputes(t *testing.T) {
	files := map[string]string{
		"ann": "id,decision,from,to,who,why\np4,accept,Systems,Theory,ann,\np1,reject,Theory,Theory,ann,\np2,unlabel,Theory,,ann,\np5,relabel,Theory,Systems,ann,\n",
		"bob": "id,decision,from,to,who,why\np4,reject,Systems,Systems,bob,\np1,reject,Theory,Theory,bob,\np2,unlabel,Theory,,bob,\np5,unsure,Theory,Theory,bob,\n",
		"cy":  "id,decision,from,to,who,why\np4,relabel,Systems,Neural Nets,cy,seen\np2,reject,Theory,Theory,cy,\n",
	}
	// stateOf is the state of the nodes in a store, without the kinds of decisions.
	stateOf := func(store *kv.Store) (lines []string) {
		must.Do(t, store.View(func(tx *kv.Tx) error {
			for _, id := range []string{"p1", "p2", "p4", "p5"} {
				v := must.Get(tx.Node(id))(t)
				line := id
				for _, column := range []string{"label", decide.DecidedByColumn, decide.DisputedColumn} {
					value, err := tx.Value(v, column)
					if err != nil && !errors.Is(err, kv.ErrNoColumn) {
						return err
					}
					line += " " + value.String()
				}
				lines = append(lines, strings.TrimSpace(line))
			}
			return decide.Check(t.Context(), tx, func(p kv.Problem) { t.Errorf("check: %s", p) })
		}))
		return lines
	}
	store := papers.Cleaned(t)
	for _, step := range []struct {
		file string
		want []string
	}{
		{"ann", []string{"p1 Theory ann", "p2  ann", "p4 Theory ann", "p5 Systems ann"}},
		{"bob", []string{"p1 Theory ann, bob", "p2  ann, bob", "p4 Theory ann, bob true", "p5 Systems ann, bob"}},
		{"cy", []string{"p1 Theory ann, bob", "p2  ann, bob, cy", "p4 Neural Nets ann, bob, cy", "p5 Systems ann, bob"}},
	} {
		got, err := adopt(t, store, files[step.file])
		if err != nil || got.Older.Count+got.Other.Count+got.There > 0 {
			t.Fatalf("%s: got %+v, %v, want all to be taken", step.file, got, err)
		}
		if got := stateOf(store); !slices.Equal(got, step.want) {
			t.Errorf("%s: got %q, want %q", step.file, got, step.want)
		}
		again, err := adopt(t, store, files[step.file])
		if err != nil || again.Count != 0 || again.There != int(got.Count) {
			t.Errorf("%s again: got %+v, %v, want all to be there", step.file, again, err)
		}
	}
	for name, file := range files { // also what the reason has settled since
		if again, err := adopt(t, store, file); err != nil || again.Count != 0 {
			t.Errorf("%s at the end: got %+v, %v, want all to be there", name, again, err)
		}
	}
}
