package kv

import (
	"fmt"
	"log/slog"
	"sync"
)

// Options opens a store. The zero value is ready to use.
type Options struct {
	// MemoryBudget bounds the bytes the store holds: Badger's tables in memory and its caches, records that were
	// looked up, changes and values of all nodes that were asked for, and what bulk writers buffer. Zero means a quarter
	// of the machine's memory; less than 64 MiB is taken as 64 MiB.
	MemoryBudget int64

	// ReadOnly opens without a write lock, so that several processes may read at once.
	ReadOnly bool

	// OnWrite is called inside the transaction for every change of a value in a column marked indexed, after the change is
	// made. If OnWrite returns an error, the write fails with it. A store that has indexed columns refuses writes to them
	// when opened without it (ErrIndexed).
	OnWrite func(tx *Tx, w Write) error

	// OnRewrite begins the index of an indexed column that a Patch writes again. It is needed where OnWrite is.
	OnRewrite func(b *Bulk, column string) (ColumnIndex, error)

	// Logger, if not nil, logs every Event, and the messages of Badger. Commits and sweeps are on the level of debugging,
	// what failed is a warning, damage an error.
	Logger *slog.Logger

	// Observe, if not nil, is called at the end of every Event, by the goroutine of that Event. Updates that share a
	// sync are told by the goroutine of one of them. Calls may be concurrent. Observe must not wait for this store.
	Observe func(Event)
}

// Write is one change of one value. For a new node, Before is null.
type Write struct {
	Node          NodeID
	Column        string
	Before, After Value
}

// A ColumnIndex is an index that is written with its column. It is given every value but null, ascending by node, and
// finished before the Bulk commits; Mark puts it into use in the transaction of that commit. It is closed in every
// case.
type ColumnIndex interface {
	Add(v NodeID, value Value) error
	Finish() error
	Mark(tx *Tx) error
	Close() error
}

// contextEvery is the number of nodes or edges between two looks at the context, and two reports of progress.
const contextEvery = 1 << 12

// Progress reports how far a stage has come; total 0 means unknown. Called often, from one goroutine at a time.
type Progress func(stage string, done, total int64)

const minMemoryBudget = 64 << 20

func (opt Options) withDefaults() (Options, error) {
	if opt.MemoryBudget < 0 {
		return opt, fmt.Errorf("kv: MemoryBudget is %d, want 0 (default) or more", opt.MemoryBudget)
	}
	if opt.MemoryBudget == 0 {
		opt.MemoryBudget = DefaultMemoryBudget()
	}
	opt.MemoryBudget = max(opt.MemoryBudget, minMemoryBudget)
	return opt, nil
}

// DefaultMemoryBudget is a quarter of the memory of the machine, or of the control group this process is in, when it
// is first asked for.
func DefaultMemoryBudget() int64 { return defaultMemoryBudget() }

var defaultMemoryBudget = sync.OnceValue(func() int64 { return max(machineMemory()/4, minMemoryBudget) })
