package index

import (
	"bytes"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/kv"
)

// entriesOf lists a leaf's entries.
func entriesOf(l *leaf) []string {
	var entries []string
	for g := range l.groups() {
		for _, v := range l.group(g) {
			entries = append(entries, string(newEntry(l.key(g), v)))
		}
	}
	return entries
}

// Random changes do to a leaf what they do to a sorted slice, and its encoding reads back the same.
func TestLeafAgainstSortedSlice(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 2))
		var l, back leaf
		var want []string
		for range 30 {
			changes := map[string]bool{}
			for range r.IntN(20) {
				key, _ := appendKey(nil, randomNonNull(r, randomColumns[seed%uint64(len(randomColumns))].Kind))
				changes[string(newEntry(key, kv.NodeID(r.IntN(40))))] = r.IntN(3) > 0
			}
			var ascending []change
			for _, entry := range slices.Sorted(maps.Keys(changes)) {
				ascending = append(ascending, change{[]byte(entry), changes[entry]})
				at, there := slices.BinarySearch(want, entry)
				switch {
				case changes[entry] && !there:
					want = slices.Insert(want, at, entry)
				case !changes[entry] && there:
					want = slices.Delete(want, at, at+1)
				}
			}
			var changed leaf
			changed.apply(&l, ascending)
			if l = changed; !slices.Equal(entriesOf(&l), want) {
				t.Fatalf("seed %d: got entries %x, want %x", seed, entriesOf(&l), want)
			}
		}
		if err := back.decode(l.appendTo(nil)); len(want) > 0 && (err != nil || !slices.Equal(entriesOf(&back), want)) {
			t.Fatalf("seed %d: encoded and decoded: got %x, %v, want %x", seed, entriesOf(&back), err, want)
		}
	}
}

// randomLeaf has entries of random values of a kind.
func randomLeaf(r *rand.Rand, kind kv.Kind, entries int) *leaf {
	all := map[string]bool{}
	for range entries {
		key, _ := appendKey(nil, randomNonNull(r, kind))
		all[string(newEntry(key, kv.NodeID(r.IntN(1000))))] = true
	}
	var l leaf
	for _, entry := range slices.Sorted(maps.Keys(all)) {
		key, v, _ := cutEntry([]byte(entry))
		l.add(key, v)
	}
	return &l
}

func randomNonNull(r *rand.Rand, kind kv.Kind) kv.Value {
	for {
		if v := randomValue(r, kind); !v.IsNull() {
			return v
		}
	}
}

// Whatever the bytes, decoding does not panic, and what it accepts is in order.
func FuzzDecodeLeaf(f *testing.F) {
	r := rand.New(rand.NewPCG(7, 7))
	for _, c := range randomColumns {
		f.Add(randomLeaf(r, c.Kind, 50).appendTo(nil))
	}
	f.Add([]byte{})
	f.Fuzz(decodeAny)
}

// decodeAny decodes bytes that may be damaged.
func decodeAny(t *testing.T, data []byte) {
	var l leaf
	if err := l.decode(data); err != nil {
		if !errors.Is(err, kv.ErrCorrupt) {
			t.Fatalf("decode of %x: got %v, want a kv.ErrCorrupt", data, err)
		}
		return
	}
	entries := entriesOf(&l)
	if len(entries) == 0 || len(entries) > leafEntries || !slices.IsSorted(entries) {
		t.Fatalf("decode of %x: got entries %x, want 1 to %d in order", data, entries, leafEntries)
	}
}

func TestDecodeLeafOfDamagedBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	data := randomLeaf(r, kv.KindString, 100).appendTo(nil)
	for cut := range data {
		if err := new(leaf).decode(data[:cut]); !errors.Is(err, kv.ErrCorrupt) {
			t.Fatalf("a leaf cut at byte %d of %d: got %v, want a kv.ErrCorrupt", cut, len(data), err)
		}
	}
	if err := new(leaf).decode(append(bytes.Clone(data), 0)); !errors.Is(err, kv.ErrCorrupt) {
		t.Fatalf("a leaf with a byte behind its end: got %v, want a kv.ErrCorrupt", err)
	}
	for range 20000 {
		damaged := bytes.Clone(data)
		damaged[r.IntN(len(damaged))] = byte(r.Uint32())
		decodeAny(t, damaged)
	}
}
