package spill

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"slices"
)

// toDisk spills what is left, gives its memory to the buffers of the merge, and merges neighbouring runs until one
// merge can take them all.
func (s *Sorter) toDisk(ctx context.Context) error {
	if len(s.entries) > 0 {
		if err := s.spill(); err != nil {
			return err
		}
	}
	s.entries, s.scratch, s.chunks = nil, nil, nil
	most, buffer := fanIn(s.limit, s.largest)
	for len(s.file.runs) > most {
		target, err := createRunFile(s.dir, buffer)
		if err != nil {
			return err
		}
		for group := range slices.Chunk(s.file.runs, most) {
			if err := s.mergeInto(ctx, target, group, buffer); err != nil {
				return errors.Join(err, target.remove())
			}
		}
		old := s.file
		s.file = target
		if err := old.remove(); err != nil {
			return err
		}
	}
	return nil
}

// mergeInto makes one run of a file of several of the sorter's.
func (s *Sorter) mergeInto(ctx context.Context, dst *runFile, runs []run, buffer int) error {
	var length int64
	done := 0
	err := mergeRecords(s.file, runs, buffer, func(r Record) error {
		if done++; done%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		n, err := s.writeRecord(dst, r)
		length += n
		return err
	})
	if err != nil {
		return err
	}
	return dst.endRun(length)
}

// recordPlace is the current record of a run in a merge.
type recordPlace struct {
	prefix uint64
	run    int
	*recordReader
}

type recordReader struct {
	reader *bufio.Reader
	record Record
	memory []byte // of record
}

// before orders places by their current record, then by run, so that records of equal keys leave in the order of the
// runs.
func (p recordPlace) before(other recordPlace) bool {
	if p.prefix != other.prefix {
		return p.prefix < other.prefix
	}
	if c := bytes.Compare(p.record.Key, other.record.Key); c != 0 {
		return c < 0
	}
	return p.run < other.run
}

// next reads the run's next record, or returns io.EOF after the last.
func (p *recordPlace) next() error {
	key, err := binary.ReadUvarint(p.reader)
	if err != nil {
		return err
	}
	value, err := binary.ReadUvarint(p.reader)
	if err == nil {
		p.memory = slices.Grow(p.memory[:0], int(key+value))[:key+value]
		_, err = io.ReadFull(p.reader, p.memory)
	}
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	p.record = Record{p.memory[:key:key], p.memory[key:]}
	p.prefix = prefix(p.record.Key)
	return err
}

// mergeRecords hands the records of the runs to each, ascending; the bytes are borrowed for the call.
func mergeRecords(f *runFile, runs []run, buffer int, each func(Record) error) error {
	heap := make([]recordPlace, 0, len(runs))
	for i, r := range runs {
		p := recordPlace{run: i, recordReader: &recordReader{reader: f.reader(r, buffer)}}
		if err := p.next(); err != nil {
			return readError(f.file.Name(), err)
		}
		heap = append(heap, p)
	}
	for i := len(heap)/2 - 1; i >= 0; i-- {
		siftDown(heap, i)
	}
	for len(heap) > 0 {
		if err := each(heap[0].record); err != nil {
			return err
		}
		switch err := heap[0].next(); {
		case errors.Is(err, io.EOF):
			heap[0] = heap[len(heap)-1]
			heap = heap[:len(heap)-1]
		case err != nil:
			return readError(f.file.Name(), err)
		}
		siftDown(heap, 0)
	}
	return nil
}

// siftDown restores the heap order below i: a place is not before that at half of its index.
func siftDown(h []recordPlace, i int) {
	for {
		least := 2*i + 1
		if least >= len(h) {
			return
		}
		if right := least + 1; right < len(h) && h[right].before(h[least]) {
			least = right
		}
		if !h[least].before(h[i]) {
			return
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}
