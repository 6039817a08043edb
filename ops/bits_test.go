package ops

import (
	"context"
	"encoding/binary"
	"hash/fnv"
	"math/rand/v2"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// TestSameBitsOnEveryProcessor holds diagonals, also by blocks, and propagation to bits that were computed on an amd64
// processor with AVX2.
func TestSameBitsOnEveryProcessor(t *testing.T) {
	ctx, r := context.Background(), rand.New(rand.NewPCG(1, 0))
	sum := fnv.New64a()
	take := func(values any, err error) {
		if t.Helper(); err != nil {
			t.Fatal(err)
		}
		text := must.Get(binary.Append(nil, binary.LittleEndian, values))(t)
		_, _ = sum.Write(text)
	}
	check := func(what string, want uint64) {
		if got := sum.Sum64(); got != want {
			t.Errorf("hash of %s: got %#x, want %#x", what, got, want)
		}
		sum.Reset()
	}
	propagated := func(g Graph, d *Diagonals) {
		x := Dense(randomRows(r, g.NumNodes(), 9), 9)
		hops, err := collect(ctx, g, x, Operator{Hops: d.Hops(), Diagonals: d}, Options{})
		for _, values := range hops {
			take(values, err)
		}
	}

	heavy := shuffled(rmat(7, 8, 1), 2)
	exact, err := ComputeDiagonals(ctx, heavy, Powers{Hops: MaxHops}, Options{})
	for k := 1; k <= MaxHops; k++ {
		take(exact.At(k), err)
	}
	check("diagonals", 0xc83e58a2d09228dd)
	c := cut(t, heavy, []int{0, 40, 100, heavy.NumNodes()})
	triangles, err := c.returnsAfterThree(ctx, c.strengths(t, rand.New(rand.NewPCG(1, 0))))
	take(triangles, err)
	check("triangles of blocks", 0x90443a90165e52b3)
	propagated(heavy, exact)
	check("propagation", 0x923861427f1681d0)
	for range 20 {
		g := randomArcGraph(r, true, true)
		d, err := ComputeDiagonals(ctx, g, Powers{Hops: MaxHops}, Options{})
		for k := 1; k <= MaxHops; k++ {
			take(d.At(k), err)
		}
		propagated(g, d)
	}
	check("weighted graphs", 0xe0d52da726b3bca7)
}
