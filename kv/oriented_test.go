package kv

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
)

// arcForms are all that a graph can be.
var arcForms = []codec.ArcForm{{Directed: false, Weighted: false}, {Directed: true, Weighted: false},
	{Directed: false, Weighted: true}, {Directed: true, Weighted: true}}

// An arcModel is a directed or weighted graph as a map; an undirected edge is two arcs.
type arcModel struct {
	form  codec.ArcForm
	nodes int
	arcs  map[edge]float32
}

func (m *arcModel) set(u, v NodeID, w float32) {
	for _, e := range []edge{{u, v}, {v, u}} {
		if m.arcs[e] = w; w == 0 {
			delete(m.arcs, e)
		}
		if m.form.Directed {
			break
		}
	}
}

// lists are the neighbours and their weights, straight from the definition.
func (m *arcModel) lists() (neighbors [][]NodeID, weights [][]float32) {
	neighbors, weights = make([][]NodeID, m.nodes), make([][]float32, m.nodes)
	for v := range NodeID(m.nodes) {
		for u := range NodeID(m.nodes) {
			out, in := m.arcs[edge{v, u}], m.arcs[edge{u, v}]
			w := out
			if m.form.Directed {
				w = float32(float64(out) + float64(in))
			}
			if w == 0 {
				continue
			}
			neighbors[v] = append(neighbors[v], u)
			if m.form.Weighted {
				weights[v] = append(weights[v], w)
			}
		}
	}
	return neighbors, weights
}

func (m *arcModel) verify(t *testing.T, tx *Tx) {
	t.Helper()
	neighbors, weights := m.lists()
	verifyLists(t, tx, neighbors)
	if want := int64(len(m.arcs)); tx.Shape().Arcs != want || tx.Shape().Directed != m.form.Directed ||
		tx.Shape().Weighted != m.form.Weighted {
		t.Fatalf("got %d arcs, directed %v, weighted %v, want %d of %+v", tx.Shape().Arcs, tx.Shape().Directed,
			tx.Shape().Weighted, want, m.form)
	}
	m.verifyWeights(t, tx.Undirected(), neighbors, weights)
	for v := range NodeID(m.nodes) {
		var got []Arc
		for a, err := range tx.Undirected().Arcs(v) {
			must.Do(t, err)
			got = append(got, a)
		}
		var want []Arc
		for _, u := range neighbors[v] {
			want = append(want, Arc{Neighbor: u, Out: m.arcs[edge{v, u}], In: m.arcs[edge{u, v}]})
		}
		if !slices.Equal(got, want) {
			t.Fatalf("Arcs(%d) of %+v: got %v, want %v", v, m.form, got, want)
		}
	}
}

// verifyWeights compares the lists of blocks, and their weights.
func (m *arcModel) verifyWeights(t *testing.T, o *Undirected, neighbors [][]NodeID, weights [][]float32) {
	t.Helper()
	blocks := must.Get(o.AdjacencyBlocks())(t)
	if o.NumNodes() != m.nodes || o.Weighted() != m.form.Weighted {
		t.Fatalf("got %d nodes, weighted %v", o.NumNodes(), o.Weighted())
	}
	var buf Adjacency
	for _, r := range blocks {
		must.Do(t, o.ReadAdjacency(r, &buf))
		for v := r.First; v < r.End; v++ {
			if got := buf.Of(v); !slices.Equal(got, neighbors[v]) {
				t.Fatalf("node %d: got %v, want %v", v, got, neighbors[v])
			}
			if !m.form.Weighted {
				if buf.Weights != nil {
					t.Fatalf("got weights %v of an unweighted graph", buf.Weights)
				}
				continue
			}
			if got := buf.Weights[buf.Offsets[v-r.First]:buf.Offsets[v-r.First+1]]; !slices.Equal(got, weights[v]) {
				t.Fatalf("node %d: got weights %v, want %v", v, got, weights[v])
			}
		}
	}
}

// arcStore makes an empty store of a form.
func arcStore(t *testing.T, f codec.ArcForm) *Store {
	t.Helper()
	s := must.Get(Create(filepath.Join(t.TempDir(), "graph"), Options{MemoryBudget: minMemoryBudget}))(t)
	t.Cleanup(func() { must.Do(t, s.Close()) })
	must.Do(t, s.Update(func(tx *Tx) error {
		cat, err := tx.change()
		if err == nil {
			cat.Directed, cat.Weighted = f.Directed, f.Weighted
		}
		return err
	}))
	return s
}

// change makes one random change to the model and the transaction.
func (m *arcModel) change(r *rand.Rand, tx *Tx) error {
	if m.nodes < 2 || r.IntN(12) == 0 {
		_, err := tx.AddNode(Node{ID: fmt.Sprint(m.nodes)})
		m.nodes++
		return err
	}
	u, v := NodeID(r.IntN(m.nodes)), NodeID(r.IntN(min(m.nodes, 6)))
	if r.IntN(2) == 0 {
		u, v = v, u
	}
	var got, want error
	now := m.arcs[edge{u, v}]
	switch r.IntN(3) {
	case 0:
		got = tx.AddEdge(u, v)
		switch {
		case u == v:
			want = ErrInvalidEdge
		case now != 0:
			want = ErrExists
		default:
			m.set(u, v, 1)
		}
	case 1:
		w := []float32{1, 2, 0.5, r.Float32() + 0.1, 3e38}[r.IntN(5)]
		if !m.form.Weighted {
			w = 1
		}
		got = setEdge(tx, u, v, w)
		sum := float32(float64(w) + float64(m.arcs[edge{v, u}]))
		if u == v || m.form.Directed && !codec.ValidWeight(sum) {
			want = ErrInvalidEdge
		} else {
			m.set(u, v, w)
		}
	default:
		got = tx.RemoveEdge(u, v)
		switch {
		case u == v:
			want = ErrInvalidEdge
		case now == 0:
			want = ErrNotFound
		default:
			m.set(u, v, 0)
		}
	}
	if !errors.Is(got, want) {
		return fmt.Errorf("%+v, nodes %d and %d, weight %v: got %w, want %v", m.form, u, v, now, got, want)
	}
	return nil
}

// TestArcsAgainstModel changes arcs at random, in the store and in a map, and compares all reads within transactions,
// after them, and after compacting.
func TestArcsAgainstModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(longtest.Of(8, 48)) {
		r := rand.New(rand.NewPCG(seed, 5))
		m := &arcModel{form: arcForms[seed%4], arcs: map[edge]float32{}}
		s := arcStore(t, m.form)
		for round := range 8 {
			must.Do(t, s.Update(func(tx *Tx) error {
				for range r.IntN(60) {
					if err := m.change(r, tx); err != nil {
						return fmt.Errorf("seed %d: %w", seed, err)
					}
				}
				if round%2 == 0 {
					m.verify(t, tx)
				}
				return nil
			}))
			if r.IntN(2) == 0 {
				must.Do(t, s.Compact(t.Context(), nil))
			}
			must.Do(t, s.View(func(tx *Tx) error { m.verify(t, tx); return nil }))
			checkClean(t, s)
		}
	}
}

// arcHub is a store with a node whose list takes two parts, compacted, and its model; the hub's changes are deltas.
func arcHub(t *testing.T, f codec.ArcForm) (*Store, map[NodeID]codec.Arc) {
	t.Helper()
	const leaves = 17_000 // whose weights take two parts
	s, want := arcStore(t, f), map[NodeID]codec.Arc{}
	update := func(fn func(tx *Tx) error) {
		t.Helper()
		must.Do(t, s.Update(fn))
	}
	set := func(tx *Tx, v NodeID, w float32) error {
		a := want[v]
		if a.Out = w; !f.Directed {
			a.In = w
		}
		want[v] = a
		return setEdge(tx, 0, v, w)
	}
	for first := 0; first <= leaves; first += 500 {
		update(func(tx *Tx) error {
			for v := first; v < min(first+500, leaves+1); v++ {
				if _, err := tx.AddNode(Node{ID: fmt.Sprint(v)}); err != nil {
					return err
				}
				if v == 0 || v%100 == 7 {
					continue
				}
				must.Do(t, set(tx, NodeID(v), float32(v)))
			}
			return nil
		})
	}
	must.Do(t, s.Compact(t.Context(), nil))
	update(func(tx *Tx) error {
		for v := NodeID(50); v < leaves; v += 50 {
			must.Do(t, set(tx, v, 0.5))
		}
		for v := NodeID(107); v < leaves; v += 300 {
			must.Do(t, set(tx, v, 0.25))
		}
		for v := NodeID(61); v < leaves; v += 61 {
			if want[v] == (codec.Arc{}) {
				continue
			}
			delete(want, v)
			must.Do(t, tx.RemoveEdge(0, v))
		}
		return nil
	})
	return s, want
}

func TestArcsOfHub(t *testing.T) {
	t.Parallel()
	for _, f := range []codec.ArcForm{{Directed: false, Weighted: true}, {Directed: true, Weighted: true}} {
		s, want := arcHub(t, f)
		for range 2 {
			checkClean(t, s)
			must.Do(t, s.View(func(tx *Tx) error {
				blocks := must.Get(tx.AdjacencyBlocks())(t)
				var buf Adjacency
				must.Do(t, tx.Undirected().ReadAdjacency(blocks[0], &buf))
				next := 0
				for a, err := range tx.Undirected().Arcs(0) {
					must.Do(t, err)
					if want[a.Neighbor] != (codec.Arc{Out: a.Out, In: a.In}) {
						t.Fatalf("%+v: got %+v, want %+v", f, a, want[a.Neighbor])
					}
					if buf.Of(0)[next] != a.Neighbor || buf.Weights[next] != a.Out {
						t.Fatalf("%+v: ReadAdjacency: got %d, %v, want %+v", f, buf.Of(0)[next], buf.Weights[next], a)
					}
					next++
				}
				degree, err := tx.Degree(0)
				if err != nil || next != len(want) || len(buf.Of(0)) != next || degree != next {
					t.Fatalf("%+v: got %d and %d arcs and degree %d, %v, want %d", f, next, len(buf.Of(0)), degree, err, len(want))
				}
				for v := NodeID(1); int(v) < tx.NumNodes(); v += 37 {
					_, there := want[v]
					for _, e := range []edge{{0, v}, {v, 0}} {
						if has, err := hasEdge(tx, e.U, e.V); err != nil || has != there {
							t.Fatalf("%+v: HasEdge(%d, %d): got %v, %v, want %v", f, e.U, e.V, has, err, there)
						}
					}
				}
				return nil
			}))
			must.Do(t, s.Compact(t.Context(), nil))
		}
	}
}
