package shell

import (
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/graphcleaner/graphcleaner/internal/machine"
	"github.com/graphcleaner/graphcleaner/ops"
)

// resources are the flags of commands that compute.
type resources struct {
	Memory  byteSize `placeholder:"SIZE" help:"Memory budget, such as 512MiB or 2GiB. Default: a quarter of the machine's memory."`
	Threads int      `default:"${threads}" placeholder:"N" help:"Processors to use. Default: all. Results are the same with any number."`

	Wait time.Duration `default:"3s" placeholder:"TIME" help:"How long to wait for a store that another process holds, such as 10m. Default: 3s."`
}

// defaultMemory is the budget without --memory.
var defaultMemory = machine.MemoryBudget

// AfterApply completes the flags and holds the garbage collector to them.
func (c *resources) AfterApply(s *streams) error {
	if c.Threads < 1 {
		return usagef("--threads %d: want 1 or more", c.Threads)
	}
	if c.Memory == 0 {
		c.Memory = byteSize(defaultMemory())
	}
	if c.Wait < 0 {
		return usagef("--wait %v: want 0s or more", c.Wait)
	}
	if s.asked == nil {
		debug.SetMemoryLimit(heapLimit(int64(c.Memory)))
	} else {
		s.asked.reserve(c.Memory)
	}
	return nil
}

const (
	// heapShare is the part of the memory that the garbage collector keeps the heap in, as a divisor: tiles, which are
	// the better part of the work of clean, lie outside it, and so do stacks and the collector's own memory.
	heapShare = 2

	// leastHeap is the live heap of a clean of a hundred thousand nodes, in bytes: below it the collector would run all
	// the time and free nothing.
	leastHeap = 64 << 20
)

// heapLimit is the heap limit of the garbage collector for so much memory, in bytes.
func heapLimit(memory int64) int64 { return max(memory/heapShare, leastHeap) }

// inFlags words a budget that is too small as the --memory that would do.
func (c *resources) inFlags(err error) error {
	small, ok := errors.AsType[*ops.BudgetError](err)
	if !ok {
		return err
	}
	memory := strings.ReplaceAll(c.Memory.String(), " ", "")
	return fmt.Errorf("--memory %s is too little: want at least %dMiB", memory, leastMemoryFor(small.Least)>>20)
}

// leastMemoryFor is the --memory that leaves so much for the work, in whole MiB.
func leastMemoryFor(work int64) int64 {
	const mebibyte = 1 << 20
	rest := min(work+processBytes, 4*work) // see resources.work
	return max(int64(leastMemory), ((4*rest+2)/3+mebibyte-1)/mebibyte*mebibyte)
}

// processBytes is the memory of the program beside the store and the work: its code's own data, stacks, the buffers of
// the workers, and garbage that is not collected yet.
const processBytes = 48 << 20

// store is the part of the memory that an open store may hold; work is the rest without the program's own memory,
// if there is that much.
func (c *resources) store() int64 { return int64(c.Memory) / 4 }
func (c *resources) work() int64 {
	rest := int64(c.Memory) - c.store()
	return max(rest-processBytes, rest/4)
}

// A byteSize is a number of bytes, read from texts such as 512MiB, 2GiB, 1.5GB, 4G or 1048576.
type byteSize int64

// units are the suffixes by the bytes they stand for. A bare K, M, G or T is a power of two.
var units = []struct {
	suffix string
	bytes  float64
}{
	{"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30}, {"tib", 1 << 40},
	{"kb", 1e3}, {"mb", 1e6}, {"gb", 1e9}, {"tb", 1e12},
	{"k", 1 << 10}, {"m", 1 << 20}, {"g", 1 << 30}, {"t", 1 << 40},
	{"b", 1}, {"", 1},
}

// leastMemory is less than which no command can do with.
const leastMemory byteSize = 64 << 20

// UnmarshalText reads a size for the command line.
func (b *byteSize) UnmarshalText(text []byte) error {
	word := strings.ToLower(strings.TrimSpace(string(text)))
	for _, unit := range units {
		number, ok := strings.CutSuffix(word, unit.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || !(n > 0) || n*unit.bytes > math.MaxInt64/2 {
			break
		}
		*b = byteSize(n * unit.bytes)
		if *b < leastMemory {
			return fmt.Errorf("got %q, want %s or more", text, leastMemory)
		}
		return nil
	}
	return fmt.Errorf("got %q, want a size such as 512MiB or 2GiB", text)
}

// String prints a size with three digits or so.
func (b byteSize) String() string {
	for _, unit := range []struct {
		name  string
		bytes byteSize
	}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if b >= unit.bytes {
			return strconv.FormatFloat(math.Round(10*float64(b)/float64(unit.bytes))/10, 'f', -1, 64) + " " + unit.name
		}
	}
	return strconv.FormatInt(int64(b), 10) + " bytes"
}
