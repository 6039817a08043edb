package changes

import (
	"bytes"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

func TestCommitsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := Commit{Number: rapid.Uint64().Draw(t, "number"), Added: rapid.IntRange(0, record.MaxNodes).Draw(t, "added"), Lists: []List{}}
		for range rapid.IntRange(0, 3).Draw(t, "lists") {
			kind := Kind(rapid.Uint32().Draw(t, "kind"))
			if rapid.Bool().Draw(t, "all") {
				want.Lists = append(want.Lists, List{Kind: kind, All: true})
				continue
			}
			nodes := rapid.SliceOf(rapid.Map(rapid.Uint32(), func(v uint32) record.NodeID { return record.NodeID(v) })).Draw(t, "nodes")
			want.Lists = append(want.Lists, Sorted(kind, nodes))
		}
		if got, err := Parse(want.Number, want.Append(nil)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, %v; want %v", got, err, want)
		}
	})
}

// A service's transaction, of a node with a label and three edges, takes few bytes.
func TestSmallCommitsAreSmall(t *testing.T) {
	c := Commit{Number: 1 << 20, Added: 1, Lists: []List{
		Sorted(Edges, []record.NodeID{1 << 20, 77, 1 << 20, 5000, 1 << 20, 900_000}),
		Sorted(1, []record.NodeID{1 << 20}),
	}}
	if got := len(c.Append(nil)); got > 20 {
		t.Errorf("got %d bytes, want at most 20", got)
	}
}

func TestShorten(t *testing.T) {
	c := Commit{Lists: []List{Sorted(1, []record.NodeID{5}), {Kind: 2, All: true}, Sorted(3, []record.NodeID{7, 6})}}
	for _, want := range []int{2, 0} {
		if !c.Shorten() || !c.Lists[want].All || c.Lists[want].Nodes != nil {
			t.Errorf("got %v, want all of list %d", c, want)
		}
	}
	if c.Shorten() {
		t.Error("got a list with nodes, want none")
	}
}

func TestDamagedCommits(t *testing.T) {
	for name, body := range map[string][]byte{
		"nothing":              {},
		"more behind it":       {0, 0, 0},
		"too many nodes added": {0xff, 0xff, 0xff, 0xff, 0xff, 1, 0},
		"too many lists":       {0, 9},
		"a kind cut off":       {0, 1, 0x80},
		"too many nodes":       {0, 1, 0, 9, 1},
		"a node twice":         {0, 1, 0, 2, 1, 0},
		"a node that is none":  {0, 1, 0, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 1},
	} {
		if r, err := Parse(10, body); err == nil {
			t.Errorf("%s: got %v, want an error", name, r)
		}
	}
}

// Bytes are refused, or what they say is said again by what Append makes of it.
func FuzzParse(f *testing.F) {
	c := Commit{Added: 1, Lists: []List{Sorted(Edges, []record.NodeID{9, 2})}}
	f.Add(c.Append(nil))
	f.Add([]byte{0, 0})
	f.Fuzz(func(t *testing.T, body []byte) {
		want, err := Parse(1, body)
		if err != nil {
			return
		}
		again := want.Append(nil)
		if got, err := Parse(1, again); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, %v; want %v", got, err, want)
		}
		if len(again) > len(body) || len(again) == len(body) && !bytes.Equal(again, body) {
			t.Errorf("got %x, want %x or less", again, body)
		}
	})
}
