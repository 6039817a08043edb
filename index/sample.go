package index

import "github.com/graphcleaner/graphcleaner/kv"

// Conditions on columns without an index are tried on the values of some nodes: stretches of neighbours, each within
// a block or two, evenly spread over all.
const (
	sampleStretches = 8
	sampleRows      = 64 // of a stretch
)

// unindexedShare estimates the share of nodes for which a condition on a property without an index is true.
func (pl *planner) unindexedShare(p Predicate) (float64, error) {
	if pl.reader.numComputed(p) > 0 { // the values of a sample may take longer than the answer
		return pl.guess(p), nil
	}
	switch leafProperty(p) {
	case propertyID: // ids are dear to read, and seldom alike
		return pl.guess(p), nil
	case propertyDegree:
		return pl.degreeShare(p)
	default:
		return pl.sampledShare(p)
	}
}

// sampledShare tries a condition on a sample. Of none, the estimate is half a node of the sample, as it is not known
// that there are none elsewhere; likewise of all.
func (pl *planner) sampledShare(p Predicate) (float64, error) {
	n := pl.tx.NumNodes()
	holds, err := pl.reader.condition(p)
	if err != nil {
		return 0, err
	}
	removed, err := pl.tx.Removed()
	if err != nil || pl.tx.NumPresent() == 0 {
		return 0, err
	}
	sample := func(yield func(kv.NodeID) bool) {
		for i := range sampleStretches {
			first, end := i*n/sampleStretches, (i+1)*n/sampleStretches
			first += max(0, end-first-sampleRows) / 2
			for v := first; v < min(end, first+sampleRows); v++ {
				if !removed.Has(kv.NodeID(v)) && !yield(kv.NodeID(v)) {
					return
				}
			}
		}
	}
	pl.tx.WillRead(Properties(p), sample)
	trials, matches := 0, 0
	for v := range sample {
		outcome, err := holds(v)
		if err != nil {
			return 0, err
		}
		if trials++; outcome == isTrue {
			matches++
		}
	}
	if trials == pl.tx.NumPresent() {
		return float64(matches) / float64(n), nil
	}
	return (float64(matches) + 0.5) / float64(trials+1), nil
}

// degreeShare finds where in the descending degrees a condition begins and ceases to be true. Nodes and edges added
// later, and removed nodes, may be out of that order; the estimate leaves them so.
func (pl *planner) degreeShare(p Predicate) (float64, error) {
	switch p := p.(type) {
	case Compare:
		switch p.Op {
		case Eq, Ne:
			above, err := pl.degreesThat(Gt, p.Value, 0)
			if err != nil {
				return 0, err
			}
			notBelow, err := pl.degreesThat(Ge, p.Value, 0)
			if p.Op == Ne {
				return 1 - (notBelow - above), err
			}
			return notBelow - above, err
		case Gt, Ge:
			return pl.degreesThat(p.Op, p.Value, searchTolerance)
		case Lt:
			notBelow, err := pl.degreesThat(Ge, p.Value, searchTolerance)
			return 1 - notBelow, err
		default:
			above, err := pl.degreesThat(Gt, p.Value, searchTolerance)
			return 1 - above, err
		}
	case In:
		total := 0.0
		values := p.Values[:min(len(p.Values), maxSearches)] // of a longer list, the rest is taken to be alike
		for _, v := range values {
			share, err := pl.degreeShare(Compare{propertyDegree, Eq, v})
			if err != nil {
				return 0, err
			}
			total += share
		}
		return min(1, total*float64(len(p.Values))/float64(max(1, len(values)))), nil
	case Not:
		share, err := pl.degreeShare(p.Term)
		return 1 - share, err
	default:
		return pl.guess(p), nil
	}
}

const (
	maxSearches     = 4        // degrees of a list that are searched for
	searchTolerance = 1.0 / 16 // of the share that a bound on degrees has
)

// degreesThat is the share of nodes whose degree is greater than bound, or not less, as op says, to within tolerance
// times that share or times the share of the others, whichever is less.
func (pl *planner) degreesThat(op Op, bound kv.Value, tolerance float64) (float64, error) {
	holds := newTest(Compare{propertyDegree, op, bound})
	n := pl.tx.NumNodes()
	low, high := 0, n // it holds for the nodes before low, and not from high on
	for float64(high-low) > tolerance*float64(min(low, n-high)) {
		middle := (low + high) / 2
		var degree [1]uint32
		if err := pl.tx.ReadDegrees(kv.Range{First: kv.NodeID(middle), End: kv.NodeID(middle + 1)}, degree[:]); err != nil {
			return 0, err
		}
		if holds(kv.IntValue(int64(degree[0]))) == isTrue {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return float64(low+high) / 2 / max(1, pl.n), nil
}
