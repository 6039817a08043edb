package shell

import (
	"math"

	"github.com/graphcleaner/graphcleaner/internal/machine"
	"github.com/graphcleaner/graphcleaner/internal/parallel"
)

const (
	// idleBytes is what the program holds of anonymous memory at the least.
	idleBytes = 8 << 20

	// workerBytes is what a goroutine that computes has for its blocks of rows, and edgeBytes what an edge fills of that.
	workerBytes = 6 << 20
	edgeBytes   = 12

	// What a command allocates in small objects, and of that for a node, measured; clean of a small graph has only
	// smallNode for a node. Training without features allocates trainedCell for each class of a node.
	volumeOfImport, nodeOfImport = 4 << 20, 30
	volumeOfClean, nodeOfClean   = 32 << 20, 100
	smallNode, trainedCell       = 1000, 1100
)

// anonymous is the anonymous memory of a process whose workers have buffers beside what is held, that has allocated a volume of
// bytes in small objects, and whose garbage collector is held to a limit. It collects when the heap is twice what is
// alive, and keeps a tenth more from the system.
func anonymous(use memoryUse, buffers, volume, limit int64) int64 {
	live := use.live + buffers
	heap := min(max(live, min(2*live, limit)*11/10), live+volume)
	return idleBytes + use.mapped + heap - use.blank
}

// programBytes is what of the program itself is in memory.
const programBytes = 28 << 20

// resident is the memory that the system counts of a process: its anonymous memory, the program, and the temporary
// files, which are mapped. Of files the machine has no more in memory than there is room for.
func resident(anonymous, temporary int64) int64 {
	return anonymous + programBytes + min(temporary, max(0, 4*machine.MemoryBudget()-anonymous))
}

// buffers is what the workers of a job hold.
func (p *projection) buffers() int64 {
	filled := edgeBytes*p.files.rows + 4*int64(p.counts.Nodes)*int64(p.counts.Classes)
	return min(workerBytes*int64(parallel.Workers(p.options.Workers)), filled)
}

// cleanPeak is the most anonymous memory of clean: while it computes, or while it closes the store.
func (p *projection) cleanPeak() int64 {
	n := int64(p.counts.Nodes)
	volume := min(volumeOfClean+nodeOfClean*n, smallNode*n)
	switch {
	case p.clean.Trains && p.counts.Features > 0:
		volume = math.MaxInt64 / 2 // training leaves the garbage of a network for every epoch
	case p.clean.Trains:
		volume = max(volume, trainedCell*n*int64(p.counts.Classes))
	}
	with := func(mapped, written int64, closing bool) int64 {
		use := memoryUse{mapped: mapped, live: p.clean.HeldBytes}
		use = use.and(writingStore(p.resources.store(), written, closing))
		return anonymous(use, p.buffers(), volume, heapLimit(int64(p.resources.Memory)))
	}
	return max(with(p.clean.MappedBytes, p.clean.PredictedBytes, false), with(0, p.clean.StoreBytes, true))
}

// importPeak is the most anonymous memory of an import with so much memory.
func (p *projection) importPeak(load *loadEstimate, memory int64) (most int64) {
	volume := int64(volumeOfImport + nodeOfImport*p.counts.Nodes)
	for _, use := range load.moments {
		most = max(most, anonymous(use, p.buffers(), volume, heapLimit(memory)))
	}
	return most
}

// leastForImport is the --memory that an import stays within, in whole MiB.
func (p *projection) leastForImport() int64 {
	const mebibyte = 1 << 20
	memory := int64(leastMemory)
	for {
		if p.importPeak(p.loaded.estimateLoad(memory, p.options.Workers), memory) <= memory {
			return memory
		}
		memory += max(memory/16, mebibyte) / mebibyte * mebibyte
	}
}
