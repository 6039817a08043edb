package worker

import (
	"context"
	"errors"
	"math"
	"os"

	"github.com/graphcleaner/graphcleaner/internal/spill"
)

// An arcSorter sorts arcs by their keys, in half of the memory of the job and on the disk. Of repeats it keeps one, and adds their weights.
type arcSorter interface {
	add(key uint64, weight float64) error
	// each ends the adding, and calls visit for each arc, ascending, once.
	each(visit func(key uint64, weight float64) error) error
	// close removes what lies on the disk.
	close() error
}

// newArcSorter sorts arcs whose keys have so many bits.
func (b *base) newArcSorter(width int) arcSorter {
	if b.Weighted {
		return newSorter(b, width, addPairs, nextOfPairs)
	}
	return newSorter(b, width, addNumber, nextOfNumbers)
}

// A sorter sorts arcs as numbers of one kind.
type sorter[T spill.Number] struct {
	ctx     context.Context
	numbers *spill.Numbers[T]
	writer  *spill.NumbersWriter[T]
	put     func(w *spill.NumbersWriter[T], key uint64, weight float64) error
	next    func(from []T) (key uint64, weight float64, used int) // of the first arc of some
}

func newSorter[T spill.Number](b *base, width int, put func(*spill.NumbersWriter[T], uint64, float64) error,
	next func([]T) (uint64, float64, int),
) arcSorter {
	numbers := spill.NewNumbers[T](os.TempDir(), b.Memory/2, width, 1)
	return &sorter[T]{ctx: b.ctx, numbers: numbers, writer: numbers.Writer(), put: put, next: next}
}

func (s *sorter[T]) add(key uint64, weight float64) error { return s.put(s.writer, key, weight) }
func (s *sorter[T]) close() error                         { return s.numbers.Close() }

func (s *sorter[T]) each(visit func(key uint64, weight float64) error) error {
	if err := errors.Join(s.writer.Close(), s.numbers.Sort(s.ctx)); err != nil {
		return err
	}
	for numbers, err := range s.numbers.Stretches(s.ctx) {
		if err != nil {
			return err
		}
		for len(numbers) > 0 {
			key, weight, used := s.next(numbers)
			if err := visit(key, weight); err != nil {
				return err
			}
			numbers = numbers[used:]
		}
	}
	return nil
}

func addNumber(w *spill.NumbersWriter[uint64], key uint64, _ float64) error { return w.Add(key) }

func nextOfNumbers(from []uint64) (key uint64, weight float64, used int) { return from[0], 1, 1 }

// addPairs adds a weight as two of half its digits: a pair has room for a float32. The weight of an edge has no second half.
func addPairs(w *spill.NumbersWriter[spill.Pair], key uint64, weight float64) error {
	upper := float32(min(weight, math.MaxFloat32))
	err := w.Add(spill.Pair{Key: key, Value: math.Float32bits(upper)})
	if lower := float32(weight - float64(upper)); lower != 0 && err == nil {
		err = w.Add(spill.Pair{Key: key, Value: math.Float32bits(lower)})
	}
	return err
}

func nextOfPairs(from []spill.Pair) (key uint64, weight float64, used int) {
	key = from[0].Key
	for ; used < len(from) && from[used].Key == key; used++ {
		weight += float64(math.Float32frombits(from[used].Value))
	}
	return key, weight, used
}
