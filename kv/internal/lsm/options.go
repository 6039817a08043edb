package lsm

import (
	"os"

	"github.com/dgraph-io/badger/v4"
	badgeroptions "github.com/dgraph-io/badger/v4/options"

	"github.com/graphcleaner/graphcleaner/kv/internal/pack"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// valueThreshold is the size from which Badger would put a value into its value log. No value gets near it, so the
// value log stays empty and needs no garbage collection.
const valueThreshold = 1 << 20

// lastLevel is the last level of tables.
const lastLevel = 6

// badgerOptions derives the options of Badger from the one memory budget. Those that are not set here, such as those of
// merges, have no effect.
func badgerOptions(dir string, opt Options) (badger.Options, error) {
	memTable, err := memTableSize(dir, opt.MemoryBudget)
	if err != nil {
		return badger.Options{}, err
	}
	if opt.Loading { // a load writes its tables itself: of memtables it needs the least, each time that Badger opens
		memTable = minMemTable
	}
	b := badger.DefaultOptions(dir)

	// A commit is durable when it returns. What is loaded is once it is closed.
	b.SyncWrites = !opt.Loading

	// One writer at a time, held by a mutex, cannot conflict; recording reads to detect it would cost memory.
	b.DetectConflicts = false

	// A transaction may hold 15% of a memtable. Each has 1.3 times its size as arena; one is written, up to two wait for
	// being flushed, so all together stay below half the budget. awaitFlush sees to that: Badger itself is never to
	// wait.
	b.MemTableSize = memTable
	b.NumMemtables = 1 << 10

	// What makes a table of a memtable takes twice this much memory at first.
	b.BaseTableSize = min(max(opt.MemoryBudget/256, 512<<10), 16<<20)

	// Badger merges nothing: a merge would drop the deletion of what is in a pack. Without merges nothing else may wait
	// for them.
	b.NumLevelZeroTables = 1 << 30
	b.NumLevelZeroTablesStall = b.NumLevelZeroTables + 1
	b.NumCompactors = 0

	// Records are packed by their own encodings; on top of these a general compressor saves little and costs a copy
	// and a cache. Uncompressed blocks are read in place from the mapped file, and the system's page cache, which
	// gives memory back when others need it, is the only block cache.
	b.Compression = badgeroptions.None
	b.BlockCacheSize = 0
	b.BlockSize = pack.BlockSize

	// Without a bound all table indices and Bloom filters would stay in memory.
	b.IndexCacheSize = max(opt.MemoryBudget/16, 4<<20)
	b.BloomFalsePositive = pack.BloomFalsePositive

	// Every record has a checksum of its own over key and value. Badger's check of blocks would come first and turn a
	// damaged block into an iteration that silently ends early, instead of an ErrCorrupt.
	b.ChecksumVerificationMode = badgeroptions.NoVerification

	b.ValueThreshold = valueThreshold
	b.ValueLogFileSize = 1 << 20 // Badger maps twice this much for a log that stays empty

	b.MetricsEnabled = false // they are global to the process
	b.BypassLockGuard = true // the store holds the lock from Open to Close
	return b, nil
}

// The smallest memtable has room for transactions of a useful size, the largest flushes well.
const (
	minMemTable     = 8 << 20
	largestMemTable = 64 << 20
)

// waitingMemTables is how many memtables, beside the one that is written, there are at most.
const waitingMemTables = 2

// memTableOf is an eighth of the budget, within these.
func memTableOf(budget int64) int64 { return min(max(budget/8, minMemTable), largestMemTable) }

// memTableSize is memTableOf a budget, for what is in a directory. A log left by a crash is replayed into one memtable,
// so that size is never below what the store was written with.
func memTableSize(dir string, budget int64) (int64, error) {
	size := memTableOf(budget)
	logs, err := memTableLogs(dir)
	if err != nil {
		return 0, err
	}
	for _, name := range logs {
		info, err := os.Stat(name)
		if err != nil {
			return 0, err
		}
		if info.Size() > 2*largestMemTable {
			return 0, record.CorruptFile(name, "it has %d bytes, and a log at most %d", info.Size(), 2*largestMemTable)
		}
		size = max(size, info.Size()/2) // a log's file is twice its memtable
	}
	return size, nil
}
