package survey

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/picture"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// surveyed is the picture of a node of a store.
func surveyed(t *testing.T, store *kv.Store, id string) (e *picture.Ego) {
	t.Helper()
	must.Do(t, store.View(func(tx *kv.Tx) error {
		v, err := tx.Node(id)
		if err == nil {
			e, err = New(tx, Guess(tx)).Ego(t.Context(), "suspect-1", v)
		}
		return err
	}))
	return e
}

// TestSuspects has what is said of nodes with neighbours, without any, and with one that has no label.
func TestSuspects(t *testing.T) {
	store := papers.Cleaned(t)
	for id, want := range map[string]string{
		"p4": "It's a graph has the label Systems. Is it Theory? All 3 neighbours are Theory, and the classifier " +
			"agrees (87.5%).",
		"p5": "p5 has the label Theory. Is it Neural Nets? 2 of 3 neighbours are Theory; the classifier says Neural " +
			"Nets, 50.0% sure.",
		"p1": "On graphs has the label Theory. No other label is suggested. 3 of 4 neighbours are Theory; the " +
			"classifier agrees (87.5%).",
		"東":   "\u2068東京\u2069 has no label. Is it Neural Nets? Its only neighbour is Systems; the classifier says Neural Nets, 50.0% sure.",
		"e 1": "Alone has the label Neural Nets. No other label is suggested. It has no neighbours; the classifier says Neural Nets, 75.0% sure.",
		"s3":  "Nets\\tand\\nlines has the label Systems. Is it Theory? 1 of 2 neighbours are Systems; the classifier says Theory, 50.0% sure.",
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
		"p4": "It's a graph has the label Systems. All 3 neighbours are Theory.",
		"東":  "\u2068東京\u2069 has no label. Its only neighbour is Systems.",
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
	add := func(err error) {
		must.Do(t, err)
	}
	add(load.AddNode(kv.Node{ID: "hub", Label: "A"}))
	for i := range neighbors {
		add(load.AddNode(kv.Node{ID: fmt.Sprint(i), Label: string(rune('A' + i%3))}))
	}
	for i := range neighbors {
		add(load.AddEdge("hub", fmt.Sprint(i), 0))
	}
	must.Get(load.Commit(t.Context(), nil))(t)
	store := papers.Reopen(t, dir)
	begin := time.Now()
	e := surveyed(t, store, "hub")
	if len(e.Nodes) != picture.Most || e.Votes[1] != 33333 {
		t.Errorf("got %d nodes and votes %v, want %d, and all neighbours counted", len(e.Nodes), e.Votes, picture.Most)
	}
	beside := surveyed(t, store, "7")
	if len(beside.Nodes) > 2+followedEdges || len(beside.Edges) > 1+followedEdges {
		t.Errorf("got %d nodes and %d edges beside the hub", len(beside.Nodes), len(beside.Edges))
	}
	t.Logf("%v", time.Since(begin))
}

// TestGuess has properties with fitting names: of another case, of numbers, without a text, and several for one use.
func TestGuess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	load := must.Get(kv.NewLoader(t.Context(), dir, kv.LoadOptions{Properties: []kv.Column{
		{Name: "title", Kind: kv.KindString}, {Name: "Label_Text", Kind: kv.KindString}, {Name: "Subject", Kind: kv.KindString},
		{Name: "abstract", Kind: kv.KindInt}, {Name: "text", Kind: kv.KindString}, {Name: "BODY", Kind: kv.KindString}, {Name: "page", Kind: kv.KindString},
	}}))(t)
	text := kv.ValueOf("words")
	for id, values := range map[string][]kv.Value{
		"1": {{}, text, text, kv.ValueOf(7), kv.ValueOf(""), text, text},
		"2": {{}, {}, {}, {}, {}, {}, {}},
	} {
		must.Do(t, load.AddNode(kv.Node{ID: id, Label: "B", Values: values}))
	}
	must.Get(load.Commit(t.Context(), nil))(t)
	must.Do(t, papers.Reopen(t, dir).View(func(tx *kv.Tx) error {
		columns := Guess(tx)
		if want := (Columns{Title: "Label_Text", Text: "BODY"}); columns != want {
			t.Errorf("got %+v, want %+v", columns, want)
		}
		for id, want := range map[string]string{"1": "words", "2": "2"} {
			v := must.Get(tx.Node(id))(t)
			if title, err := New(tx, columns).Title(v); title != want || err != nil {
				t.Errorf("%s: got the title %q (%v), want %q", id, title, err, want)
			}
			if title, err := New(tx, Columns{}).Title(v); title != id || err != nil {
				t.Errorf("%s without a property for titles: got %q (%v), want the id", id, title, err)
			}
		}
		return nil
	}))
}

// TestClassPlace compares the places of names with those in pictures.
func TestClassPlace(t *testing.T) {
	store := papers.Cleaned(t)
	e := surveyed(t, store, "p4")
	must.Do(t, store.View(func(tx *kv.Tx) error {
		s := New(tx, Columns{})
		for place, name := range e.Classes {
			if got := s.ClassPlace(name); got != place {
				t.Errorf("%s: got %d, want %d", name, got, place)
			}
		}
		if got := s.ClassPlace(""); len(e.Classes) != 3 || got != picture.None {
			t.Errorf("got %d without a name, of %d classes", got, len(e.Classes))
		}
		return nil
	}))
}

// TestOtherThanPredicted has nodes whose suggestion is not what the classifier says: it is never the label.
func TestOtherThanPredicted(t *testing.T) {
	store := papers.Cleaned(t)
	must.Do(t, store.Update(func(tx *kv.Tx) error {
		for _, id := range []string{"p1", "e 1"} {
			if err := tx.SetValue(must.Get(tx.Node(id))(t), "suggested", kv.ValueOf("Systems")); err != nil {
				return err
			}
		}
		return tx.SetValue(must.Get(tx.Node("p1"))(t), "confidence", kv.ValueOf(0.02))
	}))
	for id, want := range map[string]string{
		"p1": "On graphs has the label Theory. The likeliest other label is Systems. 3 of 4 neighbours are Theory; the classifier " +
			"agrees (87.5%).",
		"e 1": "Alone has the label Neural Nets. Is it Systems? It has no neighbours; the classifier says Neural Nets, 75.0% sure.",
	} {
		e := surveyed(t, store, id)
		if n := e.Nodes[0]; e.Title+" "+e.Text != want || n.Predicted != n.Class {
			t.Errorf("%s: got %q and %+v\nwant %q, and its label predicted", id, e.Title+" "+e.Text, n, want)
		}
	}
}
