package kv

import (
	"errors"
	"maps"
	"slices"

	"pgregory.net/rapid"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// A modelHistory has the commits of a store, as a model keeps them.
type modelHistory struct {
	now     modelCommit // that is being made
	commits []modelCommit
}

// A modelCommit has the nodes that a commit touched, and the number of nodes before it.
type modelCommit struct {
	number            uint64
	nodes             int
	rewritten         bool // by a Patch: all may be touched
	edges             modelTouched
	columns, matrices map[string]modelTouched
}

// modelTouched are nodes; all, if it has allNodes.
type modelTouched map[NodeID]bool

const allNodes = NoNode

func newModelCommit(nodes int) modelCommit {
	return modelCommit{nodes: nodes, edges: modelTouched{}, columns: map[string]modelTouched{},
		matrices: map[string]modelTouched{}}
}

func (c modelCommit) clone() modelCommit {
	d := c
	d.edges, d.columns, d.matrices = maps.Clone(c.edges), map[string]modelTouched{}, map[string]modelTouched{}
	for name, set := range c.columns {
		d.columns[name] = maps.Clone(set)
	}
	for name, set := range c.matrices {
		d.matrices[name] = maps.Clone(set)
	}
	return d
}

// end ends a commit, of the number that the store gave it.
func (h *modelHistory) end(s *Store) error {
	return s.View(func(tx *Tx) error {
		number, err := tx.LastCommit()
		h.now.number = number
		h.commits = append(slices.Clip(h.commits), h.now)
		h.now = newModelCommit(tx.NumNodes())
		return err
	})
}

func touchModel(sets map[string]modelTouched, name string, v NodeID) {
	if sets[name] == nil {
		sets[name] = modelTouched{}
	}
	sets[name][v] = true
}

// check compares the changes since every commit with the model's.
func (h *modelHistory) check(t *rapid.T, tx *Tx) error {
	last := must.Get(tx.LastCommit())(t)
	commits := append(slices.Clone(h.commits), h.now) // in an Update, what it did so far
	for mark := range last + 3 {
		c, err := tx.ChangesSince(mark)
		if mark > last {
			if !errors.Is(err, ErrNotTracked) {
				t.Fatalf("changes since %d of %d: got %v, want ErrNotTracked", mark, last, err)
			}
			continue
		}
		if err != nil {
			return err
		}
		want := newModelCommit(tx.NumNodes())
		for _, commit := range slices.Backward(commits) {
			if commit.number <= mark && commit.number > 0 {
				break
			}
			want.nodes = commit.nodes
			want.rewritten = want.rewritten || commit.rewritten
			maps.Copy(want.edges, commit.edges)
			for name, set := range commit.columns {
				for v := range set {
					touchModel(want.columns, name, v)
				}
			}
			for name, set := range commit.matrices {
				for v := range set {
					touchModel(want.matrices, name, v)
				}
			}
		}
		if c.NumNodes != want.nodes {
			t.Fatalf("since %d: got %d nodes, want %d", mark, c.NumNodes, want.nodes)
		}
		want.compare(t, tx, mark, "edges", c.Edges(), want.edges)
		for _, name := range []string{LabelColumn, "int", "string", "class", "bool"} {
			want.compare(t, tx, mark, name, c.Column(name), want.columns[name])
		}
		want.compare(t, tx, mark, "m", c.Matrix("m"), want.matrices["m"])
	}
	return nil
}

func (c modelCommit) compare(t *rapid.T, tx *Tx, mark uint64, name string, got *Touched, want modelTouched) {
	if got.All != want[allNodes] && (!got.All || !c.rewritten) {
		t.Fatalf("%s since %d: got all nodes %t, want %t", name, mark, got.All, want[allNodes])
	}
	if got.All {
		return
	}
	nodes := slices.Sorted(maps.Keys(want))
	if listed := slices.Collect(got.Nodes()); !slices.Equal(listed, nodes) {
		t.Fatalf("%s since %d: got %v, want %v", name, mark, listed, nodes)
	}
	for v := range NodeID(tx.NumNodes()) {
		if got.Has(v) != want[v] {
			t.Fatalf("%s since %d: node %d: got %t, want %t", name, mark, v, got.Has(v), want[v])
		}
	}
}

// checkValues compares the degrees and labels of all nodes with the model's.
func (m *model) checkValues(t *rapid.T, tx *Tx) error {
	all := Range{End: NodeID(len(m.ids))}
	degrees, labels := make([]uint32, all.Len()), make([]Class, all.Len())
	if err := errors.Join(tx.ReadDegrees(all, degrees), tx.ReadClasses(LabelColumn, all, labels)); err != nil {
		return err
	}
	want := map[NodeID]uint32{}
	for e := range m.edges {
		want[e.U]++
		want[e.V]++
	}
	for v := range NodeID(len(m.ids)) {
		label := Value{}
		if class := labels[v]; class != NoClass {
			label = ValueOf(tx.Classes()[class])
		}
		if degrees[v] != want[v] || label != m.value(LabelColumn, v) {
			t.Fatalf("node %d: got degree %d and label %v, want %d and %v", v, degrees[v], label, want[v],
				m.value(LabelColumn, v))
		}
	}
	return nil
}
