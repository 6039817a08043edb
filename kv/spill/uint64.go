package spill

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"iter"
	"slices"
)

// checkEvery is the number of records between two looks at the context.
const checkEvery = 1 << 12

// A Uint64 sorts numbers. Equal numbers are all kept.
type Uint64 struct {
	dir     string
	limit   int64
	keys    []uint64 // not yet spilled
	scratch []uint64 // of the radix sort, as long as keys was at most
	sorted  bool     // keys are in order
	file    *runFile // nil until something was spilled
	count   int64
}

// NewUint64 returns a sorter that holds about limit bytes and spills into a temporary file in dir.
func NewUint64(dir string, limit int64) *Uint64 {
	return &Uint64{dir: dir, limit: limit}
}

// Len is the number of numbers added.
func (s *Uint64) Len() int64 { return s.count }

// Add adds a number.
func (s *Uint64) Add(key uint64) error {
	if len(s.keys) == cap(s.keys) {
		if err := s.makeRoom(); err != nil {
			return err
		}
	}
	s.keys = append(s.keys, key)
	s.sorted = false
	s.count++
	return nil
}

// maxRunKeys bounds a run, since nothing interrupts its sorting, which should be done well within a second.
const maxRunKeys = 1 << 24

// makeRoom grows keys while keys and an equally long scratch fit into the limit, and spills after that.
func (s *Uint64) makeRoom() error {
	most := int(min(max(s.limit/16, minBuffer/8), maxRunKeys))
	if len(s.keys) >= most {
		return s.spill()
	}
	// While the keys move, the old and the new array are alive, and the scratch of a sort is not: three halves of the
	// final array, and it fits as well.
	grown := make([]uint64, len(s.keys), min(max(2*cap(s.keys), minBuffer/8), most))
	copy(grown, s.keys)
	s.keys = grown
	return nil
}

func (s *Uint64) sortKeys() {
	if !s.sorted {
		s.scratch = sortUint64(s.keys, s.scratch)
		s.sorted = true
	}
}

// spill writes the keys as a run: the first number, then differences, all as varints.
func (s *Uint64) spill() error {
	s.sortKeys()
	if s.file == nil {
		f, err := createRunFile(s.dir, bufferSize(s.limit/16))
		if err != nil {
			return err
		}
		s.file = f
	}
	if err := writeUint64Run(s.file, slices.Values(s.keys)); err != nil {
		return err
	}
	s.keys = s.keys[:0]
	return nil
}

func writeUint64Run(f *runFile, keys iter.Seq[uint64]) error {
	var buf [binary.MaxVarintLen64]byte
	var previous uint64
	var length int64
	for k := range keys {
		n := binary.PutUvarint(buf[:], k-previous)
		if err := f.write(buf[:n]); err != nil {
			return err
		}
		previous = k
		length += int64(n)
	}
	return f.endRun(length)
}

// Sort yields every number added so far, ascending. It may be ranged over again, and numbers may be added between two
// rounds, not within one.
func (s *Uint64) Sort(ctx context.Context) iter.Seq2[uint64, error] {
	return func(yield func(uint64, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(0, err)
			return
		}
		s.sortKeys()
		if s.file == nil {
			for i, k := range s.keys {
				if i%checkEvery == 0 && ctx.Err() != nil {
					yield(0, ctx.Err())
					return
				}
				if !yield(k, nil) {
					return
				}
			}
			return
		}
		if err := s.toDisk(ctx); err != nil {
			yield(0, err)
			return
		}
		_, buffer := fanIn(s.limit)
		done := 0
		err := mergeUint64(s.file, s.file.runs, buffer, func(k uint64) error {
			if done++; done%checkEvery == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			if !yield(k, nil) {
				return errStopped
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStopped) {
			yield(0, err)
		}
	}
}

// errStopped ends a merge whose reader wants no more.
var errStopped = errors.New("spill: stopped")

// toDisk spills what is left, gives its memory to the buffers of the merge, and merges runs until one merge can take
// them all.
func (s *Uint64) toDisk(ctx context.Context) error {
	if len(s.keys) > 0 {
		if err := s.spill(); err != nil {
			return err
		}
	}
	s.keys, s.scratch = nil, nil
	file, err := s.file.collapse(s.dir, s.limit, func(dst, src *runFile, runs []run, buffer int) error {
		return mergeUint64Into(ctx, dst, src, runs, buffer)
	})
	s.file = file
	return err
}

func mergeUint64Into(ctx context.Context, dst, src *runFile, runs []run, buffer int) error {
	var buf [binary.MaxVarintLen64]byte
	var previous uint64
	var length int64
	done := 0
	err := mergeUint64(src, runs, buffer, func(k uint64) error {
		if done++; done%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		n := binary.PutUvarint(buf[:], k-previous)
		previous = k
		length += int64(n)
		return dst.write(buf[:n])
	})
	if err != nil {
		return err
	}
	return dst.endRun(length)
}

type uint64Place struct {
	key    uint64
	reader *bufio.Reader
}

// Equal numbers are the same whichever run they come from, so that the run does not take part in the order.
func (p uint64Place) before(other uint64Place) bool { return p.key < other.key }

// mergeUint64 hands the numbers of the runs to each, ascending.
func mergeUint64(f *runFile, runs []run, buffer int, each func(uint64) error) error {
	heap := make([]uint64Place, 0, len(runs))
	for _, r := range runs {
		if r.length == 0 {
			continue
		}
		p := uint64Place{reader: f.reader(r, buffer)}
		first, err := binary.ReadUvarint(p.reader)
		if err != nil {
			return readError(f.file.Name(), err)
		}
		p.key = first
		heap = append(heap, p)
	}
	heapify(heap)
	for len(heap) > 0 {
		if err := each(heap[0].key); err != nil {
			return err
		}
		difference, err := binary.ReadUvarint(heap[0].reader)
		switch {
		case errors.Is(err, io.EOF):
			heap[0] = heap[len(heap)-1]
			heap = heap[:len(heap)-1]
		case err != nil:
			return readError(f.file.Name(), err)
		default:
			heap[0].key += difference
		}
		siftDown(heap, 0)
	}
	return nil
}

// Close forgets the numbers and removes the temporary file. Closing twice is harmless.
func (s *Uint64) Close() error {
	s.keys, s.scratch = nil, nil
	if s.file == nil {
		return nil
	}
	f := s.file
	s.file = nil
	return f.remove()
}
