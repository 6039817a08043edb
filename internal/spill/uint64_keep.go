package spill

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/graphcleaner/graphcleaner/internal/crc32c"
)

// A KeptNumbers is the place of the numbers that a sorter has kept. It holds no more than its exported fields, so that
// it can be stored.
type KeptNumbers struct {
	File  string // its name in the directory
	Count int64  // of the numbers that were added
	Runs  []*KeptRun
}

// Keep makes a file of the numbers that outlives Close, durably. Where nothing was spilled it writes one, if always, and
// else returns false. Sort must have ended the adding.
func (s *Numbers[T]) Keep(ctx context.Context, always bool) (numbers KeptNumbers, ok bool, err error) {
	if s.file == nil {
		if !always {
			return numbers, false, nil
		}
		if err := s.copyOut(ctx); err != nil {
			return numbers, false, err
		}
	}
	if err := s.file.file.Sync(); err != nil {
		return numbers, false, writeError(s.file.file.Name(), err)
	}
	s.kept = true
	return KeptNumbers{File: filepath.Base(s.file.file.Name()), Count: s.count, Runs: s.runs}, true, nil
}

// copyOut writes the numbers that memory holds, and goes on to hold.
func (s *Numbers[T]) copyOut(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { s.stop.Store(true) })()
	s.copied = true
	err := s.writeRun(len(s.buckets), func(i int, scratch []T) []T {
		s.order(i, scratch)
		return s.buckets[i]
	})
	return errors.Join(ctx.Err(), err)
}

// Restore opens what was kept in dir, ready to be read, once it has read all of it and found it undamaged. The other
// parameters are those of NewNumbers. The file stays kept.
func Restore[T Number](
	ctx context.Context, dir string, memory int64, width, workers int, numbers KeptNumbers,
) (*Numbers[T], error) {
	s := NewNumbers[T](dir, memory, width, workers)
	s.count, s.kept, s.runs = numbers.Count, true, numbers.Runs
	at := int64(0)
	for i, r := range s.runs {
		if n := len(r.First); len(r.Offset) != n || len(r.Count) != n || len(r.Sum) != n {
			return nil, fmt.Errorf(
				"spill: run %d of a file that was kept has %d numbers, %d places, %d counts and %d checksums of its blocks",
				i, n, len(r.Offset), len(r.Count), len(r.Sum))
		}
		for b, first := range r.First {
			follows := r.Offset[b] == at
			if b > 0 {
				follows = r.Offset[b] >= at && first >= r.First[b-1]+leastGap[T]()
			}
			if !follows || r.Count[b] < 1 || r.Count[b] > blockKeys {
				return nil, fmt.Errorf("spill: block %d of run %d of a file that was kept is out of order", b, i)
			}
			at = r.Offset[b]
		}
		if r.End < at {
			return nil, fmt.Errorf("spill: run %d of a file that was kept ends at byte %d, before its last block", i, r.End)
		}
		at = r.End
	}
	f, err := os.Open(filepath.Join(dir, filepath.Base(numbers.File)))
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() != at {
		err = fmt.Errorf("spill: %s, which was kept, has %d bytes, want %d", f.Name(), info.Size(), at)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	s.file = &runFile{file: f, size: at}
	if err := s.verify(ctx); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	s.cuts = s.chooseCuts()
	return s, nil
}

// verify compares every block of the file with its checksum.
func (s *Numbers[T]) verify(ctx context.Context) error {
	type stretch struct{ run, from, to int }
	var stretches []stretch
	for i, r := range s.runs {
		for from := 0; from < len(r.First); {
			to := r.atOnce(from, len(r.First))
			stretches = append(stretches, stretch{i, from, to})
			from = to
		}
	}
	memory := make([]rangeMemory[T], s.workers)
	return each(ctx, s.workers, len(stretches), func(worker, i int) error {
		at, m := stretches[i], &memory[worker]
		r := s.runs[at.run]
		if err := s.readStretch(m, r, at.from, at.to); err != nil {
			return readError(s.file.file.Name(), err)
		}
		begin := r.Offset[at.from]
		for b := at.from; b < at.to; b++ {
			offset, end := r.Offset[b], r.blockEnd(b)
			if sum := crc32c.Of(m.bytes[offset-begin : end-begin]); sum != r.Sum[b] {
				return fmt.Errorf("spill: %s, which was kept, is damaged in its bytes %d to %d: checksum %08x, want %08x",
					s.file.file.Name(), offset, end, sum, r.Sum[b])
			}
		}
		return nil
	})
}
