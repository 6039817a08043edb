package report

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/papers"
	"github.com/graphcleaner/graphcleaner/shell/internal/picture"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// surveyed is the picture of a node of a store.
func surveyed(t *testing.T, store *kv.Store, id string) (e *picture.Ego) {
	t.Helper()
	err := store.View(func(tx *kv.Tx) error {
		v, err := tx.Node(id)
		if err == nil {
			e, err = newSurveyor(tx, kv.Both).picture(t.Context(), "suspect-1", v)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestSuspects has what is said of nodes with neighbours, without any, and with one that has no label.
func TestSuspects(t *testing.T) {
	store := papers.Cleaned(t)
	for id, want := range map[string]string{
		"p4":  "It's a graph has the label Systems. Is it Theory? 3 of 3 neighbours are Theory; so says the classifier, 87.5% sure.",
		"p5":  "p5 has the label Theory. Is it Neural Nets? 2 of 3 neighbours are Theory; the classifier says Neural Nets, 50.0% sure.",
		"e 1": "Alone has the label Neural Nets. Is it Neural Nets? It has no neighbours; the classifier says Neural Nets, 75.0% sure.",
		"s3":  "Nets\tand\nlines has the label Systems. Is it Theory? 1 of 2 neighbours are Systems; the classifier says Theory, 50.0% sure.",
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

// TestPageOfRun is of a store with suspects.
func TestPageOfRun(t *testing.T) {
	p, err := Clean(t.Context(), papers.Cleaned(t), "Papers")
	if err != nil {
		t.Fatal(err)
	}
	page := rendered(t, p)
	for _, want := range []string{"The first suspects", `id="suspect-1"`, "Is it Theory?", "Top suspects"} {
		if !strings.Contains(page, want) {
			t.Errorf("page: has no %q", want)
		}
	}
}

// A contextWithWriter calls a function when a reader first looks whether it has ended.
type contextWithWriter struct {
	context.Context
	write func()
}

func (c *contextWithWriter) Err() error {
	write := c.write
	if c.write = nil; write != nil {
		write()
	}
	return c.Context.Err()
}

// TestPageOfOneSnapshot decides on the first suspects while their report is made. The report does not show it.
func TestPageOfOneSnapshot(t *testing.T) {
	store := papers.Cleaned(t)
	page := func(ctx context.Context) string {
		t.Helper()
		p, err := Clean(ctx, store, "Papers")
		if err != nil {
			t.Fatal(err)
		}
		return regexp.MustCompile(`<p class="made">.*</p>`).ReplaceAllString(rendered(t, p), "") // the time of writing
	}
	want := page(t.Context())
	got := page(&contextWithWriter{Context: t.Context(), write: func() {
		if _, err := query.Exec(t.Context(), store, query.Options{}, "accept s3, p4"); err != nil {
			t.Fatal(err)
		}
	}})
	if got != want {
		t.Error("the report shows decisions that were made meanwhile")
	}
	if page(t.Context()) == want {
		t.Error("the next report does not show the decisions")
	}
}

// TestHub reads a node with very many neighbours, and one beside it.
func TestHub(t *testing.T) {
	const neighbors = 100_000
	dir := filepath.Join(t.TempDir(), "store")
	load, err := kv.NewLoader(t.Context(), dir, kv.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	add := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	add(load.AddNode(kv.Node{ID: "hub", Label: "A"}))
	for i := range neighbors {
		add(load.AddNode(kv.Node{ID: fmt.Sprint(i), Label: string(rune('A' + i%3))}))
	}
	for i := range neighbors {
		add(load.AddEdge("hub", fmt.Sprint(i), 0))
	}
	if _, err := load.Commit(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
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
