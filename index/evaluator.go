package index

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv"
)

// Rows are what an evaluator decides together.
type rows struct {
	// values returns the values of a property, by row.
	values func(property string) (func(row int) (kv.Value, error), error)

	block *reader   // of nodes of one block of columns; else nil
	first kv.NodeID // of these nodes
}

// blockRows are the nodes from one on, in one block of columns.
func (r *reader) blockRows(first kv.NodeID) rows {
	return rows{block: r, first: first, values: func(property string) (func(int) (kv.Value, error), error) {
		at, err := r.values(property)
		return func(row int) (kv.Value, error) { return at(first + kv.NodeID(row)) }, err
	}}
}

// nodeRows are some nodes.
func (r *reader) nodeRows(nodes []kv.NodeID) rows {
	return rows{values: func(property string) (func(int) (kv.Value, error), error) {
		at, err := r.values(property)
		return func(row int) (kv.Value, error) { return at(nodes[row]) }, err
	}}
}

// givenRow is one row whose values a caller has.
func givenRow(value func(property string) (kv.Value, error)) rows {
	return rows{values: func(property string) (func(int) (kv.Value, error), error) {
		return func(int) (kv.Value, error) { return value(property) }, nil
	}}
}

// column returns the reader of a column of the block; nil if the rows are no block, or the property is computed.
func (at rows) column(property string) (*kv.ColumnReader, error) {
	if at.block == nil {
		return nil, nil
	}
	if _, ok := at.block.computed[property]; ok {
		return nil, nil
	}
	return at.block.column(property)
}

// An evaluator decides a predicate. It belongs to one goroutine.
type evaluator interface {
	// join joins the outcomes at rows into outcomes, one for each row: as And joins terms if decides is isFalse, as Or
	// does if it is isTrue. Rows whose outcome is decides already are not looked at.
	join(at rows, decides truth, outcomes []truth) error
}

// newEvaluator prepares a simplified predicate.
func newEvaluator(p Predicate, computed map[string]Computed) evaluator {
	switch p := p.(type) {
	case And:
		return newJoin(p.Terms, isFalse, computed)
	case Or:
		return newJoin(p.Terms, isTrue, computed)
	case CompareProperties:
		return &pairEvaluator{pair: p}
	}
	e := &leafEvaluator{property: leafProperty(p), holds: newTest(p)}
	e.bound, e.isBound = floatBoundOf(p)
	return e
}

// A leafEvaluator decides a condition on one property.
type leafEvaluator struct {
	property string
	holds    func(kv.Value) truth
	bound    floatBound // if isBound
	isBound  bool
	table    []kv.Value // of the last block
	truths   []truth    // of the table
}

func (e *leafEvaluator) join(at rows, decides truth, outcomes []truth) error {
	if !slices.ContainsFunc(outcomes, decides.isOpen) {
		return nil
	}
	column, err := at.column(e.property)
	if err != nil {
		return err
	}
	if column != nil {
		if done, err := e.joinBlock(column, at, decides, outcomes); done || err != nil {
			return wrapProperty(e.property, err)
		}
	}
	value, err := at.values(e.property)
	if err != nil {
		return err
	}
	return joinEach(outcomes, decides, func(row int) (truth, error) {
		v, err := value(row)
		return e.holds(v), wrapProperty(e.property, err)
	})
}

// joinBlock decides a block by the codes of its values, or by its floats; done is false if it has neither.
func (e *leafEvaluator) joinBlock(column *kv.ColumnReader, at rows, decides truth, outcomes []truth) (done bool, err error) {
	begin := int(at.first) % kv.BlockRows
	codes, ok, err := column.Codes(at.first)
	if err != nil {
		return false, err
	}
	if ok {
		isFixed := at.block.hasKind(e.property, kv.KindClass) || at.block.hasKind(e.property, kv.KindBool)
		if !isFixed || !sameSlice(e.table, codes.Table) {
			e.table, e.truths = codes.Table, e.truths[:0]
			for _, value := range e.table {
				e.truths = append(e.truths, e.holds(value))
			}
		}
		for i, n := range codes.Rows[begin:][:len(outcomes)] {
			outcomes[i] = decides.join(outcomes[i], e.truths[n])
		}
		return true, nil
	}
	if !e.isBound {
		return false, nil
	}
	values, ok, err := column.Floats(at.first)
	if ok && err == nil {
		e.bound.join(values[begin:], decides, outcomes)
	}
	return ok, err
}

// joinEach joins the outcome at each row that is not decided yet.
func joinEach(outcomes []truth, decides truth, at func(row int) (truth, error)) error {
	for i, known := range outcomes {
		if known == decides {
			continue
		}
		outcome, err := at(i)
		if err != nil {
			return err
		}
		outcomes[i] = decides.join(known, outcome)
	}
	return nil
}

func wrapProperty(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("property %s: %w", name, err)
}

// A floatBound compares floats with one. It has the outcomes of less, equal and greater.
type floatBound struct {
	than    float64
	byOrder [3]truth
}

// floatBoundOf is the comparison of floats that p is, if it is one.
func floatBoundOf(p Predicate) (floatBound, bool) {
	c, ok := p.(Compare)
	if !ok || c.Value.Kind() != kv.KindFloat {
		return floatBound{}, false
	}
	return floatBound{c.Value.Float(), c.Op.byOrder()}, true
}

// byOrder has the outcomes of a comparison of what is less, equal and greater.
func (op Op) byOrder() (outcomes [3]truth) {
	for i := range outcomes {
		outcomes[i] = truthOf(op.holds(i - 1))
	}
	return outcomes
}

// join joins what the comparison says of values, NaN for null, into outcomes, which may be fewer.
func (b floatBound) join(values []float64, decides truth, outcomes []truth) {
	for i, x := range values[:len(outcomes)] {
		outcome := isUnknown
		if x < b.than {
			outcome = b.byOrder[0]
		} else if x > b.than {
			outcome = b.byOrder[2]
		} else if x == b.than {
			outcome = b.byOrder[1]
		}
		outcomes[i] = decides.join(outcomes[i], outcome)
	}
}

// isOpen reports whether a node with this outcome so far is undecided.
func (t truth) isOpen(outcome truth) bool { return outcome != t }

// join joins two outcomes as terms are of which t decides.
func (t truth) join(a, b truth) truth {
	if t == isFalse {
		return min(a, b)
	}
	return max(a, b)
}

// sameSlice reports whether a and b are one slice, and so have the same values if nobody changes them.
func sameSlice[T any](a, b []T) bool {
	return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0]
}

// A joinEvaluator decides an And, of which isFalse decides, or an Or, of which isTrue does.
type joinEvaluator struct {
	terms []evaluator
	own   truth // that decides it
	inner []truth
}

// newJoin prepares terms. Those that ask for computed values come last.
func newJoin(terms []Predicate, own truth, computed map[string]Computed) *joinEvaluator {
	terms = slices.Clone(terms)
	slices.SortStableFunc(terms, func(a, b Predicate) int {
		return cmp.Compare(numComputed(a, computed), numComputed(b, computed))
	})
	e := &joinEvaluator{own: own}
	for _, t := range terms {
		e.terms = append(e.terms, newEvaluator(t, computed))
	}
	return e
}

func (e *joinEvaluator) join(at rows, decides truth, outcomes []truth) error {
	joined := outcomes
	if e.own != decides {
		e.inner = e.inner[:0]
		for _, known := range outcomes {
			if known == decides {
				e.inner = append(e.inner, e.own) // nobody asks
			} else {
				e.inner = append(e.inner, -e.own)
			}
		}
		joined = e.inner
	}
	for _, t := range e.terms {
		if err := t.join(at, e.own, joined); err != nil {
			return err
		}
	}
	if e.own != decides {
		for i, known := range outcomes {
			if known != decides {
				outcomes[i] = decides.join(known, e.inner[i])
			}
		}
	}
	return nil
}

// numComputed is how many computed properties a predicate names.
func numComputed(p Predicate, computed map[string]Computed) (count int) {
	if len(computed) == 0 {
		return 0
	}
	for _, name := range Properties(p) {
		if _, ok := computed[name]; ok {
			count++
		}
	}
	return count
}
