package spill

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/graphcleaner/graphcleaner/internal/offheap"
)

// A Number is what a Numbers sorts.
type Number interface{ uint64 | Pair }

// A Pair is a number with a value. Pairs are in the order of their numbers, those of the same number in that of their
// values.
type Pair struct {
	Key   uint64
	Value uint32
}

// A Numbers sorts numbers, of which it drops repeated ones, or pairs, of which it keeps them. Any number of writers fill
// it at once; Sort ends that, and then Each and Ordered read it, any number of times. Numbers that differ in their lowest
// bit alone are handed out in one stretch, and so are all pairs of them: that much must fit into memory.
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
	memory   array[T] // of the chunks
	usage    int      // numbers of memory that are in chunks
	free     [][]T    // chunks
	full     [][]T
	waiting  int // numbers in full
	spilling bool
	err      error // of a run that could not be written
	count    int64
	stop     atomic.Bool

	keys    array[T] // of the run being written, or of the buckets
	buckets [][]T    // of all numbers, where there are no runs
	ordered []bool   // buckets that are sorted and distinct
	file    *runFile // nil until something was spilled
	runs    []*storedRun
	cuts    []uint64 // the least number of each range of the runs
}

const (
	// fineBits is how many upper bits choose a bucket. Buckets hold many of their values, or few where those are common.
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
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
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
func keyOf[T Number](x *T) uint64 { return *(*uint64)(unsafe.Pointer(x)) }

// setKey is the inverse of keyOf.
func setKey[T Number](x *T, key uint64) { *(*uint64)(unsafe.Pointer(x)) = key }

// An array is memory outside of the Go heap.
type array[T Number] struct {
	Data   []T
	memory offheap.Array[uint64]
}

func newArray[T Number](length int) (a array[T], err error) {
	words := int(sizeOf[T]() / sizeOf[uint64]())
	if a.memory, err = offheap.New[uint64](length * words); err == nil && length > 0 {
		a.Data = unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(a.memory.Data))), length)
	}
	return a, err
}

func (a *array[T]) free() error {
	a.Data = nil
	return a.memory.Free()
}

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

// AddAll is Add of many numbers.
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

// Close hands over what is left. Closing twice is harmless.
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
			if s.memory, err = newArray[T](s.most); err != nil {
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

// spillInBackground writes full chunks as runs, while others are being filled.
func (s *Numbers[T]) spillInBackground() {
	err := s.spill()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spilling = false
	s.err = errors.Join(s.err, err)
	s.change.Broadcast()
}

// takeFull takes full chunks of a run at most.
func (s *Numbers[T]) takeFull() [][]T {
	s.mu.Lock()
	defer s.mu.Unlock()
	first, numbers := 0, 0
	for first < len(s.full) && (first == 0 || numbers+len(s.full[first]) <= s.run) {
		numbers += len(s.full[first])
		first++
	}
	chunks := slices.Clone(s.full[:first])
	s.full = slices.Delete(s.full, 0, first)
	s.waiting -= numbers
	return chunks
}

// spill writes the chunks that are full as runs, each as soon as the one before is written.
func (s *Numbers[T]) spill() error {
	for {
		chunks := s.takeFull()
		if len(chunks) == 0 {
			return nil
		}
		buckets, err := s.partition(chunks)
		if err != nil {
			return err
		}
		s.mu.Lock()
		s.free = append(s.free, chunks...)
		s.change.Broadcast()
		s.mu.Unlock()
		sortBucket := func(i int, scratch []T) []T {
			sortKeys(buckets[i], scratch)
			return distinct(buckets[i])
		}
		if err := s.writeRun(len(buckets), sortBucket); err != nil {
			return err
		}
	}
}

// partition moves the numbers of chunks to s.keys, which it makes where it is too short, ordered by bucket.
func (s *Numbers[T]) partition(chunks [][]T) (buckets [][]T, err error) {
	total := 0
	for _, chunk := range chunks {
		total += len(chunk)
	}
	if total > len(s.keys.Data) {
		if err := s.keys.free(); err != nil {
			return nil, err
		}
		if s.keys, err = newArray[T](total); err != nil {
			return nil, err
		}
	}
	workers := min(s.workers, len(chunks))
	// Worker w has the chunks w, w+workers, …, in both passes.
	fine := make([][]uint32, workers)
	count := func(w, _ int) error {
		counts := make([]uint32, 1<<fineBits)
		for i := w; i < len(chunks); i += workers {
			if s.stop.Load() {
				return errStopped
			}
			chunk := chunks[i]
			for j := range chunk {
				counts[keyOf(&chunk[j])>>(s.shift&63)&(1<<fineBits-1)]++
			}
		}
		fine[w] = counts
		return nil
	}
	if err := each(context.Background(), workers, workers, func(_, i int) error { return count(i, i) }); err != nil {
		return nil, err
	}
	bucketOf, sizes := chooseBuckets(fine, max(leafKeys, total/maxBuckets))
	places := make([][]int, workers)
	for w := range workers {
		places[w] = make([]int, len(sizes))
		for bin, n := range fine[w] {
			places[w][bucketOf[bin]] += int(n)
		}
	}
	at := 0
	for b, size := range sizes {
		buckets = append(buckets, s.keys.Data[at:at+size:at+size])
		for w := range workers {
			places[w][b], at = at, at+places[w][b]
		}
	}
	err = each(context.Background(), workers, workers, func(_, w int) error {
		to, place := s.keys.Data, places[w]
		for i := w; i < len(chunks); i += workers {
			if s.stop.Load() {
				return errStopped
			}
			chunk := chunks[i]
			for j := range chunk {
				b := bucketOf[keyOf(&chunk[j])>>(s.shift&63)&(1<<fineBits-1)]
				to[place[b]] = chunk[j]
				place[b]++
			}
		}
		return nil
	})
	return buckets, err
}

// chooseBuckets joins neighbouring bins, of which each worker has counted its numbers, into buckets of at most so many
// numbers, or of one bin. It returns the bucket of each bin and the size of each bucket.
func chooseBuckets(fine [][]uint32, most int) (bucketOf []uint16, sizes []int) {
	bucketOf = make([]uint16, 1<<fineBits)
	sizes = []int{0}
	for bin := range bucketOf {
		n := 0
		for _, counts := range fine {
			n += int(counts[bin])
		}
		last := len(sizes) - 1
		if sizes[last] > 0 && sizes[last]+n > most {
			sizes = append(sizes, 0)
			last++
		}
		sizes[last] += n
		bucketOf[bin] = uint16(last)
	}
	return bucketOf, sizes
}

// errStopped ends the work of a sorter that is being closed, and a merge whose reader wants no more.
var errStopped = errors.New("spill: stopped")

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
		err = errors.Join(err, s.keys.free())
	} else if s.buckets == nil && s.waiting > 0 {
		s.buckets, err = s.partition(s.full)
		s.ordered = make([]bool, len(s.buckets))
	}
	s.full, s.free, s.waiting = nil, nil, 0
	return errors.Join(err, s.memory.free())
}

// spilled reports whether the numbers are read back from runs.
func (s *Numbers[T]) spilled() bool { return s.file != nil }

// ranges is the number of stretches in which the numbers are read.
func (s *Numbers[T]) ranges() int {
	if s.spilled() {
		return len(s.cuts)
	}
	return len(s.buckets)
}

// A rangeMemory is what reading one range needs.
type rangeMemory[T Number] struct {
	keys    array[T] // of what is read back
	bytes   []byte   // of what is read back
	scratch []T
	result  []T
}

func newRangeMemory[T Number]() *rangeMemory[T] { return &rangeMemory[T]{scratch: make([]T, leafKeys)} }

// load makes result the numbers of range i, ascending and distinct.
func (s *Numbers[T]) load(m *rangeMemory[T], i int) (err error) {
	if s.spilled() {
		m.result, err = s.readRange(m, i)
		return err
	}
	s.order(i, m.scratch)
	m.result = s.buckets[i]
	return nil
}

// order sorts bucket i and drops what is repeated in it.
func (s *Numbers[T]) order(i int, scratch []T) {
	if !s.ordered[i] {
		sortKeys(s.buckets[i], scratch)
		s.buckets[i] = distinct(s.buckets[i])
		s.ordered[i] = true
	}
}

// Each hands all numbers to use, each once, in ascending stretches that are borrowed for the call. The calls run on the
// sorter's goroutines, which have the numbers 0 ≤ worker < Workers.
func (s *Numbers[T]) Each(ctx context.Context, use func(worker int, keys []T) error) (err error) {
	memory := make([]*rangeMemory[T], s.workers)
	for w := range memory {
		memory[w] = newRangeMemory[T]()
	}
	defer func() { err = errors.Join(err, freeAll(memory)) }()
	return each(ctx, s.workers, s.ranges(), func(worker, i int) error {
		if err := s.load(memory[worker], i); err != nil {
			return err
		}
		return use(worker, memory[worker].result)
	})
}

// Workers is the number of goroutines that sort.
func (s *Numbers[T]) Workers() int { return s.workers }

func freeAll[T Number](memory []*rangeMemory[T]) (err error) {
	for _, m := range memory {
		err = errors.Join(err, m.keys.free())
	}
	return err
}

// Stretches yields all numbers, each once, ascending, in stretches that are borrowed until the next step.
func (s *Numbers[T]) Stretches(ctx context.Context) iter.Seq2[[]T, error] {
	return func(yield func([]T, error) bool) {
		prepare := func(*struct{}, []T) error { return nil }
		err := InOrder(ctx, s, prepare, func(_ *struct{}, keys []T) error {
			if !yield(keys, nil) {
				return errStopped
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}
}

// InOrder hands all numbers of s, each once, in stretches that are borrowed for the call, to prepare, on the goroutines
// of s, and then, ascending, with what prepare made of them, to use, on its own. What prepare fills is an M that was
// zero at first and has been used before.
func InOrder[T Number, M any](
	ctx context.Context, s *Numbers[T], prepare func(to *M, keys []T) error, use func(product *M, keys []T) error,
) (err error) {
	type place struct {
		memory  *rangeMemory[T]
		product M
	}
	places := make([]*place, 2*s.workers)
	memory := make([]*rangeMemory[T], len(places))
	for i := range places {
		memory[i] = newRangeMemory[T]()
		places[i] = &place{memory: memory[i]}
	}
	defer func() { err = errors.Join(err, freeAll(memory)) }()
	load := func(p *place, i int) error {
		if err := s.load(p.memory, i); err != nil {
			return err
		}
		return prepare(&p.product, p.memory.result)
	}
	return inOrder(ctx, s.workers, s.ranges(), places, load, func(p *place) error { return use(&p.product, p.memory.result) })
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
	err := errors.Join(s.memory.free(), s.keys.free())
	if s.file == nil {
		return err
	}
	f := s.file
	s.file = nil
	return errors.Join(err, f.remove())
}
