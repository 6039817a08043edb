package cleaner

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// An orderCase is labels and what a classifier predicts largest, in the order of the classes.
type orderCase struct {
	classes        int
	labels, tops   []kv.Class
	names          []string
	r              *rand.Rand
	asym, accuracy float64
}

// newOrderCase has nodes of classes of very different sizes where skewed; a share asym of the labels is the next class,
// and a share accuracy of the nodes is predicted as their true class, the others as any.
func newOrderCase(seed uint64, nodes, classes int, skewed bool, asym, accuracy float64) *orderCase {
	c := &orderCase{classes: classes, r: rand.New(rand.NewPCG(seed, 0)), asym: asym, accuracy: accuracy}
	for k := range classes {
		c.names = append(c.names, fmt.Sprintf("class %d", k))
	}
	for range nodes {
		truth := c.r.IntN(classes)
		if skewed {
			truth = min(truth, c.r.IntN(classes), c.r.IntN(classes))
		}
		label, top := truth, truth
		if c.r.Float64() < asym {
			label = (truth + 1) % classes
		}
		if c.r.Float64() >= accuracy {
			top = c.r.IntN(classes)
		}
		c.labels, c.tops = append(c.labels, kv.Class(label)), append(c.tops, kv.Class(top))
	}
	return c
}

// permuted puts the column of class k at place to[k].
func (c *orderCase) permuted(to []int) *orderCase {
	p := *c
	p.tops = make([]kv.Class, len(c.tops))
	for v, top := range c.tops {
		p.tops[v] = kv.Class(to[top])
	}
	return &p
}

func (c *orderCase) count() (*contingency, error) {
	o, row, columns := newAgreementCounter(len(c.labels)), make([]float64, c.classes), make([]kv.Class, c.classes)
	for v, top := range c.tops {
		row[top] = 1
		o.see(kv.NodeID(v), row)
		row[top] = 0
	}
	for k := range columns {
		columns[k] = kv.Class(k)
	}
	return o.count(len(c.labels), c.classes, columns, func(rows kv.Range, dst []kv.Class) error {
		copy(dst, c.labels[rows.First:rows.End])
		return nil
	})
}

func (c *orderCase) check() error {
	counted, err := c.count()
	if err != nil {
		return err
	}
	if order := counted.check(c.names, true); order != nil {
		return order
	}
	return nil
}

// wants is the order of the names of the columns when they are permuted.
func (c *orderCase) wants(to []int) []string {
	names := make([]string, c.classes)
	for k, j := range to {
		names[j] = c.names[k]
	}
	return names
}

// swapped moves the columns of two classes, if they differ, and no other.
func swapped(classes, a, b int) []int {
	to := make([]int, classes)
	for k := range to {
		to[k] = k
	}
	to[a], to[b] = b, a
	return to
}

func TestPermutedColumnsAreFound(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		classes := []int{2, 3, 7, 40, 300}[seed%5]
		nodes := max(60*classes, 500)
		c := newOrderCase(seed, nodes, classes, false, 0.2*r.Float64(), 0.7+0.3*r.Float64())
		for _, to := range [][]int{r.Perm(classes), swapped(classes, 0, classes-1), swapped(classes, classes/2, 0)} {
			err := c.permuted(to).check()
			want := c.wants(to)
			if slices.Equal(want, c.names) {
				if err != nil {
					t.Errorf("seed %d, %d classes in the order given: got %v", seed, classes, err)
				}
				continue
			}
			found, ok := errors.AsType[*ColumnOrderError](err)
			if !ok {
				t.Errorf("seed %d, %d classes, order %v: got %v, want a *ColumnOrderError", seed, classes, to, err)
				continue
			}
			if !slices.Equal(found.Classes, want) || found.Guesses != nil {
				t.Errorf("seed %d, %d classes: got the order %q (guessed %q), want %q", seed, classes, found.Classes, found.Guesses, want)
			}
			if found.PermutedMatches <= found.GivenMatches || found.Nodes != int64(nodes) {
				t.Errorf("seed %d: %d of %d agree in the order found and %d in the order given", seed, found.PermutedMatches, found.Nodes, found.GivenMatches)
			}
		}
	}
}

// TestOrderIsKept: no classifier, label noise or small number of labels passes for another order.
func TestOrderIsKept(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 2))
		classes := 2 + r.IntN(1+r.IntN(60))
		nodes, skewed := 1+r.IntN(4000), r.IntN(2) == 0
		right := newOrderCase(seed, nodes, classes, skewed, 0.5*r.Float64(), r.Float64())
		for what, c := range map[string]*orderCase{
			"asymmetric label noise":     newOrderCase(seed, nodes, classes, skewed, 0.4+0.1*r.Float64(), 1),
			"random predictions":         newOrderCase(seed, nodes, classes, skewed, 0, 0),
			"a weak classifier":          newOrderCase(seed, nodes, classes, skewed, 0, 0.1*r.Float64()),
			"a few labels":               newOrderCase(seed, r.IntN(8), classes, skewed, 0, r.Float64()).permuted(r.Perm(classes)),
			"a constant classifier":      right.permuted(make([]int, classes)),
			"the order given":            right,
			"two classes taken for one":  right.permuted(merged(classes, r.IntN(classes), r.IntN(classes))),
			"a classifier of one column": newOrderCase(seed, nodes, classes, skewed, 0, 0.2).permuted(merged(classes, 0, classes-1)),
		} {
			if err := c.check(); err != nil {
				t.Errorf("seed %d, %d nodes, %d classes, %s: got %v", seed, nodes, classes, what, err)
			}
		}
	}
}

// merged maps class a to b and all others to themselves.
func merged(classes, a, b int) []int {
	to := swapped(classes, 0, 0)
	to[a] = b
	return to
}

// TestDoubtfulOrder: two columns of a weak classifier that are swapped are told of, and no order that is right.
func TestDoubtfulOrder(t *testing.T) {
	for seed := range uint64(30) {
		classes := 3 + int(seed%10)
		c := newOrderCase(seed, 400*classes, classes, false, 0.2, 0.35)
		for _, to := range [][]int{swapped(classes, 0, 0), swapped(classes, 1, 2)} {
			counted := must.Get(c.permuted(to).count())(t)
			order, want := counted.check(c.names, false), c.wants(to)
			if right := slices.Equal(want, c.names); right != (order == nil) || !right && !slices.Equal(order.Classes, want) {
				t.Errorf("seed %d, %d classes: got %v, want the order %q", seed, classes, order, want)
			}
		}
	}
}

// TestBestOrderOfWeakPredictions: no order agrees above chance more than the one that is named, and so not the right
// one.
func TestBestOrderOfWeakPredictions(t *testing.T) {
	for seed := range uint64(40) {
		classes := 2 + int(seed)
		c := newOrderCase(seed, 600, classes, seed%2 == 0, 0.1, 0.15)
		to := c.r.Perm(classes)
		counted := must.Get(c.permuted(to).count())(t)
		var named, right float64
		for j, y := range counted.match() {
			named += max(counted.count(y, j)-counted.chance(y, j), 0)
		}
		for y, j := range to {
			right += max(counted.count(y, j)-counted.chance(y, j), 0)
		}
		if named < right-1e-3 {
			t.Errorf("seed %d, %d classes: %v nodes agree above chance in the order named, and %v in the right one",
				seed, classes, named, right)
		}
	}
}

// TestOrderOfManyClasses takes no matrix between them.
func TestOrderOfManyClasses(t *testing.T) {
	const classes = 5000
	c := newOrderCase(1, 20*classes, classes, false, 0.1, 0.6)
	pairs := func(c *orderCase) (pairs []uint64) {
		for v, top := range c.tops {
			pairs = append(pairs, uint64(c.labels[v])*classes+uint64(top))
		}
		return pairs
	}
	if err := newContingency(pairs(c), classes).check(c.names, true); err != nil {
		t.Errorf("in the order given: got %v", err)
	}
	to := c.r.Perm(classes)
	found := newContingency(pairs(c.permuted(to)), classes).check(c.names, true)
	if found == nil {
		t.Fatal("permuted: got no *ColumnOrderError")
	}
	wrong := 0
	for j, name := range c.wants(to) {
		if found.Classes[j] != name {
			wrong++
		}
	}
	if wrong > classes/1000 {
		t.Errorf("%d of %d columns are named wrong", wrong, classes)
	}
}

// TestOrderOfClassesWithoutLabels: what nothing speaks for is named as a guess.
func TestOrderOfClassesWithoutLabels(t *testing.T) {
	c := newOrderCase(3, 600, 4, false, 0, 0.9)
	for v, y := range c.labels {
		if y == 3 {
			c.labels[v] = kv.NoClass
		}
	}
	found, ok := errors.AsType[*ColumnOrderError](c.permuted([]int{1, 2, 3, 0}).check())
	if !ok || !slices.Equal(found.Classes, []string{"class 3", "class 0", "class 1", "class 2"}) || !slices.Equal(found.Guesses, []string{"class 3"}) {
		t.Errorf("three of four columns told by the labels: got %+v", found)
	}
}

// TestOrderOfFewLabels: five nodes of each of twelve classes show that all but two columns are permuted.
func TestOrderOfFewLabels(t *testing.T) {
	c := newOrderCase(1, 0, 12, false, 0, 1)
	for v := range 60 {
		c.labels, c.tops = append(c.labels, kv.Class(v%12)), append(c.tops, kv.Class(v%12))
	}
	to := []int{0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 2}
	found, ok := errors.AsType[*ColumnOrderError](c.permuted(to).check())
	if !ok || found.GivenMatches != 10 || found.PermutedMatches != 60 || !slices.Equal(found.Classes, c.wants(to)) {
		t.Errorf("got %+v, want 60 of 60 in the order %q", found, c.wants(to))
	}
}

// TestLittleAgreement tells shuffled rows from rows in their order.
func TestLittleAgreement(t *testing.T) {
	for seed := range uint64(20) {
		c := newOrderCase(seed, 300, 2+int(seed%5), seed%2 == 0, 0.1, 0.6)
		shuffled := *c
		shuffled.tops = slices.Clone(c.tops)
		c.r.Shuffle(len(c.tops), func(i, j int) { shuffled.tops[i], shuffled.tops[j] = shuffled.tops[j], shuffled.tops[i] })
		for _, of := range []struct {
			c    *orderCase
			want bool
		}{{c, false}, {&shuffled, true}} {
			counted := must.Get(of.c.count())(t)
			if got := counted.agreement(); got.IsLittle() != of.want || got.Nodes != 300 {
				t.Errorf("seed %d: got %+v, want little agreement %v", seed, got, of.want)
			}
		}
	}
	of := newOrderCase(1, 300, 2, true, 0.1, 0.6)
	for i := range of.tops {
		of.tops[i] = 0
	}
	if counted, err := of.count(); err != nil || !counted.agreement().OneOnly {
		t.Errorf("one class is predicted: got %+v, %v, want no verdict on the order of rows", counted.agreement(), err)
	}
	if (Agreement{Nodes: fewNodes - 1, Chance: 9}).IsLittle() {
		t.Error("few nodes that do not agree: got little agreement, want no verdict")
	}
}
