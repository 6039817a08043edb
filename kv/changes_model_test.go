package kv

import (
	"errors"
	"maps"
	"slices"

	"pgregory.net/rapid"
)

// A modelHistory is what a model keeps of the commits of its store.
type modelHistory struct {
	now     modelCommit // that is being made
	commits []modelCommit

	tracking          bool
	since             uint64
	columns, matrices map[string]uint64 // the commits since which their changes are kept
}

// A modelCommit is what a commit touched, and the number of nodes before it.
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
	return modelCommit{nodes: nodes, edges: modelTouched{}, columns: map[string]modelTouched{}, matrices: map[string]modelTouched{}}
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

// track changes what is tracked, in a store and in the model.
func (h *modelHistory) track(t *rapid.T, tx *Tx) error {
	last, err := tx.LastCommit()
	if err != nil {
		return err
	}
	upTo := uint64(0)
	if rapid.Bool().Draw(t, "forget") {
		upTo = rapid.Uint64Range(0, last).Draw(t, "up to")
	}
	subset := func(names []string) (some []string) {
		for _, name := range names {
			if rapid.Bool().Draw(t, "tracked "+name) {
				some = append(some, name)
			}
		}
		return some
	}
	columns, matrices := subset([]string{LabelColumn, "int", "string", "class"}), subset([]string{"m"})
	if !h.tracking {
		h.tracking, h.since = true, last
	}
	h.since = max(h.since, upTo)
	renew := func(sets map[string]uint64, names []string) map[string]uint64 {
		renewed := map[string]uint64{}
		for _, name := range names {
			renewed[name] = last
			if since, ok := sets[name]; ok {
				renewed[name] = since
			}
		}
		return renewed
	}
	h.columns, h.matrices = renew(h.columns, columns), renew(h.matrices, matrices)
	return tx.TrackChanges("test", columns, matrices, upTo)
}

// check compares the changes since every commit with the model's.
func (h *modelHistory) check(t *rapid.T, tx *Tx) error {
	last, err := tx.LastCommit()
	if err != nil {
		return err
	}
	commits := append(slices.Clone(h.commits), h.now) // in an Update, what it did so far
	for mark := range last + 3 {
		c, err := tx.ChangesSince(mark)
		if !h.tracking || mark < h.since || mark > last {
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
			got, err := c.Column(name)
			want.compareNamed(t, tx, mark, name, h.columns, got, err, want.columns[name])
		}
		got, err := c.Matrix("m")
		want.compareNamed(t, tx, mark, "m", h.matrices, got, err, want.matrices["m"])
	}
	return nil
}

func (c modelCommit) compareNamed(t *rapid.T, tx *Tx, mark uint64, name string, since map[string]uint64, got *Touched, err error, want modelTouched) {
	if first, ok := since[name]; !ok || mark < first {
		if !errors.Is(err, ErrNotTracked) {
			t.Fatalf("%s since %d: got %v, want ErrNotTracked", name, mark, err)
		}
		return
	}
	if err != nil {
		t.Fatalf("%s since %d: %v", name, mark, err)
	}
	c.compare(t, tx, mark, name, got, want)
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

// checkValues compares the degrees and labels of all nodes, which the store keeps, with the model's.
func (m *model) checkValues(t *rapid.T, tx *Tx) error {
	degrees, ok, err := tx.AllDegrees(len(m.ids) + 1)
	if err != nil {
		return err
	}
	if m.history.tracking && !ok && !tx.write { // an Update may have begun to track
		t.Fatal("got no degrees, and changes are kept")
	}
	want := map[NodeID]uint32{}
	for e := range m.edges {
		want[e.U]++
		want[e.V]++
	}
	for v := range NodeID(len(m.ids) + 1) {
		if ok && degrees.Of(v) != want[v] {
			t.Fatalf("node %d: got degree %d, want %d", v, degrees.Of(v), want[v])
		}
	}
	labels, ok, err := tx.AllLabels(len(m.ids) + 1)
	if err != nil {
		return err
	}
	if _, tracked := m.history.columns[LabelColumn]; tracked && !ok && !tx.write {
		t.Fatal("got no labels, and changes are kept")
	}
	for v := range NodeID(len(m.ids) + 1) {
		if !ok {
			break
		}
		got := Value{}
		if class := labels.Of(v); class != NoClass {
			got = StringValue(tx.Classes()[class])
		}
		if want := m.value(LabelColumn, v); got != want {
			t.Fatalf("node %d: got label %v, want %v", v, got, want)
		}
	}
	return nil
}
