package load

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"sync"

	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
)

// A spool keeps records in a temporary file, in parts. Any number of goroutines add records at once; after that, any
// number read them, those of a part in the order in which they were added.
type spool struct {
	file   *os.File
	buffer int // bytes of a part that wait for being written
	parts  []spoolPart

	mu   sync.Mutex
	size int64 // of the file
}

type spoolPart struct {
	mu      sync.Mutex
	waiting []byte
	frames  []frame
	count   int64 // of records
	bytes   int64 // of these
}

// A frame is a stretch of the file that is written and read at once.
type frame struct {
	begin int64
	bytes int
}

const (
	leastFrame = 4 << 10
	mostFrame  = 256 << 10
)

// newSpool makes a spool that holds about so many bytes of memory.
func newSpool(dir string, parts int, memory int64) (*spool, error) {
	f, err := os.CreateTemp(dir, "spool-*.tmp")
	if err != nil {
		return nil, err
	}
	buffer := int(min(max(memory/int64(parts), leastFrame), mostFrame))
	return &spool{file: f, buffer: buffer, parts: make([]spoolPart, parts)}, nil
}

// add copies a record.
func (s *spool) add(part int, record []byte) error {
	p := &s.parts[part]
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
	p.bytes += int64(len(record))
	p.waiting = binary.AppendUvarint(p.waiting, uint64(len(record)))
	p.waiting = append(p.waiting, record...)
	if len(p.waiting) < s.buffer {
		return nil
	}
	return s.flush(p)
}

// flush writes the waiting bytes of a part, which is locked.
func (s *spool) flush(p *spoolPart) error {
	if len(p.waiting) == 0 {
		return nil
	}
	s.mu.Lock()
	begin := s.size
	s.size += int64(len(p.waiting))
	s.mu.Unlock()
	if _, err := s.file.WriteAt(p.waiting, begin); err != nil {
		return fmt.Errorf("a load needs more room on disk for nodes and edges: %w", err)
	}
	p.frames = append(p.frames, frame{begin, len(p.waiting)})
	p.waiting = p.waiting[:0]
	return nil
}

// each hands the records of a part to use, borrowed.
func (s *spool) each(ctx context.Context, part int, use func(r codec.Reader) error) error {
	p := &s.parts[part]
	p.mu.Lock()
	err := s.flush(p)
	p.mu.Unlock()
	if err != nil {
		return err
	}
	var memory []byte
	for _, f := range p.frames {
		if err := ctx.Err(); err != nil {
			return err
		}
		memory = slices.Grow(memory[:0], f.bytes)[:f.bytes]
		if _, err := s.file.ReadAt(memory, f.begin); err != nil {
			return s.damaged(err)
		}
		for r := (codec.Reader{Rest: memory}); len(r.Rest) > 0; {
			record := text(&r)
			if r.Failed {
				return s.damaged(errRecord)
			}
			if err := use(codec.Reader{Rest: record}); err != nil {
				return err
			}
		}
	}
	return nil
}

// errRecord says that a record of a spool differs from the one written.
var errRecord = errors.New("a record is damaged")

func (s *spool) damaged(err error) error {
	return fmt.Errorf("reading nodes or edges back from %s: %w", s.file.Name(), err)
}

// close removes the file.
func (s *spool) close() error {
	if s == nil {
		return nil
	}
	return errors.Join(s.file.Close(), os.Remove(s.file.Name()))
}

// appendText writes bytes after their length.
func appendText[T string | []byte](dst []byte, text T) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

// text is the inverse of appendText; it borrows.
func text(r *codec.Reader) []byte { return r.Bytes(int(r.Uvarint(math.MaxInt32))) }
