package spill

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
)

// A KeptUint64 says where the numbers of a Uint64 are that was kept. It holds no more than its exported fields, so that
// it can be stored.
type KeptUint64 struct {
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

// Keep makes the file of a sorter outlive its Close, durably. It returns false, and does nothing, where nothing was
// spilled. Sort must have ended the adding.
func (s *Uint64) Keep() (kept KeptUint64, ok bool, err error) {
	if s.file == nil {
		return kept, false, nil
	}
	if err := s.file.file.Sync(); err != nil {
		return kept, false, writeError(s.file.file.Name(), err)
	}
	kept = KeptUint64{File: filepath.Base(s.file.file.Name()), Count: s.count}
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

// RestoreUint64 opens what was kept in dir, ready to be read, once it has read all of it and found it undamaged. The
// other parameters are those of NewUint64. The file stays kept.
func RestoreUint64(dir string, memory int64, width, workers int, kept KeptUint64) (*Uint64, error) {
	s := NewUint64(dir, memory, width, workers)
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
				follows = block.offset >= at && first > k.First[b-1]
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
	if err := s.verify(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	s.cuts = s.chooseCuts()
	return s, nil
}

// verify compares every block of the file with its checksum.
func (s *Uint64) verify() error {
	type stretch struct{ run, from, to int }
	var stretches []stretch
	for i, r := range s.runs {
		for from := 0; from < len(r.blocks); {
			to := r.atOnce(from, len(r.blocks))
			stretches = append(stretches, stretch{i, from, to})
			from = to
		}
	}
	memory := make([]rangeMemory, s.workers)
	return each(context.Background(), s.workers, len(stretches), func(worker, i int) error {
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
