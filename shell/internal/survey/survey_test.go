package survey

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/picture"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// dossierOf is the dossier of a node of a store.
func dossierOf(t *testing.T, store *kv.Store, id string) (d *Dossier) {
	t.Helper()
	must.Do(t, store.View(func(tx *kv.Tx) error {
		v, err := tx.Node(id)
		if err == nil {
			d, err = Read(t.Context(), tx, v, query.Options{})
		}
		return err
	}))
	return d
}

// surveyed is the picture of a node of a store of papers.
func surveyed(t *testing.T, store *kv.Store, id string) *picture.Ego {
	t.Helper()
	return dossierOf(t, store, id).Ego
}

// TestSuspects has what is said of nodes with neighbours, without any, and with one that has no label.
func TestSuspects(t *testing.T) {
	store := papers.Cleaned(t)
	for id, want := range map[string]string{
		"p4": "It's a graph has the label Systems. Is it Theory? 3 of 3 neighbours: Theory; the classifier says Theory, " +
			"87.5% sure.",
		"p1": "On graphs has the label Theory. 3 of 4 neighbours: Theory; the classifier says Theory, 87.5% sure.",
		"東": "\u2068東京\u2069 has no label. Is it Neural Nets? 1 of 1 neighbour: Systems; the classifier says Neural " +
			"Nets, 50.0% sure.",
		"e 1": "Alone has the label Neural Nets. It has no neighbours; the classifier says Neural Nets, 75.0% sure.",
	} {
		if e := surveyed(t, store, id); e.Title+" "+e.Text != want {
			t.Errorf("%s: got %q\nwant %q", id, e.Title+" "+e.Text, want)
		}
	}
	e := surveyed(t, store, "s3")
	if len(e.Nodes) != 4 || len(e.Edges) != 3 || e.Votes[picture.None] != 1 {
		t.Errorf("got nodes %v, edges %v and votes %v, want s3, 東, s2 and s1 behind it", e.Nodes, e.Edges, e.Votes)
	}
	if n := e.Nodes[1]; n.Name != "東京" || n.Class != picture.None || !math.IsNaN(n.Score) {
		t.Errorf("got %+v, want the node without a label", n)
	}
}

// TestWithoutARun has nodes that nothing is predicted of.
func TestWithoutARun(t *testing.T) {
	store := papers.Loaded(t)
	for id, want := range map[string]string{
		"p4": "It's a graph has the label Systems. 3 of 3 neighbours: Theory.",
		"東":  "\u2068東京\u2069 has no label. 1 of 1 neighbour: Systems.",
	} {
		if e := surveyed(t, store, id); e.Title+" "+e.Text != want {
			t.Errorf("%s: got %q\nwant %q", id, e.Title+" "+e.Text, want)
		}
	}
}

// TestDecided reads nodes that somebody has decided on, and their neighbours.
func TestDecided(t *testing.T) {
	store := papers.Cleaned(t)
	for _, statement := range []string{"accept p4", "unsure p5"} {
		must.Get(query.Exec(t.Context(), store, query.Options{Who: "ann"}, statement))(t)
	}
	got := map[string]string{}
	for _, n := range surveyed(t, store, "p1").Nodes {
		if n.Decided != "" {
			got[n.ID] = n.Name + ": " + n.Decided
		}
	}
	if want := map[string]string{"p4": "It's a graph: accept by ann", "p5": "p5: unsure by ann"}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if e := surveyed(t, store, "p4"); e.Title != "It's a graph has the label Theory. Decided: accept by ann." {
		t.Errorf("of a decided node: got %q", e.Title)
	}
}

// TestHub reads a node with very many neighbours, and one beside it.
func TestHub(t *testing.T) {
	const neighbors = 100_000
	dir := filepath.Join(t.TempDir(), "store")
	load := must.Get(kv.NewLoader(t.Context(), dir, kv.LoadOptions{}))(t)
	must.Do(t, load.AddNode(kv.Node{ID: "hub", Label: "A"}))
	for i := range neighbors {
		must.Do(t, load.AddNode(kv.Node{ID: fmt.Sprint(i), Label: string(rune('A' + i%3))}))
	}
	for i := range neighbors {
		must.Do(t, load.AddEdge("hub", fmt.Sprint(i), 0))
	}
	must.Get(load.Commit(t.Context(), nil))(t)
	store := papers.Reopen(t, dir)
	e := dossierOf(t, store, "hub").Ego
	if e.Neighbors != picture.MostNeighbors || len(e.Nodes) > picture.Most || e.Votes[1] != 33333 {
		t.Errorf("got %d neighbours, %d nodes and votes %v, want %d, and all neighbours counted", e.Neighbors, len(e.Nodes),
			e.Votes, picture.MostNeighbors)
	}
	beside := dossierOf(t, store, "7").Ego
	if len(beside.Nodes) > picture.Most || len(beside.Edges) > 1+followedEdges {
		t.Errorf("got %d nodes and %d edges beside the hub", len(beside.Nodes), len(beside.Edges))
	}
}

// TestGuess has properties with fitting names: of another case, of numbers, and several for one use. What has a place
// of its own is not among the properties.
func TestGuess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	load := must.Get(kv.NewLoader(t.Context(), dir, kv.LoadOptions{Properties: []kv.Column{
		{Name: "Label_Text", Kind: kv.KindString}, {Name: "Subject", Kind: kv.KindString}, {Name: "abstract",
			Kind: kv.KindInt},
		{Name: "BODY", Kind: kv.KindString}, {Name: "page", Kind: kv.KindString},
	}}))(t)
	text := kv.ValueOf("words\x1b")
	for id, values := range map[string][]kv.Value{"1": {text, text, kv.ValueOf(7), text, text},
		"2": {{}, {}, {}, {}, {}}} {
		must.Do(t, load.AddNode(kv.Node{ID: id, Label: "B", Values: values}))
	}
	must.Get(load.Commit(t.Context(), nil))(t)
	store := papers.Reopen(t, dir)
	var columns Columns
	must.Do(t, store.View(func(tx *kv.Tx) error {
		columns = Guess(tx)
		return nil
	}))
	if want := (Columns{Title: "Label_Text", Text: "BODY"}); columns != want {
		t.Errorf("got %+v, want %+v", columns, want)
	}
	one, two := dossierOf(t, store, "1"), dossierOf(t, store, "2")
	const shown = `words\x1b`
	if one.Title != shown || one.Text != shown || two.Title != "2" || two.Text != "" {
		t.Errorf("got %q and %q, and %q and %q", one.Title, one.Text, two.Title, two.Text)
	}
	if want := []Property{{"Subject", shown}, {"abstract", "7"}, {"page", shown}}; !slices.Equal(one.Properties, want) ||
		two.Properties != nil {
		t.Errorf("got %v and %v, want %v and none", one.Properties, two.Properties, want)
	}
	if one.Color("B") != 0 || one.Color("") != picture.None {
		t.Errorf("got the colours %d and %d", one.Color("B"), one.Color(""))
	}
}

// TestReplies has words about a node as it was shown, and their undo.
func TestReplies(t *testing.T) {
	store, opt := papers.Cleaned(t), query.Options{Who: "ann"}
	seen := dossierOf(t, store, "p4").View
	write := func(kind decide.Kind, label string, seen decide.View) (Done, error) {
		return Reply{ID: "p4", Kind: kind, Label: label, Seen: seen}.Write(t.Context(), store, opt)
	}
	for _, test := range []struct {
		kind        decide.Kind
		label, said string
	}{
		{decide.Accept, "", "p4 accepted: Systems → Theory"}, {decide.Relabel, "Systems", "p4 rejected"},
		{decide.Unlabel, "", "p4 unlabelled: Systems → no label"}, {decide.Unsure, "", "p4 put aside as unsure"},
	} {
		done, err := write(test.kind, test.label, seen)
		if err != nil || done.Said != test.said {
			t.Fatalf("%v: got %q, %v, want %q", test.kind, done.Said, err, test.said)
		}
		if _, err := write(decide.Reject, "", seen); !errors.Is(err, decide.ErrChanged) {
			t.Errorf("of an old card: got %v", err)
		}
		undone, err := Undo(t.Context(), store, opt, done.Step)
		if err != nil || undone.ID != "p4" || undone.Said != "p4: taken back" {
			t.Fatalf("undo: got %+v, %v", undone, err)
		}
		if _, err := Undo(t.Context(), store, opt, done.Step); !errors.Is(err, decide.ErrChanged) {
			t.Errorf("undo again: got %v", err)
		}
	}
}

// TestMatchClass: a whole name goes before the beginning of one, and that before a name that has the text anywhere.
func TestMatchClass(t *testing.T) {
	classes := []string{"Theory", "Theory of Nets", "Neural Nets", "ÉTUDES", "ab", "aB", "ABC"}
	for text, want := range map[string]string{
		"Theory": "Theory", "THEORY": "Theory", "ne": "Neural Nets", "of": "Theory of Nets", "é": "ÉTUDES", "ab": "ab",
		"abc":  "ABC",
		"theo": "2 classes match 'theo': Theory, Theory of Nets", "AB": "2 classes match 'AB': ab, aB",
		"z": "no class is named 'z'",
	} {
		got, err := MatchClass(classes, text)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
