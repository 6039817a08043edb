package spill

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
)

// A Kept says where the numbers of a sorter are that was kept. It holds no more than its exported fields, so that
// it can be stored.
type Kept struct {
	File  string // its name in the directory
	Count int64  // of the numbers that were added
	Runs  []KeptRun
}

// A KeptRun is one sorted stretch of the file.
type KeptRun struct {
	First  []uint64 // of each block the least number
	Offset []int64  // where it begins
	Count  []int32  // how many numbers it has
	Sum    []uint32 // CRC-32C of its bytes
	End    int64
}

// Keep makes a file of the numbers that outlives Close, durably. Where nothing was spilled it writes one, if always, and
// else returns false. Sort must have ended the adding.
func (s *Numbers[T]) Keep(ctx context.Context, always bool) (kept Kept, ok bool, err error) {
	if s.file == nil {
		if !always {
			return kept, false, nil
		}
		if err := s.copyOut(ctx); err != nil {
			return kept, false, err
		}
	}
	if err := s.file.file.Sync(); err != nil {
		return kept, false, writeError(s.file.file.Name(), err)
	}
	kept = Kept{File: filepath.Base(s.file.file.Name()), Count: s.count}
	for _, r := range s.runs {
		k := KeptRun{End: r.end}
		for _, b := range r.blocks {
			k.First, k.Offset = append(k.First, b.first), append(k.Offset, b.offset)
			k.Count, k.Sum = append(k.Count, b.count), append(k.Sum, b.sum)
		}
		kept.Runs = append(kept.Runs, k)
	}
	s.kept = true
	return kept, true, nil
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
	ctx context.Context, dir string, memory int64, width, workers int, kept Kept,
) (*Numbers[T], error) {
	s := NewNumbers[T](dir, memory, width, workers)
	s.count, s.kept = kept.Count, true
	at := int64(0)
	for i, k := range kept.Runs {
		if n := len(k.First); len(k.Offset) != n || len(k.Count) != n || len(k.Sum) != n {
			return nil, fmt.Errorf(
				"spill: run %d of a file that was kept has %d numbers, %d places, %d counts and %d checksums of its blocks",
				i, n, len(k.Offset), len(k.Count), len(k.Sum))
		}
		r := uint64Run{end: k.End}
		for b, first := range k.First {
			block := uint64Block{first, k.Offset[b], k.Count[b], k.Sum[b]}
			follows := block.offset == at
			if b > 0 {
				follows = block.offset >= at && first >= k.First[b-1]+leastGap[T]()
			}
			if !follows || block.count < 1 || block.count > blockKeys {
				return nil, fmt.Errorf("spill: block %d of run %d of a file that was kept is out of order", b, i)
			}
			at = block.offset
			r.blocks = append(r.blocks, block)
		}
		if k.End < at {
			return nil, fmt.Errorf("spill: run %d of a file that was kept ends at byte %d, before its last block", i, k.End)
		}
		at = k.End
		s.runs = append(s.runs, r)
	}
	f, err := os.Open(filepath.Join(dir, filepath.Base(kept.File)))
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
		for from := 0; from < len(r.blocks); {
			to := r.atOnce(from, len(r.blocks))
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
		begin := r.blocks[at.from].offset
		for b := at.from; b < at.to; b++ {
			block, end := r.blocks[b], r.blockEnd(b)
			if sum := crc32.Checksum(m.bytes[block.offset-begin:end-begin], castagnoli); sum != block.sum {
				return fmt.Errorf("spill: %s, which was kept, is damaged in its bytes %d to %d: checksum %08x, want %08x",
					s.file.file.Name(), block.offset, end, sum, block.sum)
			}
		}
		return nil
	})
}
