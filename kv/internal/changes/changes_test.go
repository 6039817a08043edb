package changes

import (
	"maps"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

func setOf(nodes ...record.NodeID) Set { return SetOf(slices.Values(nodes)) }

// A service's transaction, of a node with a label and three edges, takes few bytes.
func TestSmallCommitsAreSmall(t *testing.T) {
	c := Commit{Added: 1, Sets: map[string]Set{
		"edges":        setOf(77, 5000, 900_000, 1<<20),
		"column label": setOf(1 << 20),
	}}
	if got := must.Get(c.Encode(1 << 10))(t); len(got) > 60 {
		t.Errorf("got %d bytes, want at most 60", len(got))
	}
}

// The longest sets become those of all nodes, no more of them than must.
func TestLongCommits(t *testing.T) {
	long := make([]record.NodeID, 1000)
	for i := range long {
		long[i] = record.NodeID(i)
	}
	for limit, want := range map[int][]string{1 << 12: {}, 1000: {"longer"}, 100: {"long", "longer"}, 1: {"long", "longer", "short"}} {
		c := Commit{Sets: map[string]Set{"short": setOf(7), "long": setOf(long[:500]...), "longer": setOf(long...)}}
		got := must.Get(Parse(must.Get(c.Encode(limit))(t), len(long)))(t)
		maps.DeleteFunc(got.Sets, func(_ string, s Set) bool { return !s.All() })
		if all := slices.Sorted(maps.Keys(got.Sets)); !slices.Equal(all, want) {
			t.Errorf("at most %d bytes: got all nodes in %q, want %q", limit, all, want)
		}
	}
}

func TestDamagedCommits(t *testing.T) {
	const nodes = 10
	encode := func(added int, s Set) []byte {
		c := Commit{Added: added, Sets: map[string]Set{"edges": s}}
		return must.Get(c.Encode(1 << 10))(t)
	}
	whole := encode(10, Set{0, 9})
	must.Get(Parse(whole, nodes))(t)
	for name, body := range map[string][]byte{
		"nothing":              {},
		"cut off":              whole[:len(whole)-1],
		"too many nodes added": encode(11, nil),
		"fewer than none":      encode(-1, nil),
		"a gap cut off":        encode(0, Set{0x80}),
		"a node twice":         encode(0, Set{1, 0}),
		"a node that is none":  encode(0, Set{1, 9}),
		"a node far beyond":    encode(0, Set{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}),
	} {
		if c, err := Parse(body, nodes); err == nil {
			t.Errorf("%s: got %v, want an error", name, c)
		}
	}
}

// Bytes are refused, or their nodes ascend and are there.
func FuzzParse(f *testing.F) {
	const nodes = 1000
	c := Commit{Added: 1, Sets: map[string]Set{"edges": setOf(2, 9)}}
	f.Add(must.Get(c.Encode(1 << 10))(f))
	f.Fuzz(func(t *testing.T, body []byte) {
		c, err := Parse(body, nodes)
		if err != nil {
			return
		}
		for name, s := range c.Sets {
			got := slices.Collect(s.Nodes())
			if again := setOf(got...); !slices.Equal(slices.Collect(again.Nodes()), got) || len(got) > 0 && int(slices.Max(got)) >= nodes {
				t.Errorf("%q: got nodes %v", name, got)
			}
		}
	})
}
