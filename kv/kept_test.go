package kv

import (
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// keptStores are made by name.
var keptStores = map[string]func(t *testing.T) string{
	"plain": keptPlain,
	"arcs":  keptArcs,
}

// keptPlain has records of every kind but those of arcs, and was closed.
func keptPlain(t *testing.T) string {
	dir := filepath.Join(t.TempDir(), "plain")
	l := must.Get(NewLoader(t.Context(), dir, LoadOptions{MemoryBudget: minMemoryBudget, Classes: []string{"never used"}, Properties: []Column{
		{Name: "year", Kind: KindInt}, {Name: "weight", Kind: KindFloat}, {Name: "open", Kind: KindBool},
		{Name: "title", Kind: KindString}, {Name: "venue", Kind: KindClass}, {Name: "gone", Kind: KindInt},
	}}))(t)
	const n = 300
	id := func(i int) string { return "paper " + strconv.Itoa(i*7919%n) }
	for i := range n {
		node := Node{ID: id(i), Values: []Value{
			IntValue(int64(1990 + i%30)), FloatValue(float64(i) / 7), BoolValue(i%3 == 0), StringValue("Títle " + strconv.Itoa(i)),
			StringValue("venue " + strconv.Itoa(i%5)), IntValue(int64(i)),
		}}
		if i%11 == 0 {
			node.Values = node.Values[:i%5]
		} else {
			node.Label = "class " + strconv.Itoa(i%4)
		}
		must.Do(t, l.AddNode(node))
	}
	for i := range n {
		for _, j := range []int{i + 1, i * i, 0, 3 * i} {
			must.Do(t, l.AddEdge(id(i), id(j%n), 0))
		}
	}
	must.Get(l.Commit(t.Context(), nil))(t)
	s := openKept(t, dir)
	b := must.Get(s.Bulk())(t)
	defer b.Abort()
	matrices := []struct {
		name     string
		columns  int
		encoding MatrixEncoding
	}{{"dense", 3, MatrixEncoding{}}, {"half", 20, MatrixEncoding{Half: true}}, {"kept", 40, MatrixEncoding{Half: true, Kept: 2}}}
	for _, m := range matrices {
		columns := make([]string, m.columns)
		for j := range columns {
			columns[j] = "column " + strconv.Itoa(j)
		}
		w := must.Get(b.Matrix(m.name, columns, m.encoding))(t)
		for v := range NodeID(n) {
			if v%13 == 5 {
				continue
			}
			row := make([]float32, m.columns)
			row[int(v)%m.columns] = float32(v) / 256
			row[int(v)%3] += 0.5
			must.Do(t, w.Put(v, row))
		}
	}
	space := must.Get(b.Space("index"))(t)
	for i := range 50 {
		must.Do(t, space.Put([]byte(fmt.Sprintf("key %03d", i)), []byte(strings.Repeat("value", i))))
	}
	must.Do(t, b.Commit(func(tx *Tx) error { return tx.Documents("runs").Put("1", map[string]string{"seed": "1"}) }))
	changeKept(t, s)
	must.Do(t, s.Close())
	return dir
}

// keptArcs is directed and weighted, its ids are numbers, and it was not closed.
func keptArcs(t *testing.T) string {
	dir := filepath.Join(t.TempDir(), "arcs")
	l := must.Get(NewLoader(t.Context(), dir, LoadOptions{MemoryBudget: minMemoryBudget, Directed: true, Weighted: true}))(t)
	const n = 200
	for i := range n {
		must.Do(t, l.AddNode(Node{ID: strconv.Itoa(i), Label: strconv.Itoa(i % 7)}))
	}
	w := l.EdgeWriter()
	for i := range n {
		for k, j := range []int{i + 1, i * i, 3*i + 2} {
			must.Do(t, w.AddWeighted(strconv.Itoa(i), strconv.Itoa(j%n), float32(k)+0.5, 0))
		}
	}
	must.Do(t, w.Close())
	must.Get(l.Commit(t.Context(), nil))(t)
	s := openKept(t, dir)
	changeKept(t, s)
	dir = copyStore(t, dir)
	must.Do(t, s.Close())
	return dir
}

// openKept opens a store that its user closes.
func openKept(t *testing.T, dir string) *Store {
	t.Helper()
	s := must.Get(Open(dir, Options{MemoryBudget: minMemoryBudget}))(t)
	return s
}

// changeKept makes deltas of every kind, in two transactions.
func changeKept(t *testing.T, s *Store) {
	t.Helper()
	update(t, s, func(tx *Tx) error {
		for i := range 5 {
			v := must.Get(tx.AddNode(Node{ID: strconv.Itoa(1000 + i), Label: "added"}))(t)
			must.Do(t, tx.AddEdge(v, NodeID(i)))
		}
		must.Do(t, tx.CreateMatrix("rows", []string{"a", "b"}))
		must.Do(t, tx.SetRow("rows", 3, []float32{1, float32(math.NaN())}))
		must.Do(t, tx.Space("history").Put([]byte("first"), []byte("entry")))
		return tx.Documents("settings").Put("limits", []int{1, 2, 3})
	})
	update(t, s, func(tx *Tx) error {
		for u := range NodeID(4) {
			var neighbor NodeID
			for v, err := range tx.Neighbors(u) {
				must.Do(t, err)
				neighbor = v
			}
			remove := tx.RemoveEdge
			if out, err := isArc(tx, u, neighbor); err != nil {
				return err
			} else if !out {
				remove = func(u, v NodeID) error { return tx.RemoveEdge(v, u) }
			}
			must.Do(t, remove(u, neighbor))
		}
		if tx.Weighted() {
			must.Do(t, tx.SetEdge(7, 9, 2.25))
		}
		if _, ok := tx.Column("gone"); ok {
			must.Do(t, tx.DropColumn("gone"))
		}
		must.Do(t, tx.AddColumn("note", KindString))
		must.Do(t, tx.SetValue(5, "note", StringValue("looked at")))
		must.Do(t, tx.SetLabel(6, ""))
		return tx.SetLabel(8, "a class that came later")
	})
}

// isArc reports whether an edge leads from u to v.
func isArc(tx *Tx, u, v NodeID) (bool, error) {
	for a, err := range tx.Arcs(u) {
		if err != nil || a.Neighbor == v {
			return a.Out != 0, err
		}
	}
	return false, nil
}

// describeStore says all that can be read of a store.
func describeStore(t *testing.T, s *Store) string {
	t.Helper()
	var text strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&text, format+"\n", args...) }
	view(t, s, func(tx *Tx) error {
		line("store %s of %d", s.ID(), s.header.Created)
		line("%d nodes, %d edges, %d arcs, integer ids %t, directed %t, weighted %t",
			tx.NumNodes(), tx.NumEdges(), tx.NumArcs(), tx.IntegerIDs(), tx.Directed(), tx.Weighted())
		line("classes %q", tx.Classes())
		line("columns %v", tx.Columns())
		for v, err := range tx.InFileOrder() {
			must.Do(t, err)
			id := must.Get(tx.ID(v))(t)
			fmt.Fprintf(&text, "node %d %q:", v, id)
			for _, column := range tx.Columns() {
				value := must.Get(tx.Value(v, column.Name))(t)
				fmt.Fprintf(&text, " %s=%q", column.Name, value)
			}
			for a, err := range tx.Arcs(v) {
				must.Do(t, err)
				fmt.Fprintf(&text, " %d/%v/%v", a.Neighbor, a.Out, a.In)
			}
			line("")
		}
		for _, name := range tx.Matrices() {
			m := must.Get(tx.Matrix(name))(t)
			line("matrix %s %q %v", name, m.Columns(), m.Encoding())
			rows := make([]float32, tx.NumNodes()*m.Width())
			must.Do(t, m.Read(Range{First: 0, End: NodeID(tx.NumNodes())}, 0, m.Width(), rows))
			for v := range tx.NumNodes() {
				line("%v", rows[v*m.Width():(v+1)*m.Width()])
			}
		}
		for _, name := range []string{"index", "history"} {
			for e, err := range tx.Space(name).Ascend(nil) {
				must.Do(t, err)
				line("space %s: %q is %q", name, e.Key, e.Value)
			}
		}
		for _, space := range []string{"runs", "settings"} {
			for key, err := range tx.Documents(space).Keys() {
				must.Do(t, err)
				var value any
				must.Do(t, tx.Documents(space).Get(key, &value))
				line("document %s/%s: %v", space, key, value)
			}
		}
		return nil
	})
	return text.String()
}
