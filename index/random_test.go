package index

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// The columns of random stores, one of each kind.
var randomColumns = []kv.Column{
	{Name: "flag", Kind: kv.KindBool},
	{Name: "year", Kind: kv.KindInt},
	{Name: "weight", Kind: kv.KindFloat},
	{Name: "share", Kind: kv.KindSingle},
	{Name: "title", Kind: kv.KindString},
	{Name: "venue", Kind: kv.KindClass},
}

// A model has the data of a random store, by NodeID.
type model struct {
	ids       []string // of a removed node empty
	positions []int
	degrees   []int
	values    map[string][]kv.Value
}

func (m *model) value(v int, property string) kv.Value {
	switch property {
	case "id":
		return kv.ValueOf(m.ids[v])
	case "degree":
		return kv.ValueOf(int64(m.degrees[v]))
	case "far":
		return farOf(v)
	}
	if column := m.values[property]; column != nil {
		return column[v]
	}
	return kv.Value{} // built in, and absent
}

// randomComputed are the properties that random queries compute. A node that was removed must not be asked about.
func randomComputed(m *model) map[string]Computed {
	return map[string]Computed{"far": {kv.KindFloat, func(v kv.NodeID) (kv.Value, error) {
		if m.ids[v] == "" {
			return kv.Value{}, fmt.Errorf("node %d was removed", v)
		}
		return farOf(int(v)), nil
	}}}
}

func farOf(v int) kv.Value {
	if v%7 == 3 {
		return kv.Value{}
	}
	return kv.ValueOf(float64(v%11) / 8)
}

var titles = []string{
	"", "a", "A", "ab", "abc", "Theory", "theory", "Théorie", "数", "a\x00b", "a\x00", "100%", "under_score", `back\slash`,
	strings.Repeat("long", 40), strings.Repeat("long", 40) + "a", strings.Repeat("long", 40) + "b",
	strings.Repeat("x", maxStringKey), strings.Repeat("x", maxStringKey) + "y",
}

// randomValue draws a value of a column, null now and then; few distinct ones, so that conditions meet.
func randomValue(r *rand.Rand, kind kv.Kind) kv.Value {
	if r.IntN(6) == 0 {
		return kv.Value{}
	}
	switch kind {
	case kv.KindBool:
		return kv.ValueOf(r.IntN(2) == 0)
	case kv.KindInt:
		return kv.ValueOf([]int64{math.MinInt64, -3, -1, 0, 1, 2, 7, 1 << 53, 1<<53 + 1, math.MaxInt64}[r.IntN(10)])
	case kv.KindFloat:
		return kv.ValueOf([]float64{math.Inf(-1), -1.5, math.Copysign(0, -1), 0, 1e-300, 0.5, 0.97, 1 << 53, 7,
			math.Inf(1)}[r.IntN(10)])
	case kv.KindSingle:
		return kv.ValueOf(float64(float32(r.IntN(50)) / 50))
	case kv.KindClass:
		return kv.ValueOf([]string{"NeurIPS", "ICML", "10", "9", "ICLR"}[r.IntN(5)])
	default:
		return kv.ValueOf(titles[r.IntN(len(titles))])
	}
}

// randomStore makes a store of n nodes with indexes on some columns, and its model.
func randomStore(t testing.TB, r *rand.Rand, n int) (*kv.Store, *model) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	loader := must.Get(kv.NewLoader(t.Context(), dir, kv.LoadOptions{Properties: randomColumns}))(t)
	loaded := n - r.IntN(n/4+1) // the rest is added later
	for i := range loaded {
		node := kv.Node{ID: randomID(i)}
		if r.IntN(5) > 0 {
			node.Label = fmt.Sprint("class ", r.IntN(4))
		}
		for _, c := range randomColumns {
			node.Values = append(node.Values, randomValue(r, c.Kind))
		}
		must.Do(t, loader.AddNode(node))
	}
	if loaded > 0 {
		for range 3 * loaded {
			must.Do(t, loader.AddEdge(randomID(r.IntN(loaded)), randomID(r.IntN(loaded)), 0))
		}
	}
	if _, err := loader.Commit(context.Background(), nil); err != nil {
		t.Fatalf("load: %v", err)
	}
	s := open(t, dir)
	for _, name := range []string{"label", "flag", "year", "weight", "share", "title", "venue"} {
		if r.IntN(3) > 0 {
			must.Do(t, Create(context.Background(), s, name))
		}
	}
	update(t, s, func(tx *kv.Tx) error {
		for i := loaded; i < n; i++ {
			if _, err := tx.AddNode(kv.Node{ID: randomID(i), Label: fmt.Sprint("class ", r.IntN(5))}); err != nil {
				return err
			}
		}
		return changeRandomly(t, tx, r, n)
	})
	update(t, s, func(tx *kv.Tx) error {
		for _, v := range r.Perm(n)[:r.IntN(n/4+1)] {
			must.Do(t, tx.RemoveNode(kv.NodeID(v)))
		}
		return nil
	})
	return s, modelOf(t, s)
}

func randomID(i int) string { return fmt.Sprintf("n%c%d", 'a'+rune(i*7%26), i) }

// changeRandomly sets some values and labels of a store of n nodes.
func changeRandomly(t testing.TB, tx *kv.Tx, r *rand.Rand, n int) error {
	removed := must.Get(tx.Removed())(t)
	for range n / 2 {
		v := kv.NodeID(r.IntN(n))
		if removed.Has(v) {
			continue
		}
		if r.IntN(4) == 0 {
			label := ""
			if class := r.IntN(6); class > 0 {
				label = fmt.Sprint("class ", class)
			}
			must.Do(t, tx.SetLabel(v, label))
			continue
		}
		c := randomColumns[r.IntN(len(randomColumns))]
		must.Do(t, tx.SetValue(v, c.Name, randomValue(r, c.Kind)))
	}
	return nil
}

// modelOf reads a store value by value.
func modelOf(t testing.TB, s *kv.Store) *model {
	t.Helper()
	m := &model{values: map[string][]kv.Value{}}
	view(t, s, func(tx *kv.Tx) error {
		n := tx.NumNodes()
		m.ids, m.positions, m.degrees = make([]string, n), make([]int, n), make([]int, n)
		position := 0
		for v, err := range tx.InFileOrder() {
			must.Do(t, err)
			if m.ids[v], err = tx.ID(v); err != nil {
				return err
			}
			m.positions[v] = position
			position++
		}
		for _, c := range append(tx.Columns(), kv.Column{Name: "degree"}) {
			values := must.Get(tx.Reader(c.Name))(t)
			for v := range kv.NodeID(n) {
				value := must.Get(values.At(v))(t)
				if c.Name == "degree" {
					m.degrees[v] = int(value.Int())
				} else {
					m.values[c.Name] = append(m.values[c.Name], value)
				}
			}
		}
		return nil
	})
	return m
}

func open(t testing.TB, dir string) *kv.Store {
	t.Helper()
	s := must.Get(Open(dir, kv.Options{MemoryBudget: 64 << 20}))(t)
	t.Cleanup(func() {
		mustEndSound(t, s)
		if err := s.Close(); err != nil {
			t.Errorf("close %s: %v", dir, err)
		}
	})
	return s
}

func update(t testing.TB, s *kv.Store, fn func(tx *kv.Tx) error) {
	t.Helper()
	must.Do(t, s.Update(fn))
}

func view(t testing.TB, s *kv.Store, fn func(tx *kv.Tx) error) {
	t.Helper()
	must.Do(t, s.View(fn))
}

// A truth is the outcome of a condition. And is the least of its terms, Or the greatest, Not turns the order round.
type truth int8

const (
	isFalse truth = iota - 1
	isUnknown
	isTrue
)

func truthOf(b bool) truth {
	if b {
		return isTrue
	}
	return isFalse
}

// holds is the definition of a predicate's truth, written without any of the package's machinery.
func (m *model) holds(p Predicate, v int) truth {
	switch p := p.(type) {
	case And:
		least := isTrue
		for _, t := range p.Terms {
			least = min(least, m.holds(t, v))
		}
		return least
	case Or:
		greatest := isFalse
		for _, t := range p.Terms {
			greatest = max(greatest, m.holds(t, v))
		}
		return greatest
	case Not:
		return -m.holds(p.Term, v)
	case IsNull:
		return truthOf(m.value(v, p.Property).IsNull())
	case In:
		greatest := isFalse
		for _, c := range p.Values {
			greatest = max(greatest, m.holds(Compare{p.Property, Eq, c}, v))
		}
		return greatest
	case Like:
		value := m.value(v, p.Property)
		if value.IsNull() {
			return isUnknown
		}
		return truthOf(slowLike([]rune(value.Str()), []rune(p.Pattern)))
	case CompareProperties:
		other := m.value(v, p.Other)
		return m.holds(Compare{p.Property, p.Op, other}, v)
	case Compare:
		value := m.value(v, p.Property)
		if value.IsNull() || p.Value.IsNull() {
			return isUnknown
		}
		c := slowCompare(value, p.Value)
		return truthOf(p.Op == Eq && c == 0 || p.Op == Ne && c != 0 || p.Op == Lt && c < 0 || p.Op == Le && c <= 0 ||
			p.Op == Gt && c > 0 || p.Op == Ge && c >= 0)
	default:
		panic(fmt.Sprintf("%T", p))
	}
}

func slowLike(text, pattern []rune) bool {
	if len(pattern) == 0 {
		return len(text) == 0
	}
	switch {
	case pattern[0] == '%':
		for i := range len(text) + 1 {
			if slowLike(text[i:], pattern[1:]) {
				return true
			}
		}
		return false
	case pattern[0] == '\\' && len(pattern) > 1:
		return len(text) > 0 && text[0] == pattern[1] && slowLike(text[1:], pattern[2:])
	default:
		return len(text) > 0 && (pattern[0] == '_' || text[0] == pattern[0]) && slowLike(text[1:], pattern[1:])
	}
}

// slowCompare orders values of one property.
func slowCompare(a, b kv.Value) int {
	if a.Kind() == kv.KindString {
		return cmp.Compare(a.Str(), b.Str())
	}
	if a.Kind() == kv.KindBool {
		toInt := map[bool]int{true: 1}
		return toInt[a.Bool()] - toInt[b.Bool()]
	}
	if a.Kind() == kv.KindInt && b.Kind() == kv.KindInt {
		return cmp.Compare(a.Int(), b.Int())
	}
	switch {
	case a.Kind() == kv.KindInt:
		return compareIntFloat(a.Int(), b.Float())
	case b.Kind() == kv.KindInt:
		return -compareIntFloat(b.Int(), a.Float())
	default:
		return cmp.Compare(a.Float(), b.Float())
	}
}

// answer is the definition of a query's result.
func (m *model) answer(q Query) []kv.NodeID {
	var rows []kv.NodeID
	for v := range m.ids {
		if m.ids[v] != "" && (q.Where == nil || m.holds(q.Where, v) == isTrue) {
			rows = append(rows, kv.NodeID(v))
		}
	}
	slices.SortFunc(rows, func(x, y kv.NodeID) int {
		for _, o := range q.Order {
			a, b := m.value(int(x), o.Property), m.value(int(y), o.Property)
			switch {
			case a.IsNull() && b.IsNull():
				continue
			case a.IsNull():
				return 1
			case b.IsNull():
				return -1
			}
			c := slowCompare(a, b)
			if o.Descending {
				c = -c
			}
			if c != 0 {
				return c
			}
		}
		return cmp.Compare(m.positions[x], m.positions[y])
	})
	if q.Limit >= 0 && len(rows) > q.Limit {
		rows = rows[:q.Limit]
	}
	return rows
}

// randomPredicate draws a tree over the random columns, depth levels deep at most.
func randomPredicate(r *rand.Rand, m *model, depth int) Predicate {
	if depth > 0 && r.IntN(3) > 0 {
		var terms []Predicate
		for range r.IntN(4) {
			terms = append(terms, randomPredicate(r, m, depth-1))
		}
		switch r.IntN(5) {
		case 0, 1:
			return Or{terms}
		case 2:
			return Not{randomPredicate(r, m, depth-1)}
		default:
			return And{terms}
		}
	}
	names := []string{"label", "flag", "year", "weight", "share", "title", "venue", "id", "degree", "score", "decision",
		"far"}
	name := names[r.IntN(len(names))]
	text := name == "label" || name == "title" || name == "venue" || name == "id" || name == "decision"
	switch r.IntN(9) {
	case 0:
		return IsNull{name}
	case 8:
		pairs := [][2]string{{"label", "venue"}, {"title", "id"}, {"venue", "decision"}, {"year", "weight"},
			{"share", "degree"}, {"score", "year"}, {"flag", "flag"}, {"far", "share"}}
		pair := pairs[r.IntN(len(pairs))]
		return CompareProperties{pair[0], Op(r.IntN(6)), pair[1]}
	case 1:
		var values []kv.Value
		for range r.IntN(4) {
			values = append(values, randomConstant(r, m, name))
		}
		return In{name, values}
	case 2:
		if text {
			pattern := []string{"%", "a%", "%a%", "class _", "class%", "n_1%", "_", "", "long%", "%b", "100\\%", "x%y", "I%L_",
				strings.Repeat("x", maxStringKey+1) + "%"}[r.IntN(14)]
			return Like{name, pattern}
		}
	}
	return Compare{name, Op(r.IntN(6)), randomConstant(r, m, name)}
}

func randomConstant(r *rand.Rand, m *model, name string) kv.Value {
	if r.IntN(20) == 0 {
		return kv.Value{}
	}
	switch name {
	case "label":
		return kv.ValueOf(fmt.Sprint("class ", r.IntN(7)))
	case "id":
		if len(m.ids) == 0 || r.IntN(4) == 0 {
			return kv.ValueOf("nobody")
		}
		return kv.ValueOf(m.ids[r.IntN(len(m.ids))])
	case "degree":
		return kv.ValueOf(int64(r.IntN(12)))
	case "decision":
		return kv.ValueOf("accepted")
	case "score":
		return kv.ValueOf(0.5)
	case "year", "weight", "share", "far":
		switch r.IntN(4) {
		case 0:
			return randomValue(r, kv.KindInt)
		case 1:
			return randomValue(r, kv.KindFloat)
		case 2:
			return randomValue(r, kv.KindSingle)
		default:
			return kv.ValueOf(float64(r.IntN(100)) / 10)
		}
	}
	for _, c := range randomColumns {
		if c.Name == name {
			return randomValue(r, c.Kind)
		}
	}
	panic(name)
}

func randomOrder(r *rand.Rand) []Order {
	names := []string{"label", "flag", "year", "weight", "share", "title", "venue", "id", "degree", "score", "far"}
	var order []Order
	for range r.IntN(3) {
		order = append(order, Order{names[r.IntN(len(names))], r.IntN(2) == 0})
	}
	return order
}

// The planned answer, and count, are those of the definition, over many stores, predicates, orders and limits; also
// after the store is opened again, and after the changes are folded into the leaves.
func TestPlanAnswersAsTheDefinition(t *testing.T) {
	ways := map[way]int{}
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 1))
		// The largest has more than one block a column.
		s, m := randomStore(t, r, []int{1, 2, 40, 300, 500, 900, 3, 100, 200, 300, 600, 4500}[seed])
		queries(t, s, m, r, fmt.Sprint("seed ", seed), []int{longtest.Of(50, 500), longtest.Of(8, 80)}[seed/11], ways)
		if seed%3 == 0 {
			dir := s.Dir()
			must.Do(t, s.Close())
			s = open(t, dir)
			queries(t, s, m, r, fmt.Sprint("reopened, seed ", seed), 20, ways)
		}
		if seed%3 == 1 {
			must.Do(t, Compact(context.Background(), s))
			queries(t, s, m, r, fmt.Sprint("compacted, seed ", seed), 40, ways)
			update(t, s, func(tx *kv.Tx) error { return changeRandomly(t, tx, r, len(m.ids)) })
			queries(t, s, modelOf(t, s), r, fmt.Sprint("changed after, seed ", seed), 40, ways)
		}
	}
	for _, w := range []way{byNothing, byIDs, byRange, byScan, byFileOrder, byOrderedIndex} {
		if ways[w] == 0 {
			t.Errorf("no query was answered in way %d: the test misses it", w)
		}
	}
	t.Log("plans by way:", ways)
}

func queries(t *testing.T, s *kv.Store, m *model, r *rand.Rand, where string, count int, ways map[way]int) {
	t.Helper()
	tx := s.Begin()
	defer tx.Close()
	for i := range count {
		q := Query{Where: randomPredicate(r, m, 3), Order: randomOrder(r), Limit: -1, Computed: randomComputed(m)}
		if r.IntN(2) == 0 {
			q.Limit = r.IntN(1 + len(m.ids)/[]int{1, 10, 100}[r.IntN(3)])
		}
		tryQuery(t, tx, m, q, fmt.Sprint(where, ", query ", i), ways)
	}
}

// tryQuery answers q in every way that can, not only in the one chosen.
func tryQuery(t *testing.T, tx *kv.Tx, m *model, q Query, where string, ways map[way]int) {
	t.Helper()
	best := must.Get(NewPlan(tx, q))(t)
	want := m.answer(q)
	compareHolds(t, tx, m, q, where)
	for _, p := range everyPlan(t, tx, q, best) {
		ways[p.way]++
		if got := rowsOf(t, p); !slices.Equal(got, want) {
			t.Fatalf("%s: %v order by %v limit %d\nsimplified %v\nplan %v\ngot  %v\nwant %v",
				where, q.Where, q.Order, q.Limit, p.where, p, got, want)
		}
		var mu sync.Mutex
		var together []kv.NodeID
		err := p.Blocks(context.Background(), func(worker int, nodes []kv.NodeID) error {
			mu.Lock()
			defer mu.Unlock()
			first, last := nodes[0], nodes[len(nodes)-1]
			if worker >= p.Workers() || first/kv.BlockRows != last/kv.BlockRows || !slices.IsSorted(nodes) {
				t.Errorf("%s: blocks of %v: got nodes %d to %d of worker %d", where, q.Where, first, last, worker)
			}
			together = append(together, nodes...)
			return nil
		})
		if slices.Sort(together); err != nil || !slices.Equal(together, slices.Sorted(slices.Values(want))) {
			t.Fatalf("%s: blocks of %v limit %d: got %v, %v, want %v\nplan %v", where, q.Where, q.Limit, together, err, want, p)
		}
		n, err := p.Count(context.Background())
		if err != nil || n != int64(len(want)) {
			t.Fatalf("%s: count of %v limit %d: got %d, %v, want %d\nplan %v", where, q.Where, q.Limit, n, err, len(want), p)
		}
	}
}

// compareHolds decides the condition of a query on values of the model in place of the store's.
func compareHolds(t *testing.T, tx *kv.Tx, m *model, q Query, where string) {
	t.Helper()
	holds := must.Get(Holds(tx, q.Where, q.Computed))(t)
	for v := range m.ids {
		got, err := holds(func(property string) (kv.Value, error) { return m.value(v, property), nil })
		if want := q.Where == nil || m.holds(q.Where, v) == isTrue; got != want || err != nil {
			t.Fatalf("%s: %v of node %d: got %v, %v, want %v", where, q.Where, v, got, err, want)
		}
	}
}

// everyPlan returns the chosen plan and the others that answer the same query.
func everyPlan(t *testing.T, tx *kv.Tx, q Query, best *Plan) []*Plan {
	t.Helper()
	plans := []*Plan{best}
	if best.way == byNothing {
		return plans
	}
	scan := best.as(best.where, best.order)
	scan.way, scan.residual = byScan, best.where
	plans = append(plans, scan)
	if len(best.order) == 0 {
		p := best.as(best.where, nil)
		p.way, p.residual = byFileOrder, best.where
		plans = append(plans, walks(p)...)
	} else if best.schema[best.order[0].Property].indexed {
		p := best.as(best.where, best.order)
		must.Do(t, p.walkIndex())
		if p.way == byOrderedIndex {
			plans = append(plans, walks(p)...)
		}
	}
	set := best.as(best.where, best.order)
	must.Do(t, set.chooseSet("", set.mostNarrow()))
	return append(plans, set)
}

// walks returns p, which walks in order, with all patience, with little and with none.
func walks(p *Plan) []*Plan {
	var plans []*Plan
	for _, patience := range []int{math.MaxInt, 50, 0} {
		walk := *p
		walk.patience = patience
		plans = append(plans, &walk)
	}
	return plans
}

func rowsOf(t testing.TB, p *Plan) []kv.NodeID {
	t.Helper()
	var rows []kv.NodeID
	for v, err := range p.Rows(context.Background()) {
		must.Do(t, err)
		rows = append(rows, v)
	}
	return rows
}
