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
	degreeCost   = 200  // finding the degrees of a block of nodes, which are read from their edges
	positionCost = 50   // the position, or the external id, of one node
	fileCost     = 0.03 // a node of the node file, which is being walked
	copyCost     = 0.3  // lending and reading the copies of a node
	sortCost     = 0.5  // a row to sort
)

// blockRows is about how many nodes a block of a column has.
const blockRows = 4096

func (e estimate) cost() float64 { return seekCost*e.seeks + entryCost*e.entries }

// readCost is the cost of reading properties at rows of n nodes in ascending order.
func readCost(n, rows float64, properties []string) float64 {
	cost := 0.0
	blocks := min(rows, 1+n/blockRows)
	for _, name := range properties {
		switch name {
		case propertyID:
			cost += positionCost * rows
		case propertyDegree:
			cost += degreeCost*blocks + valueCost*rows
		default:
			cost += blockCost*blocks + valueCost*rows
		}
	}
	return cost
}

// scanCost is the cost of a scan. Nodes are numbered by descending degree when they are loaded, so that a bound on
// degrees leaves one stretch of blocks to be read; other bounds are not counted on to leave any out.
func (pl *planner) scanCost(where Predicate) (float64, error) {
	rows := pl.n
	for _, t := range terms(where) {
		c, ok := t.(Compare)
		if !ok || c.Property != propertyDegree || c.Op == Ne {
			continue
		}
		share, err := pl.share(c)
		if err != nil {
			return 0, err
		}
		rows = min(rows, share*pl.n+blockRows)
	}
	leftOut := degreeCost * (pl.n - rows) / blockRows
	return leftOut + readCost(rows, rows, Properties(where)) + valueCost*rows, nil
}

// batchCost is the cost of deciding a batch of rows by properties, each row of it found at the cost of step.
func batchCost(n, rows, step float64, properties []string) float64 {
	return step*rows + readCost(n, rows, properties)
}

// walkCost is that of all the batches in which rows of most are decided: each is read to its end.
func (pl *planner) walkCost(rows, most, step float64, properties []string) float64 {
	cost, done := 0.0, 0.0
	for size := float64(firstBatch); done < rows && size < lastBatch; size *= 2 {
		batch := min(size, most-done)
		cost += batchCost(pl.n, batch, step, properties)
		done += batch
	}
	if done >= rows {
		return cost
	}
	rest := min(math.Ceil((rows-done)/lastBatch)*lastBatch, most-done)
	whole := math.Floor(rest / lastBatch)
	return cost + whole*batchCost(pl.n, lastBatch, step, properties) +
		batchCost(pl.n, rest-whole*lastBatch, step, properties)
}

// positionsCost is that of putting rows in file order: see arranger.byPosition.
func (pl *planner) positionsCost(rows float64) float64 { return min(positionCost*rows, fileCost*pl.n) }

// Shares of nodes that conditions are taken to hold for if neither an index nor a sample tells.
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
	if pl.schema[name].indexed {
		_, isNull := p.(IsNull)
		if isNull {
			p = Not{p} // those are the ones that have entries
		}
		scan, err := pl.rangeScan(name, []Predicate{p})
		if err != nil {
			return 0, err
		}
		share := min(1, scan.cost.rows/max(1, pl.n))
		if isNull {
			share = 1 - share
		}
		return share, nil
	}
	memo := p.String()
	if share, ok := pl.shares[memo]; ok {
		return share, nil
	}
	share, err := pl.unindexedShare(p)
	if err == nil {
		pl.shares[memo] = share
	}
	return share, err
}

// guess is the share of a condition of which nothing is known but its form.
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
	case Not:
		return 1 - pl.guess(p.Term)
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
	ranges := scan.ranges[:min(len(scan.ranges), maxCounts)] // of a longer list, the rest is taken to be alike
	for _, r := range ranges {
		entries, err := pl.countRange(scan.postings, stats, r)
		if err != nil {
			return nil, err
		}
		scan.cost.entries += entries * float64(len(scan.ranges)) / float64(len(ranges))
	}
	scan.cost.seeks = float64(len(scan.ranges))
	scan.cost.rows = scan.cost.entries
	if scan.accept != nil {
		scan.cost.rows *= pl.acceptShare(scan.accept)
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
	maxCounts   = 32 // ranges of a list that are counted
)

// countRange is about how many entries lie in r: exactly how many if they are few.
func (pl *planner) countRange(p postings, stats statistics, r keyRange) (float64, error) {
	guess, known := stats.estimate(r)
	if known && guess > probeLeaves*leafEntries {
		return guess, nil
	}
	entries, complete, err := p.count(r, probeLeaves*leafEntries)
	if err != nil {
		return 0, err
	}
	switch {
	case complete:
		return entries, nil
	case known:
		return max(entries, guess), nil
	default:
		return max(entries, rangeShare*pl.n), nil
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

// tieSize is about how many entries of a column share one value: 1 if the histogram cannot tell.
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
