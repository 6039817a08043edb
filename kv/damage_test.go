package kv

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
)

// flipsAsked says how many bytes TestFlippedBytes changes.
const flipsAsked = "GRAPHCLEANER_TEST_FLIPS"

// everyKind makes a store with records of every kind, in the tables of a load and in later ones, and closes it. The
// later ones hold newer versions of records in the earlier ones.
func everyKind(t testing.TB, nodes int) (dir string) {
	t.Helper()
	everyKinds.Lock()
	defer everyKinds.Unlock()
	dir = filepath.Join(t.TempDir(), "store")
	if files := everyKinds.made[nodes]; files != nil {
		must.Do(t, os.CopyFS(dir, files))
		return dir
	}
	makeEveryKind(t, dir, nodes)
	names := fileNames(t, dir, "*")
	files := fstest.MapFS{}
	for _, name := range names {
		text := must.Get(os.ReadFile(filepath.Join(dir, name)))(t)
		files[name] = &fstest.MapFile{Data: text, Mode: 0o600}
	}
	everyKinds.made[nodes] = files
	return dir
}

// everyKinds has the files of the stores that everyKind has made, by their nodes.
var everyKinds = struct {
	sync.Mutex
	made map[int]fstest.MapFS
}{made: map[int]fstest.MapFS{}}

func makeEveryKind(t testing.TB, dir string, nodes int) {
	t.Helper()
	l := must.Get(NewLoader(t.Context(), dir, LoadOptions{
		MemoryBudget: minMemoryBudget, Directed: true, Weighted: true,
		Properties: []Column{{Name: "year", Kind: KindInt}, {Name: "title", Kind: KindString}, {Name: "x", Kind: KindFloat}},
	}))(t)
	r := rand.New(rand.NewPCG(1, 2))
	id := func(i int) string { return "n" + strconv.Itoa(i) }
	for i := range nodes {
		n := Node{ID: id(i), Label: "class " + strconv.Itoa(r.IntN(4)), Values: []Value{
			ValueOf(int64(1990 + r.IntN(30))), ValueOf("title " + strconv.Itoa(r.IntN(nodes))), ValueOf(r.Float64()),
		}}
		if i%17 == 0 {
			n.Label, n.Values[2] = "", Value{}
		}
		must.Do(t, l.AddNode(n))
	}
	edges := l.EdgeWriter()
	for i := range nodes {
		for _, j := range []int{0, r.IntN(nodes), r.IntN(nodes)} {
			must.Do(t, edges.AddWeighted(id(i), id(j), float32(1+r.IntN(9)), 0))
		}
	}
	must.Get(l.Commit(t.Context(), nil))(t)
	for round := range 3 {
		s := must.Get(Open(dir, Options{MemoryBudget: minMemoryBudget}))(t)
		writeEveryKind(t, s, r, round)
		must.Do(t, s.Close())
	}
}

func writeEveryKind(t testing.TB, s *Store, r *rand.Rand, round int) {
	t.Helper()
	if round == 0 {
		b := must.Get(s.Bulk(context.Background()))(t)
		defer b.Abort()
		m := must.Get(b.Matrix("m", []string{"a", "b", "c"}))(t)
		put := must.Get(b.Space("lent"))(t)
		for v := range b.Tx().NumNodes() {
			must.Do(t, m.Put(NodeID(v), []float32{float32(v), r.Float32(), 1}))
			must.Do(t, put([]byte(fmt.Sprintf("key %06d", v)), []byte("lent "+strconv.Itoa(v))))
		}
		must.Do(t, b.Commit(nil))
	}
	for step := range 20 {
		must.Do(t, s.Update(func(tx *Tx) error {
			v := must.Get(tx.AddNode(Node{ID: fmt.Sprintf("extra %d/%d", round, step), Label: "new"}))(t)
			removed, err := tx.Removed()
			must.Do(t, err)
			u := NodeID(r.IntN(int(v)))
			for removed.Has(u) {
				u = NodeID(r.IntN(int(v)))
			}
			err = errors.Join(
				setEdge(tx, v, u, 2), setEdge(tx, u, v, 3),
				tx.SetValue(u, "year", ValueOf(int64(round*100+step))), tx.SetLabel(u, "class "+strconv.Itoa(round)),
				tx.SetRow("m", u, []float32{float32(round), float32(step), 0}),
				tx.Documents("documents").Put(strconv.Itoa(step), strings.Repeat("text ", 20)+strconv.Itoa(round)),
				tx.Space("lent").Put([]byte(fmt.Sprintf("later %d", step)), []byte(strconv.Itoa(round))),
			)
			if step%5 == 4 {
				if err = errors.Join(err, replaceNode(tx, u)); u != v-1 {
					err = errors.Join(err, tx.RemoveNode(v-1))
				}
			}
			if step%10 == 9 {
				err = errors.Join(err, tx.Documents("long").Put("document",
					strings.Repeat("long ", 20_000)+strconv.Itoa(round*step)))
			}
			return err
		}))
	}
}

// replaceNode removes a node and adds another one of the same id.
func replaceNode(tx *Tx, v NodeID) error {
	id, err := tx.ID(v)
	if err != nil {
		return err
	}
	if err := tx.RemoveNode(v); err != nil {
		return err
	}
	_, err = tx.AddNode(Node{ID: id, Label: "again"})
	return err
}

// export reads everything a store has through what its users call, and returns a hash of it.
func export(s *Store) (sum uint64, err error) {
	h := fnv.New64a()
	add := func(v ...any) { fmt.Fprintln(h, v...) }
	err = s.View(func(tx *Tx) error {
		return errors.Join(exportNodes(tx, add), exportScans(tx, add), exportChanges(tx, add))
	})
	return h.Sum64(), err
}

// describeStore is all that export reads, except for what changed since each commit.
func describeStore(t *testing.T, s *Store) string {
	t.Helper()
	var text strings.Builder
	add := func(v ...any) { fmt.Fprintln(&text, v...) }
	view(t, s, func(tx *Tx) error { return errors.Join(exportNodes(tx, add), exportScans(tx, add)) })
	return text.String()
}

// exportNodes reads node by node.
func exportNodes(tx *Tx, add func(...any)) error {
	add(tx.NumNodes(), tx.Shape().Edges, tx.Shape().Arcs, tx.Shape().IntegerIDs, tx.Shape().Directed, tx.Shape().Weighted,
		tx.Classes(), tx.Columns(), tx.Matrices())
	for v, err := range tx.InFileOrder() {
		if err != nil {
			return err
		}
		id, err := tx.ID(v)
		if err != nil {
			return err
		}
		back, err := tx.Node(id)
		if err != nil {
			return err
		}
		add(id, v, back)
		for _, column := range tx.Columns() {
			value, err := tx.Value(v, column.Name)
			if err != nil {
				return err
			}
			add(value)
		}
		degree, err := tx.Degree(v)
		if err != nil {
			return err
		}
		add(degree)
		for a, err := range tx.Undirected().Arcs(v) {
			if err != nil {
				return err
			}
			add(a.Neighbor, a.Out, a.In)
		}
	}
	return nil
}

// exportScans reads in blocks what exportNodes reads node by node, and what belongs to no node.
func exportScans(tx *Tx, add func(...any)) error {
	for _, column := range tx.Columns() {
		r, err := tx.Reader(column.Name)
		if err != nil {
			return err
		}
		for v := range tx.NumNodes() {
			value, err := r.At(NodeID(v))
			if err != nil {
				return err
			}
			add(value)
		}
	}
	for e, err := range allEdges(tx) {
		if err != nil {
			return err
		}
		add(e)
	}
	for _, name := range tx.Matrices() {
		m, err := tx.Matrix(name)
		if err != nil {
			return err
		}
		add(m.Columns())
		rows := make([]float32, tx.NumNodes()*m.Width())
		if err := m.Read(Range{First: 0, End: NodeID(tx.NumNodes())}, 0, m.Width(), rows); err != nil {
			return err
		}
		add(rows)
	}
	for _, space := range sortedNames(tx.cat.Spaces) {
		for e, err := range tx.Space(space).Ascend(nil) {
			if err != nil {
				return err
			}
			add(e.Key, e.Value)
		}
	}
	for _, space := range []string{"documents", "long"} {
		for key, err := range tx.Documents(space).Keys() {
			if err != nil {
				return err
			}
			var text string
			if err := tx.Documents(space).Get(key, &text); err != nil {
				return err
			}
			add(key, text)
		}
	}
	return nil
}

// exportChanges reads what changed since each commit, where that is known and anything changed.
func exportChanges(tx *Tx, add func(...any)) error {
	last, err := tx.LastCommit()
	if err != nil {
		return err
	}
	for mark := range last + 1 {
		c, err := tx.ChangesSince(mark)
		if errors.Is(err, ErrNotTracked) {
			continue
		}
		if err != nil {
			return err
		}
		changed := c.NumNodes < tx.NumNodes()
		text := fmt.Sprint(mark, c.NumNodes)
		for _, name := range sortedNames(c.sets) {
			t := c.sets[name]
			nodes := slices.Collect(t.Nodes())
			changed = changed || t.All || len(nodes) > 0
			text += fmt.Sprint(name, t.All, nodes)
		}
		if changed {
			add(text)
		}
	}
	return nil
}

// A damageCount says what came of damaged stores.
type damageCount struct {
	tried, detected, harmless, lost int
	unnoticed                       int // of detected: only Check found them, and a read without it saw other data
}

func (c *damageCount) String() string {
	return fmt.Sprintf("flipped %d detected %d harmless %d lost %d", c.tried, c.detected, c.harmless, c.lost)
}

// look opens a damaged store: it must be refused, or have a problem, or hold what it held.
func (c *damageCount) look(t *testing.T, dir, damage string, opt Options, want uint64) {
	t.Helper()
	c.tried++
	opt.MemoryBudget = minMemoryBudget
	s, err := Open(dir, opt)
	if err != nil {
		c.detected++
		if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrNotStore) && !errors.Is(err, ErrVersion) {
			t.Errorf("%s: got %v, want ErrCorrupt", damage, err)
		}
		return
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Errorf("%s: closing: %v", damage, err)
		}
	}()
	got, reading := export(s)
	found := 0
	err = s.Check(context.Background(), nil, func(p Problem) {
		found++
		if p.Where == "" || p.What == "" {
			t.Errorf("%s: got problem %q", damage, p)
		}
	})
	switch {
	case err != nil:
		t.Errorf("%s: checking: %v", damage, err)
	case found > 0:
		c.detected++
		c.unnoticed += codec.Bit(reading == nil && got != want)
	case reading != nil:
		t.Errorf("%s: Check finds no problem, and reading %v", damage, reading)
	case got != want:
		c.lost++
		t.Errorf("%s: Check finds no problem, and other data is read", damage)
	default:
		c.harmless++
	}
}

// TestFlippedBytes changes bytes of all files of a closed store, one at a time, over the whole length of each.
func TestFlippedBytes(t *testing.T) {
	t.Parallel()
	positions := longtest.Of(30, 600)
	if asked := os.Getenv(flipsAsked); asked != "" {
		var err error
		if positions, err = strconv.Atoi(asked); err != nil {
			t.Fatalf("%s: %v", flipsAsked, err)
		}
	}
	dir := everyKind(t, 700)
	s := openStore(t, dir, Options{ReadOnly: true})
	want := must.Get(export(s))(t)
	checkClean(t, s)
	closeStore(t, s)
	var count damageCount
	r := rand.New(rand.NewPCG(9, 9))
	for _, name := range fileNames(t, dir, "*") {
		path := filepath.Join(dir, name)
		text := must.Get(os.ReadFile(path))(t)
		share := positions / len(fileNames(t, dir, "*"))
		for i := range min(share, len(text)) {
			at := i*len(text)/share + r.IntN(max(len(text)/share, 1))
			if share >= len(text) {
				at = i
			}
			flipped := slices.Clone(text)
			flipped[at] ^= byte(1 << r.IntN(8))
			if i%3 == 0 {
				flipped[at] = text[at] ^ byte(1+r.IntN(255))
			}
			if i%10 == 0 { // opened for writing, a store changes
				copied := copyStore(t, dir)
				must.Do(t, os.WriteFile(filepath.Join(copied, name), flipped, 0o600))
				count.look(t, copied, fmt.Sprintf("%s with byte %d of %d changed, for writing", name, at, len(text)), Options{},
					want)
				must.Do(t, os.RemoveAll(copied))
				continue
			}
			must.Do(t, os.WriteFile(path, flipped, 0o600))
			count.look(t, dir, fmt.Sprintf("%s with byte %d of %d changed", name, at, len(text)), Options{ReadOnly: true}, want)
		}
		must.Do(t, os.WriteFile(path, text, 0o600))
	}
	t.Logf("%v, of the detected %d are seen by Check alone", &count, count.unnoticed)
	fmt.Println(&count)
	if count.detected == 0 || count.harmless+count.detected != count.tried {
		t.Errorf("got %v", &count)
	}
}
