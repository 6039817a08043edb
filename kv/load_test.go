package kv

import (
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A testGraph is the input of a load, with the store that it should make.
type testGraph struct {
	ids    []string
	labels []string
	years  []Value
	src    []string
	dst    []string

	neighbors map[string]map[string]bool
	loops     int64
	parallel  int64
}

// randomGraph draws a small awkward graph: parallel edges in both directions, loops, isolated nodes, sometimes a hub,
// with ids that are dense, shuffled or sparse integers, or words of many scripts and lengths.
func randomGraph(r *rand.Rand) *testGraph {
	g := &testGraph{neighbors: map[string]map[string]bool{}}
	n := []int{0, 1, 2, 5, 40, 300}[r.IntN(6)]
	style := r.IntN(5)
	taken := map[string]bool{}
	for i := range n {
		id := ""
		for id == "" || taken[id] {
			switch style {
			case 0:
				id = strconv.Itoa(i)
			case 1:
				id = strconv.Itoa(n - 1 - i)
			case 2:
				id = strconv.FormatInt(int64(r.Uint64())>>r.IntN(50), 10)
			case 3:
				id = strings.Repeat([]string{"é", "节点", "x", " ", "007"}[r.IntN(5)], 1+r.IntN(3)) + strconv.Itoa(r.IntN(2*n))
			default:
				id = strings.Repeat("long", r.IntN(200)) + strconv.Itoa(i)
			}
		}
		taken[id] = true
		g.ids = append(g.ids, id)
		g.labels = append(g.labels, []string{"", "10", "9", "-1", "b"}[r.IntN(4+style%2)])
		year := Value{}
		if r.IntN(3) > 0 {
			year = ValueOf(r.Int64N(100) - 50)
		}
		g.years = append(g.years, year)
		g.neighbors[id] = map[string]bool{}
	}
	if n == 0 {
		return g
	}
	for range r.IntN(4 * n) {
		u, v := g.ids[r.IntN(n)], g.ids[r.IntN(n)]
		if r.IntN(3) == 0 {
			u = g.ids[0]
		}
		for range 1 + r.IntN(8)/7 {
			g.addEdge(u, v)
			u, v = v, u
		}
	}
	return g
}

func (g *testGraph) addEdge(u, v string) {
	g.src, g.dst = append(g.src, u), append(g.dst, v)
	switch {
	case u == v:
		g.loops++
	case g.neighbors[u][v]:
		g.parallel++
	default:
		g.neighbors[u][v], g.neighbors[v][u] = true, true
	}
}

func (g *testGraph) edges() int64 {
	degrees := 0
	for _, list := range g.neighbors {
		degrees += len(list)
	}
	return int64(degrees / 2)
}

func (g *testGraph) load(t testing.TB, dir string, opt LoadOptions, finish func(*Store) error) Stats {
	t.Helper()
	opt.Properties = []Column{{Name: "year", Kind: KindInt}}
	l := must.Get(NewLoader(t.Context(), dir, opt))(t)
	must.Do(t, g.add(l))
	stats := must.Get(l.Commit(t.Context(), finish))(t)
	return stats
}

func (g *testGraph) add(l *Loader) error {
	if err := g.addNodes(l); err != nil {
		return err
	}
	for i := range g.src {
		if err := l.AddEdge(g.src[i], g.dst[i], int64(i+2)); err != nil {
			return err
		}
	}
	return nil
}

func openTest(t testing.TB, dir string) *Store {
	t.Helper()
	s := must.Get(Open(dir, Options{MemoryBudget: minMemoryBudget}))(t)
	t.Cleanup(func() { must.Do(t, s.Close()) })
	return s
}

func TestLoadRandomGraphs(t *testing.T) {
	t.Parallel()
	for seed := range uint64(longtest.Of(10, 96)) {
		g := randomGraph(rand.New(rand.NewPCG(seed, 0)))
		parent := t.TempDir()
		dir := filepath.Join(parent, "graph")
		verify := func(s *Store) error {
			checkClean(t, s)
			return s.View(func(tx *Tx) error {
				g.verify(t, tx)
				g.verifyRows(t, tx)
				return nil
			})
		}
		opt := LoadOptions{MemoryBudget: []int64{1, 64 << 20}[seed%2]}
		stats := g.load(t, dir, opt, verify)
		labelled, classes := int64(0), map[string]bool{}
		for _, label := range g.labels {
			if label != "" {
				labelled++
				classes[label] = true
			}
		}
		want := Stats{
			Nodes: int64(len(g.ids)), Edges: g.edges(), SelfLoops: g.loops, ParallelEdges: g.parallel, Labelled: labelled,
			Classes: int64(len(classes)),
		}
		if stats != want {
			t.Fatalf("seed %d: got %+v, want %+v", seed, stats, want)
		}
		if left, err := os.ReadDir(parent); err != nil || len(left) != 1 {
			t.Fatalf("seed %d: beside the store: got %v, %v, want the store alone", seed, left, err)
		}
		if seed%8 > 1 {
			continue
		}
		s, err := Open(dir, Options{MemoryBudget: minMemoryBudget})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if err := errors.Join(verify(s), s.Close()); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// verifyRows compares classes, labels and years.
func (g *testGraph) verifyRows(t testing.TB, tx *Tx) {
	t.Helper()
	classes := map[string]bool{}
	for i, id := range g.ids {
		v := must.Get(tx.Node(id))(t)
		class := must.Get(tx.Label(v))(t)
		name := ""
		if class != NoClass {
			name = tx.Classes()[class]
			classes[name] = true
		}
		year, err := tx.Value(v, "year")
		if err != nil || name != g.labels[i] || year != g.years[i] {
			t.Fatalf("node %q: got label %q, year %v, %v, want %q, %v", id, name, year, err, g.labels[i], g.years[i])
		}
	}
	want := slices.Sorted(maps.Keys(classes))
	if !classes["b"] { // all are numbers
		want = slices.DeleteFunc([]string{"-1", "9", "10"}, func(c string) bool { return !classes[c] })
	}
	if !slices.Equal(tx.Classes(), want) {
		t.Fatalf("Classes: got %q, want %q", tx.Classes(), want)
	}
}

func TestNodesAreNumberedByDegree(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "graph")
	l, err := NewLoader(t.Context(), dir, LoadOptions{})
	must.Do(t, err)
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		must.Do(t, l.AddNode(Node{ID: id}))
	}
	for _, e := range []string{"ec", "de", "cb", "ce", "ee"} {
		must.Do(t, l.AddEdge(e[:1], e[1:], 0))
	}
	must.Get(l.Commit(t.Context(), nil))(t)
	var got []string
	err = openTest(t, dir).View(func(tx *Tx) error {
		for v := range NodeID(5) {
			id, err := tx.ID(v)
			if err != nil {
				return err
			}
			got = append(got, id)
		}
		return nil
	})
	if want := []string{"c", "e", "b", "d", "a"}; err != nil || !slices.Equal(got, want) {
		t.Fatalf("ids by NodeID: got %q, %v, want %q", got, err, want)
	}
}

// graphRecords returns every record of the graph, as it is on disk.
func graphRecords(t *testing.T, s *Store) map[string]string {
	t.Helper()
	records := map[string]string{}
	must.Do(t, s.View(func(tx *Tx) error {
		for k := record.KindAdjacency; k <= record.KindAddedID; k++ {
			for r, err := range tx.records().Scan([]byte{byte(k)}, nil) {
				must.Do(t, err)
				records[string(r.Key)] = string(r.Body)
			}
		}
		return nil
	}))
	return records
}

// verify compares everything a snapshot says of the graph's structure with the graph.
func (g *testGraph) verify(t testing.TB, tx *Tx) {
	t.Helper()
	if tx.NumNodes() != len(g.ids) || tx.Shape().Edges != g.edges() {
		t.Fatalf("got %d nodes and %d edges, want %d and %d", tx.NumNodes(), tx.Shape().Edges, len(g.ids), g.edges())
	}
	nodes := map[string]NodeID{}
	position := 0
	places := must.Get(tx.Places())(t)
	for v, err := range tx.InFileOrder() {
		must.Do(t, err)
		if got, err := places.Of(v); err != nil || got != position {
			t.Fatalf("place of node %d: got %d, %v, want %d", v, got, err, position)
		}
		if got, err := places.NodeAt(position); err != nil || got != v {
			t.Fatalf("node at place %d: got %d, %v, want %d", position, got, err, v)
		}
		if got, err := places.ID(position); err != nil || got.String() != g.ids[position] {
			t.Fatalf("id at place %d: got %v, %v, want %q", position, got, err, g.ids[position])
		}
		id, err := tx.ID(v)
		if err != nil || id != g.ids[position] {
			t.Fatalf("ID of node %d at position %d: got %q, %v, want %q", v, position, id, err, g.ids[position])
		}
		if got, err := tx.Node(id); err != nil || got != v {
			t.Fatalf("Node(%q): got %d, %v, want %d", id, got, err, v)
		}
		nodes[id] = v
		position++
	}
	if position != len(g.ids) {
		t.Fatalf("InFileOrder: got %d nodes, want %d", position, len(g.ids))
	}
	var ids []string
	for id, err := range tx.IDs() {
		must.Do(t, err)
		ids = append(ids, id)
	}
	if !slices.Equal(ids, g.ids) {
		t.Fatalf("IDs: got %q, want %q", ids, g.ids)
	}
	byNode := tx.dict().Reader()
	for v := range NodeID(len(g.ids)) {
		if id, err := byNode.At(v); err != nil || nodes[id] != v {
			t.Fatalf("id of node %d: got %q, %v", v, id, err)
		}
	}
	for _, id := range []string{"", "absent", "-7000", strconv.Itoa(len(g.ids) + 5), strings.Repeat("x", 2000)} {
		if _, there := nodes[id]; !there {
			if _, err := tx.Node(id); !errors.Is(err, ErrNotFound) {
				t.Fatalf("Node(%.20q): got %v, want ErrNotFound", id, err)
			}
		}
	}
	want := make([][]NodeID, len(g.ids))
	for id, list := range g.neighbors {
		for other := range list {
			want[nodes[id]] = append(want[nodes[id]], nodes[other])
		}
		slices.Sort(want[nodes[id]])
	}
	verifyLists(t, tx, want)
}
