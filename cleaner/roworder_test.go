package cleaner

import (
	"cmp"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// misplacedOf finds the misplaced rows of a case.
func misplacedOf(t *testing.T, c *orderCase) []MisplacedRows {
	t.Helper()
	_, o, err := c.see()
	must.Do(t, err)
	return o.misplaced(c.classes)
}

// byClass sorts the nodes by label.
func (c *orderCase) byClass() {
	order := make([]int, len(c.labels))
	for v := range order {
		order[v] = v
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(c.labels[a], c.labels[b]) })
	labels, tops := slices.Clone(c.labels), slices.Clone(c.tops)
	for i, v := range order {
		c.labels[i], c.tops[i] = labels[v], tops[v]
	}
}

func TestMisplacedRows(t *testing.T) {
	for seed := range uint64(20) {
		classes, nodes := 2+int(seed%9), 4000
		for what, change := range map[string]func(c *orderCase) (from, to int){
			"right": func(*orderCase) (int, int) { return 0, 0 },
			"a part of four in another place": func(c *orderCase) (int, int) {
				slices.Reverse(c.tops[1000:2000])
				slices.Reverse(c.tops[2000:3000])
				slices.Reverse(c.tops[1000:3000])
				return 1000, 3000
			},
			"rows of a part off by one": func(c *orderCase) (int, int) {
				copy(c.tops[501:3000], c.tops[500:2999])
				return 500, 3000
			},
			"most rows shuffled": func(c *orderCase) (int, int) {
				some := c.tops[400:]
				c.r.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
				return 400, 4000
			},
			"by class": func(c *orderCase) (int, int) { c.byClass(); return 0, 0 },
			"a class in one run of rows that is never found": func(c *orderCase) (int, int) {
				for v, y := range c.labels {
					if y == 1 {
						c.tops[v] = 0
					}
				}
				c.byClass()
				return 0, 0
			},
			"one prediction for what has no features": func(c *orderCase) (int, int) {
				for v := range 1000 {
					c.tops[v] = 0
				}
				return 0, 0
			},
			"random": func(c *orderCase) (int, int) {
				c.r.Shuffle(nodes, func(i, j int) { c.tops[i], c.tops[j] = c.tops[j], c.tops[i] })
				return 0, 0
			},
			"unlabelled": func(c *orderCase) (int, int) {
				for v := range 1000 {
					c.labels[v] = kv.NoClass
				}
				return 0, 0
			},
		} {
			c := newOrderCase(seed, nodes, classes, seed%2 == 0, 0.2, 0.75)
			from, to := change(c)
			first, end := int64(from/200*200), int64((to+199)/200*200) // of the blocks that have such rows
			found := int64(0)
			for _, a := range misplacedOf(t, c) {
				found += a.Last - a.First + 1
				if a.First < first || a.Last >= end || int64(a.FirstNode) != a.First || int64(a.LastNode) != a.Last {
					t.Errorf("seed %d, %d classes, %s: got %+v, want rows of %d to %d", seed, classes, what, a, from, to)
				}
			}
			// With few classes, or with most nodes in one, predictions of other nodes agree with too many labels.
			many := classes > 4 && seed%2 == 1 || classes > 6
			if many && 10*found < 9*int64(to-from) {
				t.Errorf("seed %d, %d classes, %s: got %d rows, want nine of ten of %d", seed, classes, what, found, to-from)
			}
		}
	}
	if got := misplacedOf(t, newOrderCase(1, 390, 3, false, 0, 1)); got != nil {
		t.Errorf("few rows: got %+v", got)
	}
}

// TestHarderRows has rows that are harder than the others and better than chance: 38 % are right, of four classes.
func TestHarderRows(t *testing.T) {
	c := newOrderCase(1, 1600, 4, false, 0, 1)
	for v := range 400 {
		if v%50 >= 19 {
			c.tops[v] = (c.labels[v] + 1 + kv.Class(v%3)) % 4
		}
	}
	if got := misplacedOf(t, c); got != nil {
		t.Errorf("got %+v, want no misplaced rows", got)
	}
}
