package kv

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// manyInUpdate and noneInUpdate make a Patch take one of its two ways.
const (
	manyInUpdate = 1 << 30
	noneInUpdate = -1
)

// patch makes random changes to the store by a Patch, in either way, and to the model. Now and then it asks for
// something that cannot be.
func (m *model) patch(t *rapid.T, s *Store) (err error) {
	opt := PatchOptions{
		Labels: rapid.Bool().Draw(t, "labels"), most: rapid.SampledFrom([]int{manyInUpdate, noneInUpdate}).Draw(t, "most"),
	}
	kind := rapid.SampledFrom(columnKinds).Draw(t, "kind")
	if rapid.Bool().Draw(t, "values") {
		opt.Properties = []Column{{Name: kind.String(), Kind: kind}}
	}
	next := m.clone()
	if opt.Properties != nil {
		next.columns[kind.String()] = kind
	}
	p, err := s.NewPatch(opt)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Abort()) }()
	wrong := false
	removed := map[string]bool{}
	nodes := map[string]NodeID{}
	for v, id := range m.ids {
		if id != "" {
			nodes[id] = NodeID(v)
		}
	}
	ids := rapid.SliceOfNDistinct(rapid.IntRange(0, 40), 0, 8, rapid.ID).Draw(t, "ids")
	for _, number := range ids {
		id := rapid.SampledFrom([]string{"n", ""}).Draw(t, "prefix") + fmt.Sprint(number)
		v, there := nodes[id]
		if there && rapid.IntRange(0, 3).Draw(t, "remove") == 0 {
			for range rapid.IntRange(1, 2).Draw(t, "times") {
				err = errors.Join(err, p.RemoveNode(id, 1))
			}
			removed[id] = true
			continue
		}
		if !there && rapid.IntRange(0, 12).Draw(t, "unknown") == 0 {
			wrong, err = true, errors.Join(err, p.RemoveNode(id, 2))
			continue
		}
		if !there {
			v = NodeID(len(next.ids))
			next.ids = append(next.ids, id)
			nodes[id] = v
		}
		n := Node{ID: id, Label: rapid.SampledFrom([]string{"", "10", "patched"}).Draw(t, "label"), Source: int64(v)}
		if opt.Labels {
			next.set(LabelColumn, v, ValueOf(n.Label))
			if n.Label == "" {
				next.set(LabelColumn, v, Value{})
			}
		}
		if opt.Properties != nil {
			n.Values = []Value{drawValue(t, kind)}
			next.set(kind.String(), v, n.Values[0])
		}
		err = errors.Join(err, p.AddNode(n))
	}
	all := slices.Sorted(func(yield func(string) bool) {
		for id := range nodes {
			if !removed[id] && !yield(id) {
				return
			}
		}
	})
	asked := map[edge]bool{} // what was asked of it: true for an addition
	for range rapid.IntRange(0, 12).Draw(t, "edges") {
		if len(all) == 0 {
			break
		}
		src, dst := rapid.SampledFrom(all).Draw(t, "src"), rapid.SampledFrom(all).Draw(t, "dst")
		u, v := nodes[src], nodes[dst]
		e := edge{min(u, v), max(u, v)}
		add, again := asked[e]
		switch {
		case again && !add || !again && m.edges[e] && rapid.Bool().Draw(t, "remove edge"):
			asked[e] = false
			delete(next.edges, e)
			err = errors.Join(err, p.RemoveEdge(src, dst, 3))
		default:
			asked[e] = true
			if u != v {
				next.edges[e] = true
			}
			err = errors.Join(err, p.AddEdge(src, dst, 4))
		}
	}
	for id := range removed {
		next.remove(nodes[id])
	}
	if rapid.IntRange(0, 12).Draw(t, "unknown end") == 0 {
		wrong, err = true, errors.Join(err, p.AddEdge("n0", "unknown", 5))
	}
	if err != nil {
		return err
	}
	stats, err := p.Commit(context.Background())
	if wrong {
		if !errors.Is(err, ErrNotFound) {
			return fmt.Errorf("a patch of what is not there: got %w, want ErrNotFound", err)
		}
		return nil
	}
	if err != nil {
		return err
	}
	m.touchPatched(next)
	next.history.now.rewritten = stats.Rewritten
	*m = *next
	return m.history.end(s)
}

// touchPatched touches in next what is not as it was.
func (m *model) touchPatched(next *model) {
	now := next.history.now
	for name := range next.columns {
		if _, there := m.columns[name]; !there {
			touchModel(now.columns, name, allNodes)
		}
		for v := range next.ids {
			if m.value(name, NodeID(v)) != next.value(name, NodeID(v)) {
				touchModel(now.columns, name, NodeID(v))
			}
		}
	}
	for _, edges := range []map[edge]bool{m.edges, next.edges} {
		for e := range edges {
			if m.edges[e] != next.edges[e] {
				now.edges[e.U], now.edges[e.V] = true, true
			}
		}
	}
}

// TestPatchWays makes the same random changes to stores of every form, in one transaction and by writing the graph
// again: both make the same store and the same counts.
func TestPatchWays(t *testing.T) {
	t.Parallel()
	for form, opt := range []LoadOptions{{}, {Directed: true}, {Weighted: true}, {Directed: true, Weighted: true}} {
		for _, dense := range []bool{false, true} {
			if !longtest.Asked() && (dense == opt.Weighted || opt.Directed != opt.Weighted) {
				continue
			}
			t.Run(fmt.Sprintf("%d dense %v", form, dense), func(t *testing.T) {
				patchWays(t,
					numbered(t, longtest.Of(1200, 3000), dense, opt))
			})
		}
	}
}

func patchWays(t *testing.T, first *Store) {
	makeMatrix(t, first, "m", "a", "b")
	update(t, first, func(tx *Tx) error {
		must.Do(t, tx.RemoveNode(9))
		for v := range NodeID(8) {
			must.Do(t, tx.SetRow("m", v, []float32{1, float32(v)}))
		}
		return nil
	})
	dir := first.Dir()
	closeStore(t, first)
	stores := []*Store{openTest(t, copyStore(t, dir)), openTest(t, dir)}
	r := rand.New(rand.NewPCG(7, 7))
	for round := range longtest.Of(2, 3) {
		seed := r.Uint64()
		var stats [2]Stats
		for i, s := range stores {
			stats[i] = randomPatch(t, s, rand.New(rand.NewPCG(seed, 0)), round, []int{manyInUpdate, noneInUpdate}[i])
			checkClean(t, s)
		}
		if stats[1].Rewritten = false; stats[0] != stats[1] || stats[0].Nodes == 0 || stats[0].Edges == 0 ||
			stats[0].RemovedEdges == 0 {
			t.Errorf("round %d: one transaction counts %+v, a rewrite %+v", round, stats[0], stats[1])
		}
		if got, want := describeStore(t, stores[1]), describeStore(t, stores[0]); got != want {
			t.Errorf("round %d: a rewrite makes another store than a transaction:\n%s", round, difference(got, want))
		}
		view(t, stores[1], func(tx *Tx) error {
			if tx.cat.EdgeDeltas != 0 || tx.cat.LoadedNodes != tx.cat.Nodes {
				t.Errorf("round %d: the rewrite leaves %d edge deltas, and %d nodes of %d in blocks", round, tx.cat.EdgeDeltas,
					tx.cat.LoadedNodes, tx.cat.Nodes)
			}
			return nil
		})
		must.Do(t, stores[round%2].Compact(t.Context(), nil))
	}
}

// randomPatch commits a random Patch, which has some of everything.
func randomPatch(t *testing.T, s *Store, r *rand.Rand, round, most int) Stats {
	t.Helper()
	var ids []string
	var arcs [][2]string
	weighted := false
	view(t, s, func(tx *Tx) error {
		weighted = tx.Shape().Weighted
		for id, err := range tx.IDs() {
			must.Do(t, err)
			ids = append(ids, id)
		}
		for _, id := range ids[:300] {
			v := must.Get(tx.Node(id))(t)
			for a, err := range tx.Undirected().Arcs(v) {
				must.Do(t, err)
				if a.Out == 0 {
					continue
				}
				other := must.Get(tx.ID(a.Neighbor))(t)
				arcs = append(arcs, [2]string{id, other})
			}
		}
		return nil
	})
	p, err := s.NewPatch(PatchOptions{
		Labels: true, Properties: []Column{{Name: "year", Kind: KindInt},
			{Name: "round " + strconv.Itoa(round), Kind: KindString}}, most: most,
		Rows: func(_ context.Context, tx *Tx, put func(matrix string, v NodeID, row []float32) error) error {
			for _, id := range []string{ids[1], fmt.Sprintf("added %d/1", round)} {
				v, err := tx.Node(id)
				if err == nil {
					err = put("m", v, []float32{float32(round), 7})
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
	})
	must.Do(t, err)
	removed := map[string]bool{}
	// the last are neighbors
	for _, i := range append(r.Perm(len(ids) - 60)[:20], identity(len(ids) - 20)[len(ids)-60:]...) {
		removed[ids[10+i]] = true
		err = errors.Join(err, p.RemoveNode(ids[10+i], 1))
	}
	var present []string
	for _, id := range ids {
		if !removed[id] {
			present = append(present, id)
		}
	}
	for i := range 30 {
		id := fmt.Sprintf("added %d/%d", round, i)
		present = append(present, id)
		err = errors.Join(err, p.AddNode(Node{ID: id, Label: "class " + strconv.Itoa(r.IntN(5)),
			Values: []Value{ValueOf(int64(i)), ValueOf(id)}}))
	}
	for _, i := range r.Perm(1000)[:40] {
		n := Node{ID: present[i], Label: []string{"", "class 1", "later"}[r.IntN(3)], Values: []Value{ValueOf(r.Int64())}}
		err = errors.Join(err, p.AddNode(n))
	}
	for i, arc := range arcs {
		if i%3 == 0 {
			err = errors.Join(err, p.RemoveEdge(arc[0], arc[1], 2))
		}
	}
	gone := map[string]bool{}
	for i, arc := range arcs {
		gone[arc[0]+" "+arc[1]], gone[arc[1]+" "+arc[0]] = gone[arc[0]+" "+arc[1]] || i%3 == 0, gone[arc[1]+" "+arc[0]] ||
			i%3 == 0
	}
	for range 200 {
		src, dst := present[r.IntN(len(present))], present[r.IntN(len(present))]
		if r.IntN(3) == 0 {
			dst = present[len(present)-1]
		}
		if gone[src+" "+dst] {
			continue
		}
		for range 1 + r.IntN(2) {
			if weighted && r.IntN(2) == 0 {
				err = errors.Join(err, p.AddWeighted(src, dst, float32(1+r.IntN(9)), 3))
			} else {
				err = errors.Join(err, p.AddEdge(src, dst, 3))
			}
		}
	}
	must.Do(t, err)
	stats := must.Get(p.Commit(t.Context()))(t)
	return stats
}

// The two arcs between two nodes have a weight each, and their sum must be a number too.
func TestPatchOfTooLargeWeights(t *testing.T) {
	for _, most := range []int{manyInUpdate, noneInUpdate} {
		s := numbered(t, 20, false, LoadOptions{Directed: true, Weighted: true})
		p := must.Get(s.NewPatch(PatchOptions{most: most}))(t)
		must.Do(t, errors.Join(p.AddWeighted("é3", "é17", math.MaxFloat32, 1),
			p.AddWeighted("é17", "é3", math.MaxFloat32, 2)))
		if _, err := p.Commit(t.Context()); !errors.Is(err, ErrInvalidEdge) {
			t.Errorf("%d rows in one update: got %v, want %v", most, err, ErrInvalidEdge)
		}
		// The sum counts once all rows of a pair are applied, whichever end has the greater number.
		for _, ends := range [][2]string{{"é3", "é17"}, {"é17", "é3"}} {
			s := numbered(t, 20, false, LoadOptions{Directed: true, Weighted: true})
			p := must.Get(s.NewPatch(PatchOptions{most: most}))(t)
			must.Do(t, p.AddWeighted(ends[0], ends[1], math.MaxFloat32, 1))
			must.Get(p.Commit(t.Context()))(t)
			p = must.Get(s.NewPatch(PatchOptions{most: most}))(t)
			must.Do(t, errors.Join(p.RemoveEdge(ends[0], ends[1], 1),
				p.AddWeighted(ends[1], ends[0], math.MaxFloat32, 2)))
			must.Get(p.Commit(t.Context()))(t)
		}
	}
}

// A row that is given twice by the caller is an error of a rewrite, which would lose all rows after it.
func TestRewrittenRowsAreGivenOnce(t *testing.T) {
	s := numbered(t, 20, false, LoadOptions{})
	b := must.Get(s.Bulk(context.Background()))(t)
	m := must.Get(b.Matrix("m", []string{"a"}))(t)
	must.Do(t, errors.Join(m.Put(0, []float32{1}), b.Commit(nil)))
	p := must.Get(s.NewPatch(PatchOptions{most: noneInUpdate, Rows: func(
		_ context.Context, _ *Tx, put func(matrix string, v NodeID, row []float32) error,
	) error {
		var errs error
		for _, v := range []NodeID{1, 2, 2, 3} {
			errs = errors.Join(errs, put("m", v, []float32{float32(v)}))
		}
		return errs
	}}))(t)
	must.Do(t, p.AddEdge("é0", "é9", 1))
	if _, err := p.Commit(t.Context()); !errors.Is(err, ErrDuplicateRow) {
		t.Errorf("got %v, want ErrDuplicateRow", err)
	}
}

// An id that is longer than any node's is not there, even if it begins as one that is.
func TestPatchOfTooLongIDs(t *testing.T) {
	id := strings.Repeat("a", MaxID)
	s := numbered(t, 2, false, LoadOptions{})
	update(t, s, func(tx *Tx) error {
		_, err := tx.AddNode(Node{ID: id})
		return err
	})
	var edges int64
	view(t, s, func(tx *Tx) error { edges = tx.Shape().Edges; return nil })
	for name, ask := range map[string]func(p *Patch) error{
		"remove": func(p *Patch) error { return p.RemoveNode(id+"zzz", 7) },
		"join":   func(p *Patch) error { return p.AddEdge("é1", id+"zzz", 7) },
	} {
		p := must.Get(s.NewPatch(PatchOptions{}))(t)
		must.Do(t, ask(p))
		if stats, err := p.Commit(t.Context()); err == nil {
			t.Errorf("%s: got %+v, want an error: the node is not there", name, stats)
		}
	}
	view(t, s, func(tx *Tx) error {
		if tx.Shape().Present != 3 || tx.Shape().Edges != edges {
			t.Errorf("got %d nodes and %d edges, want 3 and %d", tx.Shape().Present, tx.Shape().Edges, edges)
		}
		return nil
	})
}

// A markedIndex is an index of which the store has the mark alone.
type markedIndex struct{ column string }

func (markedIndex) Add(NodeID, Value) error { return nil }
func (markedIndex) Finish() error           { return nil }
func (x markedIndex) Mark(tx *Tx) error     { return tx.SetIndexed(x.column, true) }
func (markedIndex) Close() error            { return nil }

// TestPatchIndexesNoNewColumn holds that a column which a Patch adds has no index, whether the graph is written again
// or not.
func TestPatchIndexesNoNewColumn(t *testing.T) {
	for _, most := range []int{-1, 1 << 20} {
		s := newStore(t, Options{
			OnWrite:   func(*Tx, NodeID, string, Value, Value) error { return nil },
			OnRewrite: func(_ *Bulk, c string) (ColumnIndex, error) { return markedIndex{c}, nil },
		})
		addNodes(t, s, 5)
		column := Column{Name: "n", Kind: KindInt, Indexed: true}
		p := must.Get(s.NewPatch(PatchOptions{Properties: []Column{column}, most: most}))(t)
		must.Do(t, p.AddNode(Node{ID: "n1", Values: []Value{ValueOf(5)}}))
		must.Get(p.Commit(context.Background()))(t)
		view(t, s, func(tx *Tx) error {
			if c, there := tx.Column("n"); !there || c.Indexed {
				t.Errorf("at most %d rows in a transaction: got %+v, %v, want a column without an index", most, c, there)
			}
			return nil
		})
	}
}

// A graph that is written again has touched edges if some were added, and not for new labels alone.
func TestRewriteTouchesEdges(t *testing.T) {
	s := numbered(t, 20, false, LoadOptions{})
	for _, adds := range []bool{false, true} {
		var mark uint64
		view(t, s, func(tx *Tx) (err error) {
			mark, err = tx.LastCommit()
			return err
		})
		p := must.Get(s.NewPatch(PatchOptions{most: noneInUpdate}))(t)
		must.Do(t, p.AddNode(Node{ID: "é3", Label: "new"}))
		if adds {
			must.Do(t, p.AddEdge("é0", "é9", 1))
		}
		if stats := must.Get(p.Commit(t.Context()))(t); !stats.Rewritten {
			t.Fatal("it is not written again")
		}
		view(t, s, func(tx *Tx) error {
			c, err := tx.ChangesSince(mark)
			if err == nil && c.Edges().All != adds {
				t.Errorf("added edges: %v, touched edges: %v", adds, c.Edges().All)
			}
			return err
		})
	}
}
