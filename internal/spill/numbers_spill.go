package spill

import (
	"context"
	"errors"
	"slices"

	"github.com/graphcleaner/graphcleaner/internal/offheap"
	"github.com/graphcleaner/graphcleaner/internal/parallel"
)

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
		if err := s.keys.Free(); err != nil {
			return nil, err
		}
		if s.keys, err = offheap.New[T](total); err != nil {
			return nil, err
		}
	}
	workers := min(s.workers, len(chunks))
	// Worker w has the chunks w, w+workers, …, in both passes.
	fine := make([][]uint32, workers)
	count := func(_ context.Context, _, w int) error {
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
	if err := parallel.Do(context.Background(), workers, workers, count); err != nil {
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
	err = parallel.Do(context.Background(), workers, workers, func(_ context.Context, _, w int) error {
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
