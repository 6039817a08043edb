package dict

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// newDict writes the dictionary of a load, and adds nodes. perm is the node at each position of the load.
func newDict(t *testing.T, ids []string, perm []int, added []string, dense bool) *Dict {
	t.Helper()
	records := newRecords()
	d := &Dict{Records: records, Generation: 7, Nodes: len(ids) + len(added), LoadedNodes: len(ids), Dense: dense}
	check := func(err error) {
		t.Helper()
		must.Do(t, err)
	}
	positions := make([]int, len(perm))
	for position, v := range perm {
		positions[v] = position
	}
	for kind, numbers := range map[record.Kind][]int{record.KindNodeAt: perm, record.KindPosition: positions} {
		w := NewNumberWriter(records.Put, kind, d.Generation)
		for _, n := range numbers {
			check(w.Append(uint32(n)))
		}
		check(w.Close())
	}
	if !dense {
		w := NewIDWriter(records.Put, d.Generation, t.TempDir(), 1<<20, 2)
		for _, id := range ids {
			check(w.Append(id))
		}
		check(w.Finish(t.Context()))
		check(w.Close())
	}
	for i, id := range added {
		check(d.Add(records, record.NodeID(d.LoadedNodes+i), id))
	}
	return d
}

func TestDict(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0))
	for _, size := range []struct{ loaded, added int }{{0, 0}, {0, 3}, {1, 0}, {1, 1}, {256, 0}, {257, 2}, {1024, 0},
		{2500, 40}} {
		for _, dense := range []bool{false, true} {
			var ids []string
			for i := range size.loaded + size.added {
				id := strconv.Itoa(i)
				if !dense || i >= size.loaded {
					id = []string{"ü", "日本", "-", "\xff\x00"}[i%4] + id + strings.Repeat("x", r.IntN(20))
				}
				ids = append(ids, id)
			}
			if !dense && size.loaded > 0 {
				ids[0] = strings.Repeat("é", MaxID/2)
			}
			perm := r.Perm(size.loaded)
			d := newDict(t, ids[:size.loaded], perm, ids[size.loaded:], dense)
			compare(t, fmt.Sprintf("%+v, dense %v", size, dense), d, ids, perm)
		}
	}
}

// compare expects every way from ids to positions to nodes and back to be the one that was written.
func compare(t *testing.T, what string, d *Dict, ids []string, perm []int) {
	t.Helper()
	byPlace, byNode := d.Reader(), d.Reader()
	keys := slices.Collect(d.PositionKeys(slices.Values(numbers[record.NodeID](len(ids)))))
	if want := keysUnder(d, record.KindPosition); !slices.EqualFunc(keys, want, bytes.Equal) {
		t.Fatalf("%s: got the keys %x of positions, want %x", what, keys, want)
	}
	keys = slices.Collect(d.IDKeys(slices.Values(numbers[int](len(ids)))))
	if want := keysUnder(d, record.KindIDs); !slices.EqualFunc(keys, want, bytes.Equal) {
		t.Fatalf("%s: got the keys %x of ids, want %x", what, keys, want)
	}
	for position, id := range ids {
		v := position
		if position < len(perm) {
			v = perm[position]
		}
		at, err1 := d.Position(id)
		once := d.Once()
		node, err2 := once.NodeAt(position)
		back, err3 := once.PositionOf(record.NodeID(v))
		got, err4 := once.AtPosition(position)
		next, err5 := byPlace.AtPosition(position)
		ofNode, err6 := byNode.At(record.NodeID(v))
		if err := errors.Join(err1, err2, err3, err4, err5, err6); err != nil || at != position || int(node) != v ||
			back != position || got != id || next != id || ofNode != id {
			t.Fatalf("%s, id %q: got positions %d, %d, node %d, ids %q, %q, %q, %v; want position %d, node %d",
				what, id, at, back, node, got, next, ofNode, err, position, v)
		}
	}
	for _, absent := range []string{"", "absent", strconv.Itoa(len(perm)), "-1", "00", "ü", strings.Repeat("x", MaxID+1)} {
		if at, err := d.Position(absent); at != -1 || err != nil {
			t.Errorf("%s, id %.10q: got %d, %v, want none", what, absent, at, err)
		}
	}
	var numbers []uint32
	for block := 0; block*NumbersPerBlock < len(perm); block++ {
		var err error
		if numbers, err = d.Numbers(record.KindNodeAt, block, numbers); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	if !slices.EqualFunc(numbers, perm, func(n uint32, v int) bool { return int(n) == v }) {
		t.Errorf("%s: got blocks of other numbers than were written", what)
	}
}

// numbers are 0 to n-1.
func numbers[N ~uint32 | ~int](n int) (all []N) {
	for i := range n {
		all = append(all, N(i))
	}
	return all
}

// keysUnder are the keys of the records of a kind.
func keysUnder(d *Dict, kind record.Kind) (keys [][]byte) {
	for _, key := range slices.Sorted(maps.Keys(d.Records.(*memoryRecords).bodies)) {
		if strings.HasPrefix(key, string(record.Prefix(kind, d.Generation))) {
			keys = append(keys, []byte(key))
		}
	}
	return keys
}

func TestInteger(t *testing.T) {
	for id, want := range map[string]int64{"0": 0, "7": 7, "-1": -1, "9223372036854775807": math.MaxInt64,
		"-9223372036854775808": math.MinInt64} {
		if got, ok := Integer(id); got != want || !ok {
			t.Errorf("%q: got %d, %v, want %d", id, got, ok, want)
		}
	}
	for _, id := range []string{"", "-", "-0", "00", "+1", "1.0", " 1", "٣", "9223372036854775808",
		"-9223372036854775809", "10000000000000000000"} {
		if got, ok := Integer(id); ok {
			t.Errorf("%q: got %d, want no integer", id, got)
		}
	}
}

func TestDamage(t *testing.T) {
	whole := newDict(t, []string{"a", "b"}, []int{1, 0}, []string{"c"}, false)
	records, g := whole.Records.(*memoryRecords), whole.Generation
	byID := func(d *Dict) error { _, err := d.Position("b"); return err }
	added := func(d *Dict) error { _, err := d.Position("c"); return err }
	ofAdded := func(d *Dict) error { r := d.Once(); _, err := r.AtPosition(2); return err }
	ofLoaded := func(d *Dict) error { r := d.Once(); _, err := r.AtPosition(1); return err }
	byNode := func(d *Dict) error { _, err := d.Reader().At(0); return err }
	nodeAt := func(d *Dict) error { r := d.Once(); _, err := r.NodeAt(0); return err }
	position := func(d *Dict) error { r := d.Once(); _, err := r.PositionOf(0); return err }
	for kind, reads := range map[record.Kind][]func(d *Dict) error{
		record.KindIDs: {byID, ofLoaded, byNode}, record.KindIDLookup: {byID}, record.KindNodeAt: {nodeAt},
		record.KindPosition: {position, byNode},
	} {
		key := record.NumberKey(kind, g, 0)
		good := records.body(key)
		large := bytes.Repeat([]byte{0xff}, len(good))
		if kind == record.KindIDLookup {
			copy(large, binary.LittleEndian.AppendUint32(nil, uint32(Hash("b"))))
		}
		for name, body := range map[string][]byte{"no record": nil, "a cut record": good[:len(good)-1],
			"large numbers": large} {
			for i, read := range reads {
				expectDamage(t, fmt.Sprintf("%s, %s, read %d", kind, name, i), *whole, key, body, read)
			}
		}
	}
	expectDamage(t, "an added id of an absent node", *whole, addedIDKey(g, "c"), []byte{3}, added)
	expectDamage(t, "an added id of a node of the load", *whole, addedIDKey(g, "c"), []byte{1}, added)
	expectDamage(t, "an added node without its id", *whole, AddedNodeKey(g, 2), nil, ofAdded)
}

func expectDamage(t *testing.T, what string, d Dict, key, body []byte, read func(d *Dict) error) {
	t.Helper()
	d.Records.(*memoryRecords).change(key, body, func(changed *memoryRecords) {
		d.Records = changed
		if err := read(&d); !errors.Is(err, record.ErrCorrupt) {
			t.Errorf("%s: got %v, want ErrCorrupt", what, err)
		}
	})
}
