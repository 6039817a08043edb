package labelnoise

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/internal/testing/kvtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

func TestParseLabelNoise(t *testing.T) {
	for _, kind := range Kinds() {
		for text, rate := range map[string]float64{"0.1": 0.1, "0.25": 0.25, "1e-3": 0.001, ".5": 0.5} {
			if got := mustParse(t, kind+":"+text); got.kind.name != kind || got.rate != rate {
				t.Errorf("noise %s:%s: got %+v", kind, text, got)
			}
		}
	}
	for _, text := range []string{"", "sym", "sym:", "sym:0", "sym:1", "sym:-0.1", "sym:1.5", "asym:NaN", "sym:Inf", "sym:0.1:2", "pair:0.1", "0.1", "SYM:0.1", "sym:0,1"} {
		_, err := Parse(text)
		if !errors.Is(err, cleaner.ErrOptions) || !strings.Contains(err.Error(), "want KIND:RATE with one of sym, asym,") {
			t.Errorf("noise %q: got %v, want ErrOptions that says what is wanted", text, err)
		}
	}
}

func identityOrder(n int) iter.Seq2[kv.NodeID, error] {
	return func(yield func(kv.NodeID, error) bool) {
		for v := range n {
			if !yield(kv.NodeID(v), nil) {
				return
			}
		}
	}
}

// listOrder is an order of nodes by a list.
func listOrder(nodes []kv.NodeID) iter.Seq2[kv.NodeID, error] {
	return func(yield func(kv.NodeID, error) bool) {
		for _, v := range nodes {
			if !yield(v, nil) {
				return
			}
		}
	}
}

func mustParse(t *testing.T, text string) Noise {
	t.Helper()
	noise := must.Get(Parse(text))(t)
	return noise
}

// mustInject is inject in an order that can be read.
func mustInject(t *testing.T, n Noise, labels []kv.Class, order iter.Seq2[kv.NodeID, error], classes int, seed uint64) []kv.Class {
	t.Helper()
	noisy := must.Get(n.Inject(t.Context(), &Graph{Labels: labels, Order: order, Classes: classes}, seed, ops.Options{}))(t)
	return noisy
}

func TestInjectedNoise(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 0))
		n, c := 1+r.IntN(200), 2+r.IntN(5)
		labels := kvtest.AwkwardLabels(r, n, c)
		before := slices.Clone(labels)
		noise := mustParse(t, fmt.Sprintf("%s:%v", Kinds()[(seed+1)%2], 0.05+0.9*r.Float64()))
		noisy := mustInject(t, noise, labels, identityOrder(n), c, seed)
		if !slices.Equal(labels, before) {
			t.Fatalf("seed %d: the labels given were changed", seed)
		}
		changed := 0
		for v, y := range noisy {
			switch {
			case labels[v] == kv.NoClass && y != kv.NoClass:
				t.Fatalf("seed %d: node %d was unlabelled and became %d", seed, v, y)
			case y == labels[v]:
				continue
			case y < 0 || int(y) >= c:
				t.Fatalf("seed %d: node %d became %d, want one of %d classes", seed, v, y, c)
			case noise.kind.name == "asym" && int(y) != (int(labels[v])+1)%c:
				t.Fatalf("seed %d: node %d went from %d to %d, want the next of %d classes", seed, v, labels[v], y, c)
			}
			changed++
		}
		if want := int(math.Round(noise.rate * float64(labelled(labels)))); changed != want {
			t.Errorf("seed %d: %d of %d labels changed at rate %.3f, want %d", seed, changed, labelled(labels), noise.rate, want)
		}
		if again := mustInject(t, noise, labels, identityOrder(n), c, seed); !slices.Equal(again, noisy) {
			t.Errorf("seed %d: a second time it differs", seed)
		}

		// Numbered otherwise, the node at a place in the file gets the same label.
		order, renumbered := make([]kv.NodeID, n), make([]kv.Class, n)
		for place, v := range r.Perm(n) {
			order[place], renumbered[v] = kv.NodeID(v), labels[place]
		}
		other := mustInject(t, noise, renumbered, listOrder(order), c, seed)
		for place, v := range order {
			if other[v] != noisy[place] {
				t.Fatalf("seed %d: the node at place %d becomes %d or %d, by its number", seed, place, noisy[place], other[v])
			}
		}
	}
}
