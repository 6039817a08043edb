package spill

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/graphcleaner/graphcleaner/internal/offheap"
	"github.com/graphcleaner/graphcleaner/internal/parallel"
)

// A Number is an element that a Numbers sorts.
type Number interface{ uint64 | Pair }

// A Pair is a number with a value. Pairs are in the order of their numbers, those of the same number in that of their
// values.
type Pair struct {
	Key   uint64
	Value uint32
}

// A Numbers sorts numbers, of which it drops repeated ones, or pairs, of which it keeps them. Any number of writers
// fill it at once; Sort ends that, and then Each and Stretches read it, any number of times. Numbers that
// differ in their lowest bit alone are handed out in one stretch, and so are all pairs of them: that much must fit into
// memory.
//
// Numbers are collected in chunks. Where they fit into half of the memory, Sort splits them by their upper bits into
// buckets that fit into the second-level cache, which those who read sort. Else they are written as runs while others
// are collected, and whole ranges of numbers are read back of all runs at once and sorted again.
type Numbers[T Number] struct {
	dir     string
	shift   int // of the upper fineBits bits of a number
	workers int
	chunk   int // numbers of a chunk
	most    int // numbers that are collected before the first run
	run     int // numbers of a run
	reading int // numbers of a range that is read back

	mu       sync.Mutex
	change   *sync.Cond
	memory   offheap.Array[T] // of the chunks
	usage    int              // numbers of memory that are in chunks
	free     [][]T            // chunks
	full     [][]T
	waiting  int // numbers in full
	spilling bool
	err      error // of a run that could not be written
	count    int64
	stop     atomic.Bool

	keys    offheap.Array[T] // of the run being written, or of the buckets
	buckets [][]T            // of all numbers, where there are no runs
	ordered []bool           // buckets that are sorted and distinct
	file    *runFile         // nil until something was spilled
	runs    []*storedRun
	cuts    []uint64 // the least number of each range of the runs
}

const (
	// fineBits is how many upper bits choose a bucket. Buckets hold many of their values, or few where those are
	// common.
	fineBits = 16

	maxBuckets = 1 << 11 // beyond it a partition would miss the cache with every number

	maxChunk = 1 << 16

	// maxRun bounds a run, and with it how long collecting waits until the chunks of a run are free.
	maxRun = 1 << 25

	minMost = 1 << 9 // numbers, with the least of memory
)

// NewNumbers returns a sorter of numbers less than 2^width that takes about so many bytes of memory, sorts on so many
// goroutines (0: GOMAXPROCS), and spills into a temporary file in dir.
func NewNumbers[T Number](dir string, memory int64, width, workers int) *Numbers[T] {
	workers = parallel.Workers(workers)
	size := sizeOf[T]()
	most := int(max(memory/(2*size), minMost))
	s := &Numbers[T]{
		dir:     dir,
		shift:   max(width-fineBits, 1), // so that the lowest bit chooses none
		workers: workers,
		chunk:   min(max(most/64, 64), maxChunk),
		most:    most,
		run:     min(most, maxRun),
		// An eighth for reading back: each worker has a range in hand, and as many are waiting.
		reading: int(min(max(memory/(8*size)/int64(2*workers), minMost), maxReading)),
	}
	s.change = sync.NewCond(&s.mu)
	return s
}

// sizeOf is the number of bytes of a T in memory.
func sizeOf[T Number]() int64 {
	var x T
	return int64(unsafe.Sizeof(x))
}

// keyOf is the number that x is or, being its first field, has.
func keyOf[T keyed](x *T) uint64 { return *(*uint64)(unsafe.Pointer(x)) }

// PairOf is a pair, or the number with the value 0.
func PairOf[T Number](x *T) Pair {
	if sizeOf[T]() == sizeOf[Pair]() {
		return *(*Pair)(unsafe.Pointer(x))
	}
	return Pair{Key: keyOf(x)}
}

// SetPair is the inverse of PairOf: it sets x, which drops the value if it is a number.
func SetPair[T Number](x *T, key uint64, value uint32) {
	if sizeOf[T]() == sizeOf[Pair]() {
		(*Pair)(unsafe.Pointer(x)).Value = value
	}
	setKey(x, key)
}

// setKey is the inverse of keyOf.
func setKey[T Number](x *T, key uint64) { *(*uint64)(unsafe.Pointer(x)) = key }

// Len is the number of numbers that the writers have handed over, repeated ones too.
func (s *Numbers[T]) Len() int64 { return s.count }

// MemoryBytes is the number of bytes of memory that the numbers take, between Sort and Close.
func (s *Numbers[T]) MemoryBytes() int64 { return sizeOf[T]() * int64(len(s.keys.Data)) }

// A NumbersWriter adds numbers to a Numbers. It belongs to one goroutine.
type NumbersWriter[T Number] struct {
	s     *Numbers[T]
	chunk []T
}

// Writer begins another writer. It must be closed before Sort.
func (s *Numbers[T]) Writer() *NumbersWriter[T] { return &NumbersWriter[T]{s: s} }

// Add adds a number. Its error may be that of numbers added before, by others too.
func (w *NumbersWriter[T]) Add(key T) error {
	if n := len(w.chunk); n < cap(w.chunk) {
		w.chunk = w.chunk[:n+1]
		w.chunk[n] = key
		return nil
	}
	return w.addToNext(key)
}

// AddAll adds many numbers.
func (w *NumbersWriter[T]) AddAll(keys []T) error {
	for {
		n := copy(w.chunk[len(w.chunk):cap(w.chunk)], keys)
		w.chunk, keys = w.chunk[:len(w.chunk)+n], keys[n:]
		if len(keys) == 0 {
			return nil
		}
		if err := w.addToNext(keys[0]); err != nil {
			return err
		}
		keys = keys[1:]
	}
}

// addToNext hands the chunk over, and adds a number to another.
func (w *NumbersWriter[T]) addToNext(key T) (err error) {
	s := w.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handOver(w.chunk)
	if w.chunk, err = s.freeChunk(); err == nil {
		w.chunk = append(w.chunk, key)
	}
	return err
}

// Close hands over the rest. Closing twice is harmless.
func (w *NumbersWriter[T]) Close() error {
	s := w.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handOver(w.chunk)
	w.chunk = nil
	return s.err
}

// handOver takes a chunk back; s is locked.
func (s *Numbers[T]) handOver(chunk []T) {
	switch {
	case len(chunk) > 0:
		s.full = append(s.full, chunk)
		s.waiting += len(chunk)
		s.count += int64(len(chunk))
	case cap(chunk) > 0:
		s.free = append(s.free, chunk)
	}
}

// freeChunk returns an empty chunk, once there is one; s is locked.
func (s *Numbers[T]) freeChunk() ([]T, error) {
	for {
		switch {
		case s.err != nil:
			return nil, s.err
		case s.stop.Load():
			return nil, errStopped
		}
		if !s.spilling && s.waiting > 0 && (s.waiting >= s.most-s.most/8 || s.file != nil && s.waiting >= s.run) {
			s.spilling = true
			go s.spillInBackground()
		}
		if last := len(s.free) - 1; last >= 0 {
			chunk := s.free[last]
			s.free = s.free[:last]
			return chunk[:0], nil
		}
		if s.memory.Data == nil {
			var err error
			if s.memory, err = offheap.New[T](s.most); err != nil {
				return nil, err
			}
		}
		if begin, end := s.usage, s.usage+s.chunk; end <= len(s.memory.Data) {
			s.usage = end
			return s.memory.Data[begin:begin:end], nil
		}
		switch {
		case s.spilling:
			s.change.Wait()
		case s.waiting > 0:
			s.spilling = true
			go s.spillInBackground()
		default:
			// More writers than chunks: each has one in hand and none is full.
			return make([]T, 0, s.chunk), nil
		}
	}
}

// Sort ends the adding and makes the numbers ready to be read. All writers are closed.
func (s *Numbers[T]) Sort(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { s.stop.Store(true) })()
	s.mu.Lock()
	for s.spilling {
		s.change.Wait()
	}
	err := s.err
	s.mu.Unlock()
	if err == nil {
		err = s.sort()
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func (s *Numbers[T]) sort() (err error) {
	if s.file != nil {
		err = s.spill()
		s.cuts = s.chooseCuts()
		err = errors.Join(err, s.keys.Free())
	} else if s.buckets == nil && s.waiting > 0 {
		s.buckets, err = s.partition(s.full)
		s.ordered = make([]bool, len(s.buckets))
	}
	s.full, s.free, s.waiting = nil, nil, 0
	return errors.Join(err, s.memory.Free())
}

// Close forgets the numbers and removes the temporary file. Closing twice is harmless.
func (s *Numbers[T]) Close() error {
	s.stop.Store(true)
	s.mu.Lock()
	for s.spilling {
		s.change.Wait()
	}
	s.change.Broadcast()
	s.mu.Unlock()
	s.full, s.free, s.buckets, s.cuts, s.runs = nil, nil, nil, nil, nil
	err := errors.Join(s.memory.Free(), s.keys.Free())
	if s.file == nil {
		return err
	}
	f := s.file
	s.file = nil
	return errors.Join(err, f.remove())
}
