package spill

import (
	"errors"
	"fmt"
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
			k.First, k.Offset, k.Count = append(k.First, b.first), append(k.Offset, b.offset), append(k.Count, int32(b.count))
		}
		kept.Runs = append(kept.Runs, k)
	}
	s.kept = true
	return kept, true, nil
}

// Discard takes Keep back, so that Close removes the file.
func (s *Uint64) Discard() { s.kept = false }

// RestoreUint64 opens what was kept in dir, ready to be read. The other parameters are those of NewUint64. The file
// stays kept.
func RestoreUint64(dir string, memory int64, width, workers int, kept KeptUint64) (*Uint64, error) {
	s := NewUint64(dir, memory, width, workers)
	s.count, s.kept = kept.Count, true
	at := int64(0)
	for i, k := range kept.Runs {
		if len(k.First) != len(k.Offset) || len(k.First) != len(k.Count) {
			return nil, fmt.Errorf("spill: run %d of a file that was kept has %d numbers, %d places and %d counts of its blocks",
				i, len(k.First), len(k.Offset), len(k.Count))
		}
		r := uint64Run{end: k.End}
		for b, first := range k.First {
			block := uint64Block{first, k.Offset[b], int(k.Count[b])}
			if block.offset < at || b > 0 && first <= k.First[b-1] || block.count < 1 || block.count > blockKeys {
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
	s.cuts = s.chooseCuts()
	return s, nil
}
