package ops

import (
	"sync"

	"github.com/graphcleaner/graphcleaner/internal/machine"
	"github.com/graphcleaner/graphcleaner/internal/parallel"
	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/kv"
)

// Options tunes the operators. The zero value is ready to use. None of its fields changes a bit of a result.
type Options struct {
	// MemoryBudget bounds the bytes of dense tiles, per-node arrays and adjacency held. Zero means
	// machine.MemoryBudget.
	MemoryBudget int64

	// Workers is how many goroutines work at once. Zero means GOMAXPROCS. Fewer are used where the budget has
	// no room for the buffers of all.
	Workers int

	// Scratch keeps arrays that are only read in order. They do not count towards MemoryBudget. Nil keeps them in memory.
	Scratch *scratch.Dir

	// Progress is told how many adjacency entries have been walked, from one goroutine at a time.
	Progress kv.Progress

	// OnStage is told of every finished stage, in order.
	OnStage func(Stage)
}

// A Stage is one finished step of a long job. The seconds of stages do not overlap.
type Stage struct {
	Name      string  `json:"name"`
	Hop       int     `json:"hop"`
	Seconds   float64 `json:"seconds"`
	Edges     int64   `json:"edges"`
	Columns   int     `json:"columns"`
	BytesRead int64   `json:"bytes_read"`
}

func (o Options) withDefaults() Options {
	if o.MemoryBudget <= 0 {
		o.MemoryBudget = machine.MemoryBudget()
	}
	o.Workers = parallel.Workers(o.Workers)
	return o
}

// A meter adds up the work of the workers for Options.Progress.
type meter struct {
	mu          sync.Mutex
	progress    kv.Progress
	stage       string
	done, total int64
}

func (m *meter) add(entries int) {
	if m.progress == nil || entries == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done += int64(entries)
	m.progress(m.stage, m.done, m.total)
}
