package index

import "math"

// An estimate says about how many nodes a source finds and what it takes to find them.
type estimate struct {
	rows    float64 // nodes found
	entries float64 // index entries read
	seeks   float64 // places in the store looked up
}

// Costs in microseconds, of a warm store. They choose between ways, and need be right only against each other.
const (
	seekCost     = 30   // finding a place in the store
	entryCost    = 0.05 // an index entry
	valueCost    = 0.05 // a value of a block that is decoded already
	blockCost    = 40   // decoding a block of a column
	positionCost = 50   // the position, or the external id, of one node
	fileCost     = 0.03 // a node of the node file, which is being walked
	sortCost     = 0.5  // a row to sort
)

// blockRows is about how many nodes a block of a column has.
const blockRows = 4096

func (e estimate) cost() float64 { return seekCost*e.seeks + entryCost*e.entries }

// readCost is the cost of reading properties at rows nodes in ascending order.
func (pl *planner) readCost(rows float64, properties []string) float64 {
	cost := 0.0
	for _, name := range properties {
		if name == propertyID {
			cost += positionCost * rows
		} else {
			cost += blockCost*min(rows, 1+pl.n/blockRows) + valueCost*rows
		}
	}
	return cost
}

// batchCost is that of reading them in the batches of a filter.
func (pl *planner) batchCost(rows float64, properties []string) float64 {
	batches := math.Ceil(rows / lastBatch)
	return batches * pl.readCost(rows/max(1, batches), properties)
}

// positionsCost is that of putting rows in file order: see arranger.byPosition.
func (pl *planner) positionsCost(rows float64) float64 { return min(positionCost*rows, fileCost*pl.n) }

// Shares of nodes that conditions are taken to hold for where no index tells.
const (
	equalShare = 0.1
	rangeShare = 0.3
	likeShare  = 0.1
	nullShare  = 0.3
)

// share estimates the share of nodes a simplified predicate is true for, as if its terms were independent.
func (pl *planner) share(p Predicate) (float64, error) {
	switch p := p.(type) {
	case And:
		share := 1.0
		for _, t := range p.Terms {
			s, err := pl.share(t)
			if err != nil {
				return 0, err
			}
			share *= s
		}
		return share, nil
	case Or:
		rest := 1.0
		for _, t := range p.Terms {
			s, err := pl.share(t)
			if err != nil {
				return 0, err
			}
			rest *= 1 - s
		}
		return 1 - rest, nil
	}
	name := leafProperty(p)
	if _, isNull := p.(IsNull); pl.schema[name].indexed && !isNull {
		scan, err := pl.rangeScan(name, []Predicate{p})
		if err != nil {
			return 0, err
		}
		return min(1, scan.expected.rows/max(1, pl.n)), nil
	}
	if not, ok := p.(Not); ok {
		share, err := pl.share(not.Term)
		return 1 - share, err
	}
	return pl.guess(p), nil
}

// guess is the share of a condition no index knows about.
func (pl *planner) guess(p Predicate) float64 {
	equal := equalShare
	if leafProperty(p) == propertyID {
		equal = 1 / max(1, pl.n)
	}
	switch p := p.(type) {
	case Compare:
		switch p.Op {
		case Eq:
			return equal
		case Ne:
			return 1 - equal
		default:
			return rangeShare
		}
	case In:
		return min(1, equal*float64(len(p.Values)))
	case Like:
		return likeShare
	default:
		return nullShare
	}
}

// rangeScan makes the scan of a column's index that answers terms, simplified conditions on that column.
func (pl *planner) rangeScan(column string, terms []Predicate) (*rangeScan, error) {
	where := conjunction(terms)
	memo := column + " " + where.String()
	if scan, ok := pl.scans[memo]; ok {
		return scan, nil
	}
	scan := &rangeScan{postings: openPostings(pl.tx, column), terms: where}
	scan.ranges, scan.accept = keyRanges(pl.schema[column].kind, terms)
	stats, err := pl.statistics(column)
	if err != nil {
		return nil, err
	}
	counted := scan.ranges[:min(len(scan.ranges), maxCounted)] // of a longer list, the rest is taken to be alike
	for _, r := range counted {
		entries, err := pl.countRange(scan.postings, stats, r)
		if err != nil {
			return nil, err
		}
		scan.expected.entries += entries * float64(len(scan.ranges)) / float64(len(counted))
	}
	scan.expected.seeks = float64(len(scan.ranges))
	scan.expected.rows = scan.expected.entries
	if scan.accept != nil {
		scan.expected.rows *= pl.acceptShare(scan.accept)
	}
	pl.scans[memo] = scan
	return scan, nil
}

// acceptShare guesses which share of a range's entries is accepted.
func (pl *planner) acceptShare(accept Predicate) float64 {
	switch p := accept.(type) {
	case And:
		share := 1.0
		for _, t := range p.Terms {
			share *= pl.acceptShare(t)
		}
		return share
	case Not:
		return 1 - pl.guess(p.Term)
	case Compare:
		if p.Op != Ne {
			return 1 // a range whose end is a long string: all but its edge
		}
		return 1 - equalShare
	default:
		return pl.guess(accept)
	}
}

const (
	probeLeaves = 4  // leaves read to count the entries of a narrow range
	maxCounted  = 32 // ranges of a list that are counted
)

// countRange is about how many entries lie in r: exactly how many where they are few.
func (pl *planner) countRange(p postings, stats statistics, r keyRange) (float64, error) {
	expected, known := stats.estimate(r)
	if known && expected > probeLeaves*leafEntries {
		return expected, nil
	}
	counted, complete, err := p.count(r, probeLeaves*leafEntries)
	if err != nil {
		return 0, err
	}
	switch {
	case complete:
		return counted, nil
	case known:
		return max(counted, expected), nil
	default:
		return max(counted, rangeShare*pl.n), nil
	}
}

// count counts the entries in r, at most about limit of them; complete tells whether these are all.
func (p postings) count(r keyRange, limit int) (entries float64, complete bool, err error) {
	total := 0
	for g, err := range p.ascend(r) {
		if err != nil {
			return 0, false, err
		}
		if total += len(g.nodes); total > limit {
			return float64(total), false, nil
		}
	}
	return float64(total), true, nil
}

// tieSize is about how many entries of a column share one value: 1 where the histogram cannot tell.
func (s statistics) tieSize() float64 {
	distinct := 0
	for i, b := range s.bounds {
		if i == 0 || b != s.bounds[i-1] {
			distinct++
		}
	}
	if distinct == 0 || distinct > len(s.bounds)/2 {
		return 1
	}
	return float64(s.entries) / float64(distinct)
}

func (s *intersection) estimate() estimate {
	e := s.parts[0].estimate()
	for _, part := range s.parts[1:] {
		other := part.estimate()
		e.entries += other.entries
		e.seeks += other.seeks
		e.rows = min(e.rows, other.rows)
	}
	return e
}

func (s *union) estimate() estimate {
	var e estimate
	for _, part := range s.parts {
		other := part.estimate()
		e.entries += other.entries
		e.seeks += other.seeks
		e.rows += other.rows
	}
	return e
}

// statistics reads those of a column's index once a plan.
func (pl *planner) statistics(column string) (statistics, error) {
	if s, ok := pl.stats[column]; ok {
		return s, nil
	}
	s, err := readStatistics(pl.tx, column)
	if err == nil {
		pl.stats[column] = s
	}
	return s, err
}
