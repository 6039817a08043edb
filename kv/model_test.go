package kv

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"iter"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// A model is a store in Go maps.
type model struct {
	ids     []string // of a removed node empty
	columns map[string]Kind
	values  map[string][]Value // by column, then node; shorter where the rest is null
	rows    map[NodeID][]float32
	made    bool // the matrix
	edges   map[edge]bool
	space   map[string]string
	docs    map[string]int
	history modelHistory
}

const modelWidth = 3

func newModel() *model {
	return &model{
		columns: map[string]Kind{LabelColumn: KindClass}, values: map[string][]Value{}, rows: map[NodeID][]float32{},
		edges: map[edge]bool{}, space: map[string]string{}, docs: map[string]int{},
		history: modelHistory{now: newModelCommit(0)},
	}
}

func (m *model) clone() *model {
	c := *m
	c.ids, c.columns, c.rows = slices.Clone(m.ids), maps.Clone(m.columns), maps.Clone(m.rows)
	c.edges, c.space, c.docs = maps.Clone(m.edges), maps.Clone(m.space), maps.Clone(m.docs)
	c.values = map[string][]Value{}
	for name, values := range m.values {
		c.values[name] = slices.Clone(values)
	}
	c.history.now = m.history.now.clone()
	return &c
}

func (m *model) set(column string, v NodeID, value Value) {
	for len(m.values[column]) <= int(v) {
		m.values[column] = append(m.values[column], Value{})
	}
	m.values[column][v] = value
}

func (m *model) value(column string, v NodeID) Value {
	if int(v) < len(m.values[column]) {
		return m.values[column][v]
	}
	return Value{}
}

// drawValue draws a value that SetValue takes for a column of the kind.
func drawValue(t *rapid.T, k Kind) Value {
	if k == KindClass {
		return ValueOf(rapid.SampledFrom([]string{"10", "9", "Theory", "Ж"}).Draw(t, "class"))
	}
	return drawCell(t, k)
}

// change makes one random change to the store and the model. An error is one the model foresaw.
func (m *model) change(t *rapid.T, tx *Tx) error {
	present := m.present()
	node := func() NodeID { return rapid.SampledFrom(present).Draw(t, "node") }
	action := rapid.IntRange(0, 10).Draw(t, "action")
	if len(present) == 0 {
		action = 0
	}
	switch action {
	case 0, 1:
		// Few ids, so that some come again, and in a store of integers some are those that a dense load would give.
		id := rapid.SampledFrom([]string{"n", "", ""}).Draw(t, "prefix") + fmt.Sprint(rapid.IntRange(0, 40).Draw(t, "id"))
		n := Node{ID: id, Label: rapid.SampledFrom([]string{"", "10", "new"}).Draw(t, "label")}
		v, err := tx.AddNode(n)
		if slices.Contains(m.ids, id) {
			if !errors.Is(err, ErrExists) {
				return fmt.Errorf("adding node %s again: got %w, want ErrExists", id, err)
			}
			return nil
		}
		if err != nil {
			return err
		}
		if int(v) != len(m.ids) {
			return fmt.Errorf("got node number %d, want %d", v, len(m.ids))
		}
		m.ids = append(m.ids, n.ID)
		if n.Label != "" {
			touchModel(m.history.now.columns, LabelColumn, v)
			m.set(LabelColumn, v, ValueOf(n.Label))
		}
	case 2:
		kind := rapid.SampledFrom(columnKinds).Draw(t, "kind")
		err := tx.AddColumn(kind.String(), kind)
		if _, ok := m.columns[kind.String()]; ok != errors.Is(err, ErrExists) {
			return fmt.Errorf("adding column %s: %w", kind, err)
		}
		if err == nil {
			touchModel(m.history.now.columns, kind.String(), allNodes)
		}
		m.columns[kind.String()] = kind
	case 3, 4:
		column := rapid.SampledFrom(slices.Sorted(maps.Keys(m.columns))).Draw(t, "column")
		v, value := node(), drawValue(t, m.columns[column])
		must.Do(t, tx.SetValue(v, column, value))
		if m.value(column, v) != value {
			touchModel(m.history.now.columns, column, v)
		}
		m.set(column, v, value)
	case 5:
		v, row := node(), rapid.SliceOfN(rapid.Float32Range(0, 1), modelWidth, modelWidth).Draw(t, "row")
		if _, err := tx.Matrix("m"); errors.Is(err, ErrNotFound) {
			return nil // until a Bulk makes it
		}
		touchModel(m.history.now.matrices, "m", v)
		m.rows[v] = row
		return tx.SetRow("m", v, row)
	case 6, 7:
		u, v := node(), node()
		e := edge{min(u, v), max(u, v)}
		switch {
		case u == v:
			if err := tx.AddEdge(u, v); !errors.Is(err, ErrInvalidEdge) {
				return fmt.Errorf("a self loop: got %v, want ErrInvalidEdge", err)
			}
		case m.edges[e]:
			delete(m.edges, e)
			m.history.now.edges[u], m.history.now.edges[v] = true, true
			return tx.RemoveEdge(u, v)
		default:
			m.edges[e] = true
			m.history.now.edges[u], m.history.now.edges[v] = true, true
			return tx.AddEdge(u, v)
		}
	case 8:
		key := rapid.SampledFrom([]string{"a", "b", "ba"}).Draw(t, "key")
		if _, ok := m.space[key]; ok {
			delete(m.space, key)
			return tx.Space("s").Delete([]byte(key))
		}
		m.space[key] = rapid.String().Draw(t, "value")
		return tx.Space("s").Put([]byte(key), []byte(m.space[key]))
	case 9:
		key := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "document")
		m.docs[key]++
		return tx.Documents("d").Put(key, m.docs[key])
	case 10:
		v := node()
		m.remove(v)
		return tx.RemoveNode(v)
	}
	return nil
}

// present are the nodes that are there.
func (m *model) present() []NodeID {
	var nodes []NodeID
	for v, id := range m.ids {
		if id != "" {
			nodes = append(nodes, NodeID(v))
		}
	}
	return nodes
}

// remove removes a node.
func (m *model) remove(v NodeID) {
	now := m.history.now
	m.ids[v] = ""
	for name := range m.values {
		if !m.value(name, v).IsNull() {
			touchModel(now.columns, name, v)
			m.set(name, v, Value{})
		}
	}
	if m.rows[v] != nil {
		touchModel(now.matrices, "m", v)
	}
	delete(m.rows, v)
	now.edges[v] = true
	for e := range m.edges {
		if e.U == v || e.V == v {
			now.edges[e.U], now.edges[e.V] = true, true
		}
	}
	maps.DeleteFunc(m.edges, func(e edge, _ bool) bool { return e.U == v || e.V == v })
}

// bulk replaces the matrix and a column, in random order of rows.
func (m *model) bulk(t *rapid.T, s *Store, commit bool) error {
	b := must.Get(s.Bulk(context.Background()))(t)
	defer b.Abort()
	kind := rapid.SampledFrom(columnKinds).Draw(t, "kind")
	column := must.Get(b.Column(kind.String(), kind))(t)
	matrix := must.Get(b.Matrix("m", []string{"a", "b", "c"}))(t)
	column.Sort()
	matrix.Sort()
	next := m.clone()
	next.columns[kind.String()] = kind
	next.values[kind.String()] = nil
	next.rows, next.made = map[NodeID][]float32{}, true
	all := make([]NodeID, len(m.ids))
	for v := range all {
		all[v] = NodeID(v)
	}
	for _, v := range rapid.Permutation(all).Draw(t, "order") {
		if rapid.IntRange(0, 4).Draw(t, "left out") == 0 {
			continue
		}
		value, row := drawValue(t, kind), []float32{float32(v), 0, 1}
		must.Do(t, errors.Join(column.Put(v, value), matrix.Put(v, row)))
		if m.ids[v] != "" { // what is put for a removed node is dropped
			next.set(kind.String(), v, value)
			next.rows[v] = row
		}
	}
	if !commit {
		return nil
	}
	touchModel(m.history.now.columns, kind.String(), allNodes)
	touchModel(m.history.now.matrices, "m", allNodes)
	next.history = m.history
	*m = *next
	return b.Commit(nil)
}

// check compares everything the store says with the model.
func (m *model) check(t *rapid.T, tx *Tx) error {
	if tx.NumNodes() != len(m.ids) || tx.Shape().Edges != int64(len(m.edges)) {
		t.Fatalf("got %d nodes and %d edges, want %d and %d", tx.NumNodes(), tx.Shape().Edges, len(m.ids), len(m.edges))
	}
	must.Do(t, m.checkIDs(t, tx))
	must.Do(t, m.checkNodes(t, tx))
	got := map[edge]bool{}
	for e, err := range allEdges(tx) {
		must.Do(t, err)
		got[e] = true
	}
	if !maps.Equal(got, m.edges) {
		t.Fatalf("got edges %v, want %v", got, m.edges)
	}
	entries := map[string]string{}
	for e, err := range tx.Space("s").Ascend(nil) {
		must.Do(t, err)
		entries[string(e.Key)] = string(e.Value)
	}
	if !maps.Equal(entries, m.space) {
		t.Fatalf("got entries %q, want %q", entries, m.space)
	}
	docs := map[string]int{}
	for key, err := range tx.Documents("d").Keys() {
		must.Do(t, err)
		var n int
		must.Do(t, tx.Documents("d").Get(key, &n))
		docs[key] = n
	}
	if !maps.Equal(docs, m.docs) {
		t.Fatalf("got documents %v, want %v", docs, m.docs)
	}
	must.Do(t, errors.Join(m.history.check(t, tx), m.checkValues(t, tx)))
	return m.checkMatrix(t, tx)
}

// checkNodes compares what lookups of single nodes say with the model.
func (m *model) checkNodes(t *rapid.T, tx *Tx) error {
	for name := range m.columns {
		must.Do(t, m.checkColumn(t, tx, name))
	}
	want := make([][]NodeID, len(m.ids))
	for e := range m.edges {
		want[e.U], want[e.V] = append(want[e.U], e.V), append(want[e.V], e.U)
	}
	for _, v := range m.present() {
		slices.Sort(want[v])
		var got []NodeID
		for u, err := range tx.Neighbors(v) {
			must.Do(t, err)
			got = append(got, u)
		}
		degree, err := tx.Degree(v)
		if err != nil || !slices.Equal(got, want[v]) || degree != len(got) {
			t.Fatalf("node %d: got neighbors %d and degree %d, %v; want neighbors %d", v, got, degree, err, want[v])
		}
		for _, u := range m.present() {
			has, err := hasEdge(tx, v, u)
			if err != nil || has != slices.Contains(want[v], u) {
				t.Fatalf("edge %d/%d: got %v, %v; want neighbors %d", v, u, has, err, want[v])
			}
		}
	}
	return nil
}

// checkIDs compares the ids, places and removed nodes with the model.
func (m *model) checkIDs(t *rapid.T, tx *Tx) error {
	present := m.present()
	if tx.Shape().Present != len(present) || tx.NumNodes() != len(m.ids) {
		t.Fatalf("got %d nodes that are there and %d removed ones, want %d of %d", tx.Shape().Present,
			tx.NumNodes()-tx.Shape().Present, len(present), len(m.ids))
	}
	removed := must.Get(tx.Removed())(t)
	ids := map[NodeID]string{}
	for v, want := range m.ids {
		v := NodeID(v)
		got, err := tx.ID(v)
		if removed.Has(v) != (want == "") || want == "" != errors.Is(err, ErrNotFound) || got != want {
			t.Fatalf("id of %d: got %q, %v, removed %v; want %q", v, got, err, removed.Has(v), want)
		}
		if want == "" {
			if _, err := tx.Degree(v); !errors.Is(err, ErrNotFound) {
				t.Fatalf("the degree of a removed node: got %v, want ErrNotFound", err)
			}
			continue
		}
		ids[v] = want
		if back, err := tx.Node(want); err != nil || back != v {
			t.Fatalf("node %q: got %d, %v; want %d", want, back, err, v)
		}
	}
	for k := range 41 {
		if _, err := tx.Node(fmt.Sprint(k)); errors.Is(err, ErrNotFound) == slices.Contains(m.ids, fmt.Sprint(k)) {
			t.Fatalf("node %d: got %v, and the ids are %q", k, err, m.ids)
		}
	}
	nextID, stop := iter.Pull2(tx.IDs())
	defer stop()
	count := 0
	places := must.Get(tx.Places())(t)
	for v, err := range tx.InFileOrder() {
		must.Do(t, err)
		position := must.Get(places.Of(v))(t)
		at := must.Get(places.NodeAt(position))(t)
		if id, err := places.ID(position); err != nil || at != v || id.String() != ids[v] {
			t.Fatalf("place %d of node %d: got node %d with id %v, %v, want id %q", position, v, at, id, err, ids[v])
		}
		if id, err, ok := nextID(); err != nil || !ok || id != ids[v] {
			t.Fatalf("node %d in file order: got id %q, %v, want %q", v, id, err, ids[v])
		}
		count++
	}
	_, err, more := nextID()
	if count != len(present) || more {
		t.Fatalf("got %d nodes in file order, more ids %v, want %d", count, more, len(present))
	}
	return err
}

func (m *model) checkColumn(t *rapid.T, tx *Tx, name string) error {
	r := must.Get(tx.Reader(name))(t)
	for v := range m.ids {
		want := m.value(name, NodeID(v))
		direct, err := tx.Value(NodeID(v), name)
		if m.ids[v] == "" && errors.Is(err, ErrNotFound) {
			direct, err = Value{}, nil
		}
		if err != nil {
			return err
		}
		got := must.Get(r.At(NodeID(v)))(t)
		if direct != want || got != want {
			t.Fatalf("%s of %d: got %v by Value and %v by Reader, want %v", name, v, direct, got, want)
		}
		block, err := r.Block(NodeID(v))
		if err != nil {
			return err
		}
		least, greatest := block.Bounds()
		if !want.IsNull() && (want.Compare(least) < 0 || want.Compare(greatest) > 0) {
			t.Fatalf("%s of %d: %v is not within %v and %v", name, v, want, least, greatest)
		}
	}
	if m.columns[name] != KindClass {
		return nil
	}
	classes := make([]Class, len(m.ids))
	must.Do(t, tx.ReadClasses(name, Range{End: NodeID(tx.NumNodes())}, classes))
	for v, class := range classes {
		got := Value{}
		if class != NoClass {
			got = ValueOf(tx.Classes()[class])
		}
		if want := m.value(name, NodeID(v)); got != want {
			t.Fatalf("%s of %d: ReadClasses got %v, want %v", name, v, got, want)
		}
	}
	return nil
}

func (m *model) checkMatrix(t *rapid.T, tx *Tx) error {
	matrix, err := tx.Matrix("m")
	if errors.Is(err, ErrNotFound) && len(m.rows) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	rows := make([]float32, len(m.ids)*modelWidth)
	must.Do(t, matrix.Read(Range{First: 0, End: NodeID(len(m.ids))}, 0, modelWidth, rows))
	for v := range m.ids {
		got, want := rows[v*modelWidth:(v+1)*modelWidth], m.rows[NodeID(v)]
		if want == nil && !math.IsNaN(float64(got[0])) || want != nil && !slices.Equal(got, want) {
			t.Fatalf("row %d: got %v, want %v", v, got, want)
		}
	}
	return nil
}

// TestModel makes random changes to a store and to Go maps; both agree inside the Update, and after each reopening.
func TestModel(t *testing.T) {
	t.Parallel()
	// A run opens and closes stores; rapid's hundred would take a quarter of a minute.
	checks := flag.Lookup("rapid.checks")
	before := checks.Value.String()
	if before == checks.DefValue {
		must.Do(t, checks.Value.Set("25"))
		defer func() { must.Do(t, checks.Value.Set(before)) }()
	}
	dir := t.TempDir()
	failure := errors.New("failure")
	run := 0
	outer := t
	rapid.Check(t, func(t *rapid.T) {
		run++
		opt := Options{MemoryBudget: minMemoryBudget}
		s, err := Create(filepath.Join(dir, fmt.Sprint(run)), opt)
		must.Do(t, err)
		defer func() { must.Do(t, errors.Join(s.Close(), os.RemoveAll(s.Dir()))) }()
		// move goes on with another directory that holds the same store.
		move := func(dir string) error {
			must.Do(t, errors.Join(s.Close(), os.RemoveAll(s.Dir())))
			next, err := Open(dir, opt)
			if err == nil {
				s = next
			}
			return err
		}
		var backups [][]byte // a chain
		m := newModel()
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			older, before := s.Begin(), m.clone()
			switch step := rapid.IntRange(0, 15).Draw(t, "step"); step {
			case 0, 1, 2, 3, 4, 5: // changes, some given up
				next := m.clone()
				keep := rapid.IntRange(0, 4).Draw(t, "keep") > 0
				err = s.Update(func(tx *Tx) error {
					for range rapid.IntRange(1, 20).Draw(t, "changes") {
						must.Do(t, next.change(t, tx))
					}
					beside := func(other *Tx) error { return m.check(t, other) }
					must.Do(t, errors.Join(next.check(t, tx), s.View(beside)))
					if !keep {
						return failure
					}
					return nil
				})
				if keep && err == nil {
					m = next
					err = m.history.end(s)
				} else if errors.Is(err, failure) {
					err = nil
				}
			case 6, 7:
				if err = m.bulk(t, s, step == 6); err == nil && step == 6 {
					err = m.history.end(s)
				}
			case 8:
				err = s.Compact(context.Background(), nil)
				tx := s.Begin()
				if c := tx.cat; err == nil && (c.EdgeDeltas != 0 || c.LoadedNodes != c.Nodes) {
					t.Fatalf("after Compact: got %d edge deltas and %d of %d nodes in blocks", c.EdgeDeltas, c.LoadedNodes, c.Nodes)
				}
				tx.Close()
			case 13, 14, 15:
				err = m.patch(t, s)
			case 9:
				if err = s.Close(); err == nil {
					s, err = Open(s.Dir(), opt)
				}
			case 10: // a crash
				err = move(copyAtRest(outer, s.Dir()))
			case 11, 12:
				backups = append(backups, backupSince(t, s, backups))
				if step == 12 {
					to := filepath.Join(outer.TempDir(), "restored")
					_, err = Restore(context.Background(), to, readers(backups...), Options{MemoryBudget: minMemoryBudget}, nil)
					if err == nil {
						err = move(to)
					}
				}
			}
			if err == nil {
				err = s.View(func(tx *Tx) error { return m.check(t, tx) })
			}
			if err == nil && older.Err() == nil { // its store was not closed
				err = errors.Join(before.history.check(t, older), before.checkValues(t, older), before.checkNodes(t, older))
			}
			older.Close()
			must.Do(t, err)
		}
		must.Do(t, s.Check(context.Background(), nil, func(p Problem) { t.Errorf("%s: %s", p.Where, p.What) }))
	})
}

// backupSince makes a full backup, or one since the last of a chain.
func backupSince(t *rapid.T, s *Store, chain [][]byte) []byte {
	var opt BackupOptions
	if len(chain) > 0 {
		opt.Since = bytes.NewReader(chain[len(chain)-1])
	}
	var out bytes.Buffer
	must.Get(s.Backup(context.Background(), &out, opt))(t)
	return out.Bytes()
}

// drawCell draws a value of a column, as it is stored; null now and then.
func drawCell(t *rapid.T, k Kind) Value {
	if rapid.IntRange(0, 9).Draw(t, "null") == 0 {
		return Value{}
	}
	switch k {
	case KindBool:
		return ValueOf(rapid.Bool().Draw(t, "bool"))
	case KindInt:
		return ValueOf(rapid.OneOf(rapid.Int64(), rapid.Int64Range(-3, 3)).Draw(t, "int"))
	case KindFloat:
		return ValueOf(rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, math.Copysign(0, -1),
			math.Inf(1)})).Draw(t, "float"))
	case KindSingle:
		return ValueOf(float64(rapid.Float32().Draw(t, "single")))
	case KindString:
		return ValueOf(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "a", "b", "μ"})).Draw(t, "string"))
	}
	return ValueOf(int64(rapid.IntRange(0, 300).Draw(t, "class")))
}

var columnKinds = []Kind{KindBool, KindInt, KindFloat, KindSingle, KindString, KindClass}
