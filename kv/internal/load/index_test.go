package load

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/dict"
)

// randomID draws an id of a style, seldom one that was drawn before.
func randomID(r *rand.Rand, style, i int) string {
	switch style {
	case 0:
		return strconv.Itoa(i)
	case 1:
		return strconv.Itoa(r.IntN(5000))
	case 2:
		return strconv.FormatInt(int64(r.Uint64())>>r.IntN(60), 10)
	case 3:
		return "pé" + strconv.Itoa(r.IntN(5000))
	}
	return strings.Repeat("é", r.IntN(dict.MaxID/2)) + strconv.Itoa(i)
}

// An index holds the first position of each id, whether it is by number, by text, or first one and then the other; it
// is off where its memory ends, and stays below that.
func TestIDIndexAgainstMap(t *testing.T) {
	offs, byText := 0, 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 21))
		x := newIDIndex([]int64{0, 16 << 10, 256 << 10, 64 << 20}[r.IntN(4)])
		want := map[string]int{}
		style, turn, count := r.IntN(5), r.IntN(3000), r.IntN(3000)
		for i := range count {
			id := randomID(r, style, i)
			if i >= turn {
				id = randomID(r, (style+2)%5, i)
			}
			first, duplicate, err := x.add(id)
			must.Do(t, err)
			if x.off {
				break
			}
			if there, known := want[id]; duplicate != known || known && first != there {
				t.Fatalf("seed %d: add(%q): got %d, %v, want %d, %v", seed, id, first, duplicate, there, known)
			} else if !known {
				want[id] = len(want)
			}
		}
		if held := 8*int64(len(x.texts.slots.Data)) + x.texts.used; held > x.texts.limit {
			t.Errorf("seed %d: got %d bytes of texts, want at most %d", seed, held, x.texts.limit)
		}
		switch {
		case x.off:
			offs++
		case x.byText:
			byText++
		}
		if !x.off {
			verifyIndex(t, &x, want, r)
		}
		must.Do(t, x.turnOff())
	}
	if offs == 0 || byText == 0 {
		t.Errorf("got %d indexes off and %d by text, want some of both", offs, byText)
	}
}

// verifyIndex looks ids up in batches, those of want and as many others.
func verifyIndex(t *testing.T, x *idIndex, want map[string]int, r *rand.Rand) {
	t.Helper()
	var ids []string
	for id := range want {
		ids = append(ids, id, id+"0", strconv.Itoa(r.IntN(6000)))
	}
	ids = append(ids, "nobody", "nobody")
	var b edgeBatch
	for len(ids) > 1 {
		n := min(len(ids)/2, batchEdges)
		for i := range n {
			if x.byText {
				b.addTexts(ids[2*i], ids[2*i+1], 1, 0)
			} else {
				b.add(integerKey(ids[2*i]), integerKey(ids[2*i+1]), 1, 0)
			}
		}
		b.find(x)
		for end := range 2 * n {
			position, known := want[ids[end]]
			if !known {
				position = notFound
			}
			if got := b.positions[end]; got != uint32(position) {
				t.Fatalf("position of %q: got %d, want %d", ids[end], got, position)
			}
			if got := b.id(x, end); b.keys[end] != noInteger && got != ids[end] {
				t.Fatalf("id of end %d: got %q, want %q", end, got, ids[end])
			}
		}
		b.clear()
		ids = ids[2*n:]
	}
}
