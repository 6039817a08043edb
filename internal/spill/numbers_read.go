package spill

import (
	"context"
	"errors"
	"iter"

	"github.com/graphcleaner/graphcleaner/internal/offheap"
	"github.com/graphcleaner/graphcleaner/internal/parallel"
)

// ranges is the number of stretches in which the numbers are read.
func (s *Numbers[T]) ranges() int {
	if s.file != nil {
		return len(s.cuts)
	}
	return len(s.buckets)
}

// A rangeMemory is the memory for reading one range.
type rangeMemory[T Number] struct {
	keys    offheap.Array[T] // of what is read back
	bytes   []byte           // of what is read back
	scratch []T
	result  []T
}

func newRangeMemory[T Number]() *rangeMemory[T] { return &rangeMemory[T]{scratch: make([]T, leafKeys)} }

// load makes result the numbers of range i, ascending and distinct.
func (s *Numbers[T]) load(m *rangeMemory[T], i int) (err error) {
	if s.file != nil {
		m.result, err = s.readRange(m, i)
		return err
	}
	s.order(i, m.scratch)
	m.result = s.buckets[i]
	return nil
}

// order sorts bucket i and drops repeated numbers.
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
	return parallel.Do(ctx, s.workers, s.ranges(), func(_ context.Context, worker, i int) error {
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
		err = errors.Join(err, m.keys.Free())
	}
	return err
}

// Stretches yields all numbers, each once, ascending, in stretches that are borrowed until the next step.
func (s *Numbers[T]) Stretches(ctx context.Context) iter.Seq2[[]T, error] {
	return func(yield func([]T, error) bool) {
		places := make([]*rangeMemory[T], 2*s.workers)
		for i := range places {
			places[i] = newRangeMemory[T]()
		}
		err := inOrder(ctx, s.workers, s.ranges(), places, s.load, func(m *rangeMemory[T]) error {
			if !yield(m.result, nil) {
				return errStopped
			}
			return nil
		})
		if err = errors.Join(err, freeAll(places)); err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}
}
