package changes

import (
	"maps"
	"slices"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

func setOf(nodes ...record.NodeID) *Touched {
	t := new(Touched)
	t.Add(nodes...)
	return t
}

// A service's transaction, of a node with a label and three edges, takes few bytes.
func TestSmallCommitsAreSmall(t *testing.T) {
	c := Commit{Added: 1, Sets: Sets{
		"edges":        setOf(77, 5000, 900_000, 1<<20),
		"column label": setOf(1 << 20),
	}}
	if got := must.Get(c.Encode(1 << 10))(t); len(got) > 60 {
		t.Errorf("got %d bytes, want at most 60", len(got))
	}
}

// The largest sets become those of all nodes, no more of them than must. One without nodes stays so.
func TestLongCommits(t *testing.T) {
	long := make([]record.NodeID, 1000)
	for i := range long {
		long[i] = record.NodeID(i)
	}
	for limit, want := range map[int][]string{1 << 12: {}, 1000: {"longer"}, 100: {"long", "longer"},
		1: {"long", "longer", "short"}} {
		c := Commit{Sets: Sets{"short": setOf(7), "long": setOf(long[:500]...), "longer": setOf(long...), "none": setOf()}}
		got := must.Get(Parse(must.Get(c.Encode(limit))(t), len(long)))(t)
		maps.DeleteFunc(got.Sets, func(_ string, s *Touched) bool { return !s.All })
		if all := slices.Sorted(maps.Keys(got.Sets)); !slices.Equal(all, want) {
			t.Errorf("at most %d bytes: got all nodes in %q, want %q", limit, all, want)
		}
	}
}

func TestDamagedCommits(t *testing.T) {
	const nodes = 10
	encode := func(added int, gaps []byte) []byte {
		return must.Get(msgpack.Marshal(map[string]any{"added": added, "sets": map[string][]byte{"edges": gaps}}))(t)
	}
	whole := encode(10, []byte{0, 9})
	must.Get(Parse(whole, nodes))(t)
	for name, body := range map[string][]byte{
		"nothing":              {},
		"cut off":              whole[:len(whole)-1],
		"too many nodes added": encode(11, nil),
		"fewer than none":      encode(-1, nil),
		"a gap cut off":        encode(0, []byte{0x80}),
		"a node twice":         encode(0, []byte{1, 0}),
		"a node that is none":  encode(0, []byte{1, 9}),
		"a node far beyond":    encode(0, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}),
	} {
		if c, err := Parse(body, nodes); err == nil {
			t.Errorf("%s: got %v, want an error", name, c)
		}
	}
}

// Bytes are refused, or their nodes are there and the same again.
func FuzzParse(f *testing.F) {
	const nodes = 1000
	c := Commit{Added: 1, Sets: Sets{"edges": setOf(2, 9), "column x": {All: true}}}
	f.Add(must.Get(c.Encode(1 << 10))(f))
	f.Fuzz(func(t *testing.T, body []byte) {
		c, err := Parse(body, nodes)
		if err != nil {
			return
		}
		again := must.Get(Parse(must.Get(c.Encode(1<<30))(t), nodes))(t)
		for name, s := range c.Sets {
			got := slices.Collect(s.Nodes())
			if !slices.Equal(slices.Collect(again.Sets[name].Nodes()), got) || len(got) > 0 && int(slices.Max(got)) >= nodes {
				t.Errorf("%q: got nodes %v", name, got)
			}
		}
	})
}
