package kv

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"

	"github.com/dgraph-io/badger/v4"
	badgeroptions "github.com/dgraph-io/badger/v4/options"

	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// Options opens a store. The zero value is ready to use.
type Options struct {
	// MemoryBudget bounds the bytes the store holds: Badger's tables in memory and its caches, records that were
	// looked up, and what bulk writers buffer. Zero means a quarter of the machine's memory; less than 64 MiB is taken as 64 MiB.
	MemoryBudget int64

	// ReadOnly opens without a write lock, so that several processes may read at once.
	ReadOnly bool

	// OnWrite is called inside the transaction for every change of a value in a column marked indexed, after the
	// change is made. Its error is the write's. A store that has indexed columns refuses writes to them when opened
	// without it (ErrIndexed).
	OnWrite func(tx *Tx, w Write) error

	// Logger, where set, is told of every Event, and of what Badger logs. Commits and sweeps are on the level of
	// debugging, what failed is a warning, damage an error.
	Logger *slog.Logger

	// Observe, where set, is called with every Event, at its end, by the goroutine that made it: many may at once, and it
	// must not wait for this store. Store.Counters has the totals, and counts what is too frequent for events.
	Observe func(Event)
}

// Write is one change of one value. A new node's writes arrive as Before null.
type Write struct {
	Node          NodeID
	Column        string
	Before, After Value
}

// Progress reports how far a stage has come; total 0 means unknown. Called often, from one goroutine at a time.
type Progress func(stage string, done, total int64)

// A Stage is one finished step of a long job. The seconds of stages do not overlap.
type Stage struct {
	Name      string  `json:"name"`
	Hop       int     `json:"hop"`
	Seconds   float64 `json:"seconds"`
	Edges     int64   `json:"edges"`
	Columns   int     `json:"columns"`
	BytesRead int64   `json:"bytes_read"`
}

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

// DefaultMemoryBudget is a quarter of the memory of the machine, or of the control group this process is in.
func DefaultMemoryBudget() int64 { return max(machineMemory()/4, minMemoryBudget) }

// valueThreshold is the size from which Badger would put a value into its value log. No value gets near it, so the
// value log stays empty and needs no garbage collection.
const valueThreshold = 1 << 20

// badgerOptions derives every option of Badger from the one memory budget; none is left to Badger's defaults. With
// synced false the store is that of a load, durable once it is closed: a crash starts it over.
func badgerOptions(dir string, opt Options, synced bool) (badger.Options, error) {
	memTable, err := memTableSize(dir, opt.MemoryBudget)
	if err != nil {
		return badger.Options{}, err
	}
	if !synced { // a load writes its tables itself: of memtables it needs the least, each time that Badger opens
		memTable = minMemTable
	}
	b := badger.DefaultOptions(dir)

	b.ReadOnly = opt.ReadOnly
	b.Logger = nil // what matters comes back as an error
	if opt.Logger != nil {
		b.Logger = badgerLog{opt.Logger}
	}

	// The journal is synced with each commit, so that Badger's logs need not be.
	b.SyncWrites = false

	// One writer at a time, held by a mutex, cannot conflict; recording reads to detect it would cost memory.
	b.DetectConflicts = false

	// An older version is needed only by an open snapshot, which Badger honours whatever this says.
	b.NumVersionsToKeep = 1

	// A transaction may hold 15% of a memtable. Each has 1.3 times its size as arena; one is written, up to two wait
	// for being flushed, so all together stay below half the budget.
	b.MemTableSize = memTable
	b.NumMemtables = 2

	// Two merges build up to 36 tables at once where the disk is slow to sync them, each in twice its size. So tables are
	// small where the budget is, and of one size at all levels.
	b.BaseTableSize = min(max(opt.MemoryBudget/256, 512<<10), 16<<20)
	b.BaseLevelSize = 4 * memTable
	b.TableSizeMultiplier = 1
	b.LevelSizeMultiplier = 10
	b.MaxLevels = 7
	// Reads look into every level-0 table, so few are let pile up; writes stall at twice as many.
	b.NumLevelZeroTables = 4
	b.NumLevelZeroTablesStall = 8
	b.NumCompactors = 2 // the least Badger takes: one for level 0, one for the rest
	b.CompactL0OnClose = false
	b.LmaxCompaction = false
	b.NumGoroutines = 1 // of Badger's Stream, which is not used

	// Records are packed by their own encodings; on top of these a general compressor saves little and costs a copy
	// and a cache. Uncompressed blocks are read in place from the mapped file, and the system's page cache, which
	// gives memory back when others need it, is the only block cache.
	b.Compression = badgeroptions.None
	b.ZSTDCompressionLevel = 1
	b.BlockCacheSize = 0
	b.BlockSize = 4 << 10 // small records are found in a small block; a large one has a block to itself

	// Without a bound all table indices and Bloom filters would stay in memory.
	b.IndexCacheSize = max(opt.MemoryBudget/16, 4<<20)
	b.BloomFalsePositive = 0.01

	// Every record has a checksum of its own over key and value. Badger's check of blocks would come first and turn a
	// damaged block into an iteration that silently ends early, instead of an ErrCorrupt.
	b.ChecksumVerificationMode = badgeroptions.NoVerification
	b.VerifyValueChecksum = false

	b.ValueThreshold = valueThreshold
	b.VLogPercentile = 0 // a fixed threshold
	// Badger maps twice this much for a log that stays empty.
	b.ValueLogFileSize = 1 << 20
	b.ValueLogMaxEntries = 1 << 20

	b.MetricsEnabled = false // they are global to the process
	b.InMemory = false
	b.BypassLockGuard = storedir.HasLocks // the store holds the lock from Open to Close
	b.EncryptionKey = nil
	b.NamespaceOffset = -1
	b.ExternalMagicVersion = 0
	return b, nil
}

// minMemTable has room for transactions of a useful size.
const minMemTable = 8 << 20

// memTableSize is an eighth of the budget, within what transactions of a useful size need and what flushes well. A
// log left by a crash is replayed into one memtable, so that size is never below what the store was written with.
func memTableSize(dir string, budget int64) (int64, error) {
	size := min(max(budget/8, minMemTable), 64<<20)
	logs, err := memTableLogs(dir)
	if err != nil {
		return 0, err
	}
	for _, name := range logs {
		info, err := os.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the process that has the store open has just made a table of it
		}
		if err != nil {
			return 0, err
		}
		size = max(size, info.Size()/2) // a log's file is twice its memtable
	}
	return size, nil
}
