package kv

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dgraph-io/badger/v4/y"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/graphcleaner/graphcleaner/internal/gap"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/changes"
	"github.com/graphcleaner/graphcleaner/kv/internal/graph"
	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
	"github.com/graphcleaner/graphcleaner/kv/internal/pack"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

func problems(t testing.TB, s *Store) []string {
	t.Helper()
	var found []string
	if err := s.Check(t.Context(), nil, func(p Problem) { found = append(found, p.String()) }); err != nil {
		t.Fatalf("Check: %v", err)
	}
	return found
}

func checkClean(t testing.TB, s *Store) {
	t.Helper()
	if found := problems(t, s); len(found) > 0 {
		t.Fatalf("Check: got problems:\n%s", strings.Join(found, "\n"))
	}
}

// checkedStore loads a graph of 600 nodes named n0, n1, … in a ring with a chord from each node to n0, adds nodes and
// edges, and writes a column and a matrix.
func checkedStore(t *testing.T) *Store {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "graph")
	l := must.Get(NewLoader(t.Context(), dir, LoadOptions{MemoryBudget: minMemoryBudget,
		Properties: []Column{{Name: "year", Kind: KindInt}}}))(t)
	id := func(i int) string { return "n" + strconv.Itoa(i) }
	for i := range 600 {
		must.Do(t, l.AddNode(Node{ID: id(i), Label: strconv.Itoa(i % 3), Values: []Value{ValueOf(int64(i))}}))
	}
	for i := range 600 {
		must.Do(t, errors.Join(l.AddEdge(id(i), id((i+1)%600), 0), l.AddEdge(id(i), id(0), 0)))
	}
	must.Get(l.Commit(t.Context(), nil))(t)
	s := openTest(t, dir)
	makeMatrix(t, s, "m", "a", "b")
	must.Do(t, s.Update(func(tx *Tx) error {
		v := must.Get(tx.AddNode(Node{ID: "extra", Label: "new"}))(t)
		return errors.Join(tx.AddEdge(v, 7), tx.AddEdge(9, v), tx.RemoveEdge(0, 5), tx.SetValue(3, "year", ValueOf(1)),
			tx.SetRow("m", 4, []float32{1, 2}))
	}))
	return s
}

// firstKey returns the least key of a kind that is read.
func firstKey(t *testing.T, s *Store, k record.Kind) []byte {
	t.Helper()
	var key []byte
	var isDead func(key []byte) bool
	view(t, s, func(tx *Tx) error { isDead = tx.cat.dead(); return nil })
	err := s.db.View(func(txn *lsm.Txn) error {
		it := txn.Iterator([]byte{byte(k)}, false)
		defer it.Close()
		err := it.Seek([]byte{byte(k)})
		for ; err == nil && it.Valid() && key == nil; err = it.Next() {
			if !isDead(it.Key()) {
				key = bytes.Clone(it.Key())
			}
		}
		return err
	})
	if err != nil || key == nil {
		t.Fatalf("no record of kind %s: %v", k.String(), err)
	}
	return key
}

func rawValue(t *testing.T, s *Store, key []byte) []byte {
	t.Helper()
	var value []byte
	must.Do(t, s.db.View(func(txn *lsm.Txn) error {
		var err error
		value, _, err = txn.Get(key)
		return err
	}))
	return value
}

func writeRaw(t *testing.T, s *Store, key, value []byte) {
	t.Helper()
	damagedStores.Store(s.dir, true)
	s.latest.Store(nil)
	s.partitions = new(graph.Partitions)
	if record.Kind(key[0]).IsBlock() {
		writeRawBlock(t, s, key, value)
		return
	}
	txn := s.db.Begin(true)
	defer txn.Discard()
	must.Do(t, errors.Join(txn.Set(key, value), txn.Commit(s.commits)))
}

// writeRawBlock writes the pack again in which a key lies, or would.
func writeRawBlock(t *testing.T, s *Store, key, value []byte) {
	t.Helper()
	inPack, entries := packWith(t, s.dir, key)
	temporary := filepath.Join(s.dir, "spill-pack.tmp")
	w := pack.NewWriter(temporary)
	add := func(key, value []byte) {
		if value == nil {
			value = record.Deletion(key)
		}
		must.Do(t, w.Add(key, value, 1))
	}
	done := false
	for _, e := range entries {
		k := y.ParseKey(e.Key)
		if !done && bytes.Compare(k, key) >= 0 {
			add(key, value)
			done = true
		}
		if !bytes.Equal(k, key) {
			add(k, slices.Grow(e.Value.Value, 1)[:len(e.Value.Value)])
		}
	}
	if !done {
		add(key, value)
	}
	must.Do(t, errors.Join(w.End(), w.Sync(), os.Rename(temporary, inPack), s.openPacks()))
}

// packWith is the pack of a store that is open in which a key lies, or would, with its entries.
func packWith(t *testing.T, dir string, key []byte) (path string, entries []pack.Entry) {
	t.Helper()
	var first []byte
	for _, name := range fileNames(t, dir, "*.pack") {
		r := must.Get(pack.Open(filepath.Join(dir, name)))(t)
		var all []pack.Entry
		for i := range r.Blocks() {
			from, to, err := r.Place(i)
			must.Do(t, err)
			block, _ := pack.Entries(bytes.Clone(r.Data[from:to]))
			all = append(all, block...)
		}
		must.Do(t, r.Close())
		begins := y.ParseKey(all[0].Key)
		if bytes.HasPrefix(begins, key[:5]) && (first == nil || bytes.Compare(begins, key) <= 0 && bytes.Compare(begins,
			first) > 0) {
			path, first, entries = filepath.Join(dir, name), begins, all
		}
	}
	if path == "" {
		t.Fatalf("no pack has %s", record.Describe(key))
	}
	return path, entries
}

// rewrite changes the body of a record and gives it a checksum that is right.
func rewrite(t *testing.T, s *Store, key []byte, change func(body []byte) []byte) {
	t.Helper()
	body := must.Get(record.Decode(key, rawValue(t, s, key)))(t)
	writeRaw(t, s, key, record.Encode(key, change(slices.Clone(body))))
}

func TestCheckFindsDamage(t *testing.T) {
	t.Parallel()
	every := []record.Kind{
		record.KindAdjacency, record.KindAdjacencyPartition, record.KindEdgeDelta, record.KindDegreeDelta, record.KindIDs,
		record.KindIDLookup, record.KindNodeAt,
		record.KindPosition, record.KindAddedNode, record.KindAddedID, record.KindColumn, record.KindRowDelta,
		record.KindChanges,
	}
	s := checkedStore(t)
	plant := func(what string, key []byte, damage func(), want string) {
		t.Helper()
		value := rawValue(t, s, key)
		damage()
		found := problems(t, s)
		if len(found) == 0 || !strings.Contains(strings.Join(found, "\n"), want) {
			t.Errorf("%s: got problems %q, want one with %q", what, found, want)
		}
		if len(found) > 20 {
			t.Errorf("%s: got %d problems, want few", what, len(found))
		}
		writeRaw(t, s, key, value)
	}
	for _, k := range every {
		key := firstKey(t, s, k)
		value := rawValue(t, s, key)
		flipped := slices.Clone(value)
		flipped[len(flipped)-1] ^= 1
		plant(k.String()+" flipped", key, func() { writeRaw(t, s, key, flipped) }, "checksum")
		plant(k.String()+" emptied", key, func() { writeRaw(t, s, key, []byte{}) }, "empty")
		if k != record.KindRowDelta {
			plant(k.String()+" deleted", key, func() { writeRaw(t, s, key, nil) }, "")
		}
	}
	checkClean(t, s)

	node := firstKey(t, s, record.KindNodeAt)
	plant("node out of range", node, func() {
		rewrite(t, s, node, func(b []byte) []byte { b[3] = 0xff; return b })
	}, "want less than")
	for _, k := range []record.Kind{record.KindNodeAt, record.KindPosition} {
		key := firstKey(t, s, k)
		plant("two numbers exchanged: "+k.String(), key, func() {
			rewrite(t, s, key, func(b []byte) []byte {
				b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7] = b[4], b[5], b[6], b[7], b[0], b[1], b[2], b[3]
				return b
			})
		}, "have other places")
	}
	delta := firstKey(t, s, record.KindEdgeDelta)
	plant("a delta turned round", delta, func() {
		rewrite(t, s, delta, func(b []byte) []byte { return []byte{3 - b[0]} })
	}, "")
	degree := firstKey(t, s, record.KindDegreeDelta)
	plant("a count changed", degree, func() {
		rewrite(t, s, degree, func(b []byte) []byte { return []byte{5, 5} })
	}, "node number 0 has 598 neighbours, and counts 596")

	touched := firstKey(t, s, record.KindChanges)
	plant("a node that is not there", touched, func() {
		rewrite(t, s, touched, func([]byte) []byte {
			var c changes.Commit
			c.Sets.Of(edgesTouched).Add(601)
			return must.Get(c.Encode(1 << 10))(t)
		})
	}, "its nodes do not ascend, or are not there")
	plant("no changes at all", touched, func() { rewrite(t, s, touched, func([]byte) []byte { return []byte{1, 0, 9} }) },
		"decoding map length")

	lists := firstKey(t, s, record.KindAdjacency)
	plant("an edge under one end only", lists, func() {
		rewriteLists(t, s, lists,
			func(rows [][]uint32) { rows[100] = rows[100][1:] })
	},
		"one of its ends only")
	plant("a self loop", lists, func() {
		rewriteLists(t, s, lists, func(rows [][]uint32) { rows[0] = append([]uint32{0}, rows[0]...) })
	}, "one of its ends only")

	first := record.PartKey(catalogKey(), 0)
	plant("catalogue: shared generation", first, func() {
		rewrite(t, s, first, func(b []byte) []byte {
			c := must.Get(decodeCatalog(b[1:]))(t)
			entry := c.Columns["year"]
			entry.Generation = c.Columns[LabelColumn].Generation
			c.Columns["year"] = entry
			return append(b[:1], must.Get(msgpack.Marshal(c))(t)...)
		})
	}, "share generation")
	plant("catalogue: edges", countsKey(), func() {
		changeCatalog(t, s, func(c *catalog) { c.Edges++ })
	}, "twice the")
	stray := record.NumberKey(record.KindColumnDelta, 999999, 0)
	writeRaw(t, s, stray, record.Encode(stray, []byte("left over")))
	if found := problems(t, s); len(found) != 1 || !strings.Contains(found[0],
		"records of 999999: a later catalogue is lost") {
		t.Errorf("a generation that was not given out: got %q", found)
	}
	writeRaw(t, s, stray, nil)
	dead := record.NumberKey(record.KindColumnDelta, 999, 0) // of a generation that nobody names
	changeCatalog(t, s, func(c *catalog) { c.Next = 1000 })
	writeRaw(t, s, dead, []byte("left over"))
	checkClean(t, s)
	closeStore(t, s) // which makes a table of it
	s = openStore(t, s.Dir(), Options{})
	must.Do(t, foldNow(s))
	if left := countGarbage(t, s); left > 0 {
		t.Errorf("a fold leaves %d records of generations that nobody names", left)
	}
}

func changeCatalog(t *testing.T, s *Store, change func(*catalog)) {
	t.Helper()
	damagedStores.Store(s.dir, true)
	must.Do(t, s.Update(func(tx *Tx) error {
		cat, err := tx.change()
		if err == nil {
			change(cat)
		}
		return err
	}))
}

// rewriteLists changes the lists of an adjacency block.
func rewriteLists(t *testing.T, s *Store, key []byte, change func(rows [][]uint32)) {
	t.Helper()
	rewrite(t, s, key, func(body []byte) []byte {
		const head = 2 // the number of parts, and the first node
		block, err := gap.Parse(body[head:], 1<<20)
		must.Do(t, err)
		rows := make([][]uint32, block.Rows())
		for i := range rows {
			if rows[i], err = gap.AppendRow([]uint32(nil), block, i); err != nil {
				t.Fatal(err)
			}
		}
		change(rows)
		var e gap.Encoder[uint32]
		for _, row := range rows {
			e.Append(row)
		}
		return e.AppendTo(body[:head])
	})
}
