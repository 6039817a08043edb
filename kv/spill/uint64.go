package spill

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/graphcleaner/graphcleaner/kv/internal/offheap"
)

// A Uint64 sorts numbers and drops repeated ones. Any number of writers fill it at once; Sort ends that, and then Each
// and Ordered read it, any number of times.
//
// Numbers are collected in chunks. Where they fit into half of the memory, Sort splits them by their upper bits into
// buckets that fit into the second-level cache, which those who read sort. Else they are written as runs while others
// are collected, and whole ranges of numbers are read back of all runs at once and sorted again.
type Uint64 struct {
	dir     string
	shift   int // of the upper fineBits bits of a number
	workers int
	chunk   int // numbers of a chunk
	most    int // numbers that are collected before the first run
	run     int // numbers of a run
	reading int // numbers of a range that is read back

	mu       sync.Mutex
	changed  *sync.Cond
	memory   offheap.Array[uint64] // of the chunks
	used     int                   // numbers of memory that are in chunks
	free     [][]uint64            // chunks
	full     [][]uint64
	held     int // numbers in full
	spilling bool
	err      error // of a run that could not be written
	count    int64
	stop     atomic.Bool

	sorted  offheap.Array[uint64] // of the run being written, or of the buckets
	buckets [][]uint64            // of all numbers, where there are no runs
	ordered []bool                // buckets that are sorted and distinct
	file    *runFile              // nil until something was spilled
	kept    bool                  // file outlives the sorter
	runs    []uint64Run
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

// NewUint64 returns a sorter of numbers less than 2^width that takes about so many bytes of memory, sorts on so many
// goroutines (0: GOMAXPROCS), and spills into a temporary file in dir.
func NewUint64(dir string, memory int64, width, workers int) *Uint64 {
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	most := int(max(memory/16, minMost))
	s := &Uint64{
		dir:     dir,
		shift:   max(width-fineBits, 0),
		workers: workers,
		chunk:   min(max(most/64, 64), maxChunk),
		most:    most,
		run:     min(most, maxRun),
		// An eighth for reading back: each worker has a range in hand, and as many are waiting.
		reading: int(min(max(memory/64/int64(2*workers), minMost), maxReading)),
	}
	s.changed = sync.NewCond(&s.mu)
	return s
}

// Len is the number of numbers that the writers have handed over, repeated ones too.
func (s *Uint64) Len() int64 { return s.count }

// Held is the number of bytes of memory that the numbers take, between Sort and Close.
func (s *Uint64) Held() int64 { return 8 * int64(len(s.sorted.Data)) }

// A Uint64Writer adds numbers to a Uint64. It belongs to one goroutine.
type Uint64Writer struct {
	s     *Uint64
	chunk []uint64
}

// Writer begins another writer. It must be closed before Sort.
func (s *Uint64) Writer() *Uint64Writer { return &Uint64Writer{s: s} }

// Add adds a number. Its error may be that of numbers added before, by others too.
func (w *Uint64Writer) Add(key uint64) error {
	if len(w.chunk) == cap(w.chunk) {
		if err := w.next(); err != nil {
			return err
		}
	}
	w.chunk = append(w.chunk, key)
	return nil
}

// next hands the chunk over and takes another.
func (w *Uint64Writer) next() (err error) {
	s := w.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handOver(w.chunk)
	w.chunk, err = s.freeChunk()
	return err
}

// Close hands over what is left. Closing twice is harmless.
func (w *Uint64Writer) Close() error {
	s := w.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handOver(w.chunk)
	w.chunk = nil
	return s.err
}

// handOver takes a chunk back; s is locked.
func (s *Uint64) handOver(chunk []uint64) {
	switch {
	case len(chunk) > 0:
		s.full = append(s.full, chunk)
		s.held += len(chunk)
		s.count += int64(len(chunk))
	case cap(chunk) > 0:
		s.free = append(s.free, chunk)
	}
}

// freeChunk returns an empty chunk, once there is one; s is locked.
func (s *Uint64) freeChunk() ([]uint64, error) {
	for {
		switch {
		case s.err != nil:
			return nil, s.err
		case s.stop.Load():
			return nil, errStopped
		}
		if !s.spilling && s.held > 0 && (s.held >= s.most-s.most/8 || s.file != nil && s.held >= s.run) {
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
			if s.memory, err = offheap.New[uint64](s.most); err != nil {
				return nil, err
			}
		}
		if begin, end := s.used, s.used+s.chunk; end <= len(s.memory.Data) {
			s.used = end
			return s.memory.Data[begin:begin:end], nil
		}
		switch {
		case s.spilling:
			s.changed.Wait()
		case s.held > 0:
			s.spilling = true
			go s.spillInBackground()
		default:
			// More writers than chunks: each has one in hand and none is full.
			return make([]uint64, 0, s.chunk), nil
		}
	}
}

// spillInBackground writes full chunks as runs, while others are being filled.
func (s *Uint64) spillInBackground() {
	err := s.spill()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spilling = false
	s.err = errors.Join(s.err, err)
	s.changed.Broadcast()
}

// takeFull takes full chunks of a run at most.
func (s *Uint64) takeFull() [][]uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken, numbers := 0, 0
	for taken < len(s.full) && (taken == 0 || numbers+len(s.full[taken]) <= s.run) {
		numbers += len(s.full[taken])
		taken++
	}
	chunks := slices.Clone(s.full[:taken])
	s.full = slices.Delete(s.full, 0, taken)
	s.held -= numbers
	return chunks
}

// spill writes the chunks that are full as runs, each as soon as the one before is written.
func (s *Uint64) spill() error {
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
		s.changed.Broadcast()
		s.mu.Unlock()
		if err := s.writeRun(buckets); err != nil {
			return err
		}
	}
}

// partition moves the numbers of chunks to s.sorted, which it makes where it is too short, ordered by bucket.
func (s *Uint64) partition(chunks [][]uint64) (buckets [][]uint64, err error) {
	total := 0
	for _, chunk := range chunks {
		total += len(chunk)
	}
	if total > len(s.sorted.Data) {
		if err := s.sorted.Free(); err != nil {
			return nil, err
		}
		if s.sorted, err = offheap.New[uint64](total); err != nil {
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
			for _, k := range chunks[i] {
				counts[k>>(s.shift&63)&(1<<fineBits-1)]++
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
		buckets = append(buckets, s.sorted.Data[at:at+size:at+size])
		for w := range workers {
			places[w][b], at = at, at+places[w][b]
		}
	}
	err = each(context.Background(), workers, workers, func(_, w int) error {
		to, place := s.sorted.Data, places[w]
		for i := w; i < len(chunks); i += workers {
			if s.stop.Load() {
				return errStopped
			}
			for _, k := range chunks[i] {
				b := bucketOf[k>>(s.shift&63)&(1<<fineBits-1)]
				to[place[b]] = k
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
func (s *Uint64) Sort(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { s.stop.Store(true) })()
	s.mu.Lock()
	for s.spilling {
		s.changed.Wait()
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

func (s *Uint64) sort() (err error) {
	if s.file != nil {
		err = s.spill()
		s.cuts = s.chooseCuts()
		err = errors.Join(err, s.sorted.Free())
	} else if s.buckets == nil && s.held > 0 {
		s.buckets, err = s.partition(s.full)
		s.ordered = make([]bool, len(s.buckets))
	}
	s.full, s.free, s.held = nil, nil, 0
	return errors.Join(err, s.memory.Free())
}

// ranges is the number of stretches in which the numbers are read.
func (s *Uint64) ranges() int {
	if s.file != nil {
		return len(s.cuts)
	}
	return len(s.buckets)
}

// A rangeMemory is what reading one range needs.
type rangeMemory struct {
	keys    offheap.Array[uint64] // of what is read back
	bytes   []byte                // of what is read back
	scratch []uint64
	result  []uint64
}

func newRangeMemory() *rangeMemory { return &rangeMemory{scratch: make([]uint64, leafKeys)} }

// load makes result the numbers of range i, ascending and distinct.
func (s *Uint64) load(m *rangeMemory, i int) (err error) {
	if s.file != nil {
		m.result, err = s.readRange(m, i)
		return err
	}
	if !s.ordered[i] {
		sortKeys(s.buckets[i], m.scratch)
		s.buckets[i] = distinct(s.buckets[i])
		s.ordered[i] = true
	}
	m.result = s.buckets[i]
	return nil
}

// Each hands all numbers to use, each once, in ascending stretches that are borrowed for the call. The calls run on the
// sorter's goroutines, which have the numbers 0 ≤ worker < Workers.
func (s *Uint64) Each(ctx context.Context, use func(worker int, keys []uint64) error) (err error) {
	memory := make([]*rangeMemory, s.workers)
	for w := range memory {
		memory[w] = newRangeMemory()
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
func (s *Uint64) Workers() int { return s.workers }

func freeAll(memory []*rangeMemory) (err error) {
	for _, m := range memory {
		err = errors.Join(err, m.keys.Free())
	}
	return err
}

// Ordered yields all numbers, each once, ascending, in stretches that are borrowed until the next step.
func (s *Uint64) Ordered(ctx context.Context) iter.Seq2[[]uint64, error] {
	return func(yield func([]uint64, error) bool) {
		memory := make([]*rangeMemory, 2*s.workers)
		for i := range memory {
			memory[i] = newRangeMemory()
		}
		err := inOrder(ctx, s.workers, s.ranges(), memory, s.load, func(m *rangeMemory) error {
			if !yield(m.result, nil) {
				return errStopped
			}
			return nil
		})
		stopped := errors.Is(err, errStopped)
		if err = errors.Join(err, freeAll(memory)); err != nil && !stopped {
			yield(nil, err)
		}
	}
}

// Close forgets the numbers and removes the temporary file, unless Keep was called. Closing twice is harmless.
func (s *Uint64) Close() error {
	s.stop.Store(true)
	s.mu.Lock()
	for s.spilling {
		s.changed.Wait()
	}
	s.changed.Broadcast()
	s.mu.Unlock()
	s.full, s.free, s.buckets, s.cuts, s.runs = nil, nil, nil, nil, nil
	err := errors.Join(s.memory.Free(), s.sorted.Free())
	if s.file == nil {
		return err
	}
	f := s.file
	s.file = nil
	if s.kept {
		return errors.Join(err, f.file.Close())
	}
	return errors.Join(err, f.remove())
}
