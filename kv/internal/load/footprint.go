package load

import (
	"math/bits"

	"github.com/graphcleaner/graphcleaner/internal/spill"
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
)

// A Footprint is what sorting the edges takes, in bytes of memory: while they are added, while parallel ones are collapsed,
// while their two directions are sorted, and while these are written. Files is on disk.
type Footprint struct{ Reading, Sorting, Arcs, Writing, Files int64 }

// EdgesFootprint is that of so many rows, of which so many edges remain.
func EdgesFootprint(opt Options, nodes, rows, edges int64) Footprint {
	memory := sortMemory(opt.MemoryBudget, nodes)
	width, perArc := 2*positionBits(nodes), int64(1)
	footprint := func(memory, count int64) spill.Footprint {
		return spill.NewNumbers[uint64]("", memory, width, opt.Workers).Footprint(count, width)
	}
	if form := (codec.ArcForm{Directed: opt.Directed, Weighted: opt.Weighted}); form.Any() {
		width, perArc = width+form.DirectionBits(), 2
		footprint = func(memory, count int64) spill.Footprint {
			return spill.NewNumbers[spill.Pair]("", memory, width, opt.Workers).Footprint(count, width)
		}
	}
	first := footprint(memory, rows)
	inMemory := first.Reading
	if first.File > 0 {
		inMemory = 0
	}
	both := footprint(arcsMemory(memory, perArc*edges, inMemory), 2*edges)
	adding := both.Sorting
	if both.File == 0 {
		adding /= 2 // chunks alone
	}
	return Footprint{
		Reading: first.Sorting, Sorting: first.Reading,
		Arcs:    max(first.Reading+adding, both.Sorting), // once all are added the edges go
		Writing: both.Reading, Files: first.File + both.File,
	}
}

// positionBits is the bits of the greatest position of so many nodes.
func positionBits(nodes int64) int { return bits.Len64(uint64(max(nodes-1, 0))) }
