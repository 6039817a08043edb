package ops

import (
	"math"

	"github.com/graphcleaner/graphcleaner/ops/internal/kernel"
)

// A PropagatePlan is how Propagate divides its work. None of it changes a bit of the result.
type PropagatePlan struct {
	// OnDisk is true if hops write their tiles to scratch arrays. Else memory has the tile that a hop reads and the
	// tile that it writes.
	OnDisk  bool
	Width   int // columns of a tile
	Workers int
	Tiles   int
	Rows    int // of a tile: all after them are of nodes without neighbours, and zero
	// Stripes is the number of stripes that a tile is read in, each of StripeRows rows: the graph is walked once for each.
	// With more than one, scratch arrays keep the sums begun.
	Stripes, StripeRows int
	// Passes is how often the adjacency is walked: once for each hop, tile and stripe.
	Passes int
	// Held is true if the decoded adjacency is kept in memory.
	Held bool
	// Inputs is true if the source's columns of a tile are kept in memory: see KeepInputs.
	Inputs bool
	// MemoryBytes counts towards Options.MemoryBudget, ScratchBytes is the size of the scratch arrays.
	MemoryBytes, ScratchBytes int64

	cost float64 // see weigh
}

const (
	// maxStripes bounds the walks of a hop.
	maxStripes = 64

	// visitRows is the most rows handed to a visitor at once, and read of the source at once: the rows of a block of
	// kv.Matrix, which would else be read several times.
	visitRows = 1024
)

// What the plan weighs, in nanoseconds of one worker: decoding an entry, adding a row of some columns to another, and
// carrying a byte to or from a scratch array, which the workers do not speed up.
const (
	decodeCost = 2.1
	addCost    = 1.2
	columnCost = 0.078
	missCost   = 2.4 // of a row that is not in the cache, at most
	cacheBytes = 32 << 20
	carryCost  = 0.6
	stripeCost = 6  // finding the part of a list that lies in a stripe
	rowCost    = 30 // beginning and ending a row of a tile

	// heldDecodes is the cost of decoding once into new memory, in units of decoding.
	heldDecodes = 1.5
)

// Plan divides the memory budget between workers, columns and adjacency, for the least expected time of a propagation.
// Without Options.Scratch all tiles are in memory. If too little fits, the error is a *BudgetError.
func Plan(s *Sizes, columns, hops int, opt Options) (PropagatePlan, error) {
	opt = opt.withDefaults()
	best := PropagatePlan{cost: math.Inf(1)}
	for workers := opt.Workers; workers > 0; workers-- {
		for width := min(columns, kernel.MaxColumns); width > 0; width-- {
			if width < columns && width > 8 && width%8 != 0 {
				continue // rows that are not whole parts of a cache line
			}
			for _, p := range []PropagatePlan{{}, {Held: true}, {OnDisk: true}, {OnDisk: true, Held: true}} {
				if p.OnDisk && opt.Scratch == nil || p.Held && s.Weighted { // only neighbours are kept
					continue
				}
				p.Width, p.Workers = width, workers
				if p.complete(s, columns, hops, opt.MemoryBudget) && p.cost < best.cost {
					best = p
				}
			}
		}
	}
	if math.IsInf(best.cost, 1) {
		return best, &BudgetError{Job: "propagate", Budget: opt.MemoryBudget, Least: s.leastForPropagate(hops, opt)}
	}
	return best, nil
}

// KeepInputs has the source's columns of a tile kept in memory too, if Options.MemoryBudget has room for them. Use it
// if a hop after the first clears a diagonal: each such hop would else read the source again.
func (p *PropagatePlan) KeepInputs(opt Options) {
	inputs := 4 * int64(p.Rows) * int64(kernel.Stride(p.Width))
	if p.MemoryBytes+inputs <= opt.withDefaults().MemoryBudget {
		p.Inputs = true
		p.MemoryBytes += inputs
	}
}

// LeastForPropagate is a MemoryBudget, in bytes, with which Propagate works where Options.Scratch is set, at any number
// of columns and hops, also with SelfLoops.
func (s *Sizes) LeastForPropagate() int64 { return s.WithSelfLoops().leastInStripes() }

func (s *Sizes) leastInStripes() int64 {
	return s.workersBytes(1, 1) + 4*int64(s.stripeRows(maxStripes))
}

func (s *Sizes) leastForPropagate(hops int, opt Options) int64 {
	if opt.Scratch != nil {
		return s.leastInStripes()
	}
	return s.workersBytes(1, 1) + 4*int64(s.Linked)*int64(min(hops, 2))
}

// workersBytes is the memory beside tiles and adjacency: degrees and the workers' buffers.
func (s *Sizes) workersBytes(workers, width int) int64 {
	scratch := s.bufferBytes() + 3*4*int64(visitRows*width+kernel.GroupColumns) + 8*int64(kernel.Stride(width)+1)
	return s.scaleBytes()*int64(s.Nodes) + int64(workers)*scratch
}

// stripeRows is the rows of each of so many stripes.
func (s *Sizes) stripeRows(stripes int) int { return (s.Linked + stripes - 1) / stripes }

// complete fills in what follows from strategy, width, workers and held, and reports whether the budget has room.
func (p *PropagatePlan) complete(s *Sizes, columns, hops int, budget int64) bool {
	p.Rows = s.Linked
	n, w := int64(p.Rows), int64(kernel.Stride(p.Width))
	p.MemoryBytes = s.workersBytes(p.Workers, p.Width)
	if p.Held {
		p.MemoryBytes += s.keptBytes()
	}
	p.Tiles = (columns + p.Width - 1) / p.Width
	p.Stripes, p.StripeRows = 1, p.Rows
	writes := min(hops-1, 1)                                 // the last hop is only visited
	switch rows := max(0, budget-p.MemoryBytes) / (4 * w); { // of a tile that fit
	case !p.OnDisk:
		p.MemoryBytes += 4 * n * w * int64(1+writes)
	case rows >= n:
		p.MemoryBytes += 4 * n * w
		p.ScratchBytes = 4 * n * w * int64(writes)
	default:
		p.StripeRows = s.stripeRows(int(min(maxStripes, (n+max(rows, 1)-1)/max(rows, 1))))
		p.Stripes = max(1, (p.Rows+p.StripeRows-1)/max(1, p.StripeRows))
		p.MemoryBytes += 4 * int64(p.StripeRows) * w
		p.ScratchBytes = 4*n*w*int64(2*writes) + 8*n*w
	}
	p.Passes = p.Tiles * hops * p.Stripes
	p.cost = p.weigh(s, columns, hops)
	return p.MemoryBytes <= budget
}

// gatherCost is the expected cost of adding one of the rows in memory to another, its columns left out.
func (p *PropagatePlan) gatherCost() float64 {
	return addCost + missCost*max(0, 1-cacheBytes/float64(p.tileBytes()))
}

// tileBytes is the memory that is read at random.
func (p *PropagatePlan) tileBytes() int64 {
	return 4 * int64(p.StripeRows) * int64(kernel.Stride(p.Width))
}

// countSums is how many columns are added for an entry, those that rows are filled up with too.
func (p *PropagatePlan) countSums(columns, hops int) float64 {
	last := columns - (p.Tiles-1)*p.Width
	return float64(hops * ((p.Tiles-1)*kernel.Stride(p.Width) + kernel.Stride(last)))
}

// weigh is the nanoseconds that a plan is expected to take.
func (p *PropagatePlan) weigh(s *Sizes, columns, hops int) float64 {
	n, entries, stripes := float64(p.Rows), float64(s.Entries), float64(p.Stripes)
	turns := float64(p.Tiles * hops)
	countSums := p.countSums(columns, hops)
	adding := turns*p.gatherCost() + countSums*columnCost
	decodes := turns * stripes
	if p.Held {
		decodes = min(decodes, heldDecodes)
	}
	cost := (decodes*entries*decodeCost + entries*adding + float64(s.Nodes)*turns*rowCost) / float64(p.Workers)
	if p.OnDisk {
		cost += n * (8 + (stripes-1)*16) * countSums * carryCost
	}
	if p.Stripes > 1 {
		cost += n * turns * stripes * stripeCost
	}
	return cost
}
