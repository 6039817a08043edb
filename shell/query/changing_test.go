package query

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A changingGraph is a graph as a program would hold it: the labels of nodes that are there, "" of none, and their neighbours.
type changingGraph struct {
	labels map[int]string
	edges  map[[2]int]bool
	nodes  int // that there ever were
}

var changingLabels = []string{"", "A", "B", "it's"}

func (g *changingGraph) ids() (ids []int) {
	for v := range g.nodes {
		if _, present := g.labels[v]; present {
			ids = append(ids, v)
		}
	}
	return ids
}

// around are the nodes within some hops of a node.
func (g *changingGraph) around(v, hops int) (around []int) {
	last := []int{v}
	for range hops {
		var next []int
		for edge := range g.edges {
			for i, end := range edge {
				if other := edge[1-i]; slices.Contains(last, end) && other != v && !slices.Contains(around, other) {
					around, next = append(around, other), append(next, other)
				}
			}
		}
		last = next
	}
	return around
}

// share is the share of a label, as it is printed.
func (g *changingGraph) share(v int, label string, hops int) string {
	same, labelled := 0.0, 0.0
	for _, u := range g.around(v, hops) {
		if g.labels[u] != "" {
			labelled++
		}
		if g.labels[u] == label {
			same++
		}
	}
	if label == "" || labelled == 0 {
		return ""
	}
	return strconv.FormatFloat(same/labelled, 'g', -1, 64)
}

// load makes a store of a graph.
func (g *changingGraph) load(t *rapid.T, dir string) {
	n := rapid.IntRange(1, 12).Draw(t, "nodes")
	load, err := kv.NewLoader(t.Context(), dir, kv.LoadOptions{})
	must.Do(t, err)
	for v := range n {
		label := rapid.SampledFrom(changingLabels).Draw(t, "label")
		must.Do(t, load.AddNode(kv.Node{ID: strconv.Itoa(v), Label: label}))
		g.labels[v] = label
	}
	g.nodes = n
	for range rapid.IntRange(0, 20).Draw(t, "edges") {
		u, v := rapid.IntRange(0, n-1).Draw(t, "u"), rapid.IntRange(0, n-1).Draw(t, "v")
		must.Do(t, load.AddEdge(strconv.Itoa(u), strconv.Itoa(v), 0))
		if u != v {
			g.edges[[2]int{min(u, v), max(u, v)}] = true
		}
	}
	if _, err := load.Commit(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
}

// change changes the graph and a transaction alike.
func (g *changingGraph) change(t *rapid.T, tx *kv.Tx) error {
	node := func(v int) kv.NodeID {
		at, err := tx.Node(strconv.Itoa(v))
		must.Do(t, err)
		return at
	}
	ids := g.ids()
	what := rapid.SampledFrom([]string{"add", "label", "connect", "disconnect", "remove"}).Draw(t, "change")
	if what == "add" || len(ids) < 2 {
		label := rapid.SampledFrom(changingLabels).Draw(t, "label")
		g.labels[g.nodes] = label
		g.nodes++
		_, err := tx.AddNode(kv.Node{ID: strconv.Itoa(g.nodes - 1), Label: label})
		return err
	}
	v, u := rapid.SampledFrom(ids).Draw(t, "v"), rapid.SampledFrom(ids).Draw(t, "u")
	edge := [2]int{min(u, v), max(u, v)}
	switch {
	case what == "label":
		g.labels[v] = rapid.SampledFrom(changingLabels).Draw(t, "label")
		return tx.SetLabel(node(v), g.labels[v])
	case what == "remove":
		at := node(v)
		delete(g.labels, v)
		for edge := range g.edges {
			if slices.Contains(edge[:], v) {
				delete(g.edges, edge)
			}
		}
		return tx.RemoveNode(at)
	case what == "connect" && u != v && !g.edges[edge]:
		g.edges[edge] = true
		return tx.AddEdge(node(u), node(v))
	case g.edges[edge]:
		delete(g.edges, edge)
		return tx.RemoveEdge(node(u), node(v))
	}
	return nil
}

// check asks a transaction, and compares the answers with those of the graph.
func (g *changingGraph) check(t *rapid.T, tx *kv.Tx) {
	ask := func(want []string, text string, args ...any) {
		var got []string
		answer, err := Query(t.Context(), tx, Options{}, text, args...)
		if err != nil {
			t.Fatalf("%s with %v: %v", text, args, err)
		}
		for row, err := range answer.Rows() {
			if err != nil {
				t.Fatalf("%s with %v: %v", text, args, err)
			}
			line := ""
			for _, v := range row.Values {
				line += v.String() + " "
			}
			got = append(got, line)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%s with %v: got %q, want %q of %v", text, args, got, want, *g)
		}
	}
	ids, hops := g.ids(), rapid.IntRange(1, 3).Draw(t, "hops")
	label := rapid.SampledFrom(changingLabels[1:]).Draw(t, "asked")

	var shares, near, both, agreeing []string
	for _, v := range ids {
		own := g.share(v, g.labels[v], hops)
		shares = append(shares, fmt.Sprintf("%d %s %s ", v, own, g.share(v, label, hops)))
		beside := slices.ContainsFunc(g.around(v, hops), func(u int) bool { return g.labels[u] == label })
		if beside {
			near = append(near, fmt.Sprintf("%d ", v))
		}
		if share, err := strconv.ParseFloat(own, 64); !beside && (err != nil || share < 1) {
			both = append(both, fmt.Sprintf("%d ", v))
		}
		if slices.ContainsFunc(g.around(v, 1), func(u int) bool { return g.share(u, g.labels[u], hops) == "1" }) {
			agreeing = append(agreeing, fmt.Sprintf("%d ", v))
		}
	}
	ask(agreeing, "nodes where neighbor(share(label, $1) = 1) return id", hops)
	ask(shares, "nodes return id, share(label, $1), share($2, $1)", hops, label)
	ask(near, "nodes where neighbor(label = $1, $2) return id", label, hops)
	ask(both, "nodes where not neighbor(label = $1, $2) and (share(label, $2) < 1 or share(label, $2) is null) return id", label, hops)

	var some []string
	text := "node"
	for i := range rapid.IntRange(1, 3).Draw(t, "named") {
		if len(ids) == 0 {
			return
		}
		v := rapid.SampledFrom(ids).Draw(t, "id")
		text += []string{" ", ", "}[min(i, 1)] + strconv.Itoa(v)
		some = append(some, fmt.Sprintf("%d %s %d ", v, g.labels[v], len(g.around(v, 1))))
	}
	ask(some, text)

	count := map[string]int{}
	for _, v := range ids {
		count[g.labels[v]]++
	}
	least, limit := rapid.IntRange(0, 3).Draw(t, "least"), rapid.IntRange(0, 3).Draw(t, "limit")
	classes := slices.DeleteFunc(slices.Sorted(slices.Values(tx.Classes())), func(class string) bool { return count[class] < least })
	slices.SortStableFunc(classes, func(a, b string) int { return cmp.Compare(count[b], count[a]) })
	var lines []string
	for _, class := range classes[:min(limit, len(classes))] {
		lines = append(lines, fmt.Sprintf("%s %d ", class, count[class]))
	}
	ask(lines, "classes where nodes >= $1 order by nodes desc, class limit $2 return class, nodes", least, limit)
}

// changingAnswers holds that answers about neighbours are those of the definition, in a snapshot and in an Update, while the graph changes.
func changingAnswers(t *rapid.T) {
	parent, err := os.MkdirTemp("", "changing")
	must.Do(t, err)
	defer os.RemoveAll(parent)
	dir := filepath.Join(parent, "store")
	g := &changingGraph{labels: map[int]string{}, edges: map[[2]int]bool{}}
	g.load(t, dir)
	store, err := index.Open(dir, kv.Options{MemoryBudget: 64 << 20})
	must.Do(t, err)
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	for range rapid.IntRange(1, 3).Draw(t, "updates") {
		err := store.Update(func(tx *kv.Tx) error {
			for range rapid.IntRange(0, 5).Draw(t, "changes") {
				if err := g.change(t, tx); err != nil {
					return err
				}
			}
			g.check(t, tx)
			return nil
		})
		if err == nil {
			err = store.View(func(tx *kv.Tx) error { g.check(t, tx); return nil })
		}
		must.Do(t, err)
	}
}

func TestAnswersFollowChanges(t *testing.T) { rapid.Check(t, changingAnswers) }

func FuzzAnswersFollowChanges(f *testing.F) {
	f.Add([]byte("nodes, edges, labels, changes and questions are drawn from these bytes"))
	f.Fuzz(rapid.MakeFuzz(changingAnswers))
}
