package load

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"sort"

	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
)

// A rowSpool keeps the rows of a node file, in order, in a temporary file. Labels are numbers of the load's own; values
// are as long as they were given. A row is
//
//	length uvarint · id · source varint · length uvarint · rest
type rowSpool struct {
	file   *os.File
	rows   int
	size   int64   // bytes of all rows
	frames []frame // of the file
	last   []byte  // rows that are not in the file yet
	rest   []byte  // of a row
	one    []byte  // a value
}

// A frame is a stretch of the file that is written and read at once.
type frame struct {
	begin int64
	first int // position of its first row
}

// frameBytes is about the size of a frame, in bytes. It is greater by a part of a row.
const frameBytes = 256 << 10

// A nodeRow is a row as read back; all of it is borrowed until the next one.
type nodeRow struct {
	position int
	id       []byte
	source   int64
	// rest is what follows: the label's number plus one, zero for none, and the values.
	rest []byte
}

func newRowSpool(dir string) (*rowSpool, error) {
	f, err := os.CreateTemp(dir, "rows-*.tmp")
	if err != nil {
		return nil, err
	}
	return &rowSpool{file: f}, nil
}

func (s *rowSpool) append(id string, source int64, label int, values []codec.Value) error {
	s.rest = binary.AppendUvarint(s.rest[:0], uint64(label+1))
	for _, v := range values {
		s.one = v.Append(s.one[:0])
		s.rest = binary.AppendUvarint(s.rest, uint64(len(s.one)))
		s.rest = append(s.rest, s.one...)
	}
	if len(s.last) == 0 {
		s.frames = append(s.frames, frame{s.size, s.rows})
	}
	before := len(s.last)
	s.last = binary.AppendUvarint(s.last, uint64(len(id)))
	s.last = append(s.last, id...)
	s.last = binary.AppendVarint(s.last, source)
	s.last = binary.AppendUvarint(s.last, uint64(len(s.rest)))
	s.last = append(s.last, s.rest...)
	s.size += int64(len(s.last) - before)
	s.rows++
	if len(s.last) < frameBytes {
		return nil
	}
	return s.flush()
}

// flush writes the last frame.
func (s *rowSpool) flush() error {
	if _, err := s.file.Write(s.last); err != nil {
		return fmt.Errorf("keeping the nodes aside needs more room on disk: %w", err)
	}
	s.last = s.last[:0]
	return nil
}

// all yields the rows by position.
func (s *rowSpool) all(ctx context.Context) iter.Seq2[nodeRow, error] { return s.from(ctx, 0) }

// from yields the rows from frame number n on.
func (s *rowSpool) from(ctx context.Context, n int) iter.Seq2[nodeRow, error] {
	return func(yield func(nodeRow, error) bool) {
		err := s.flush()
		if err != nil {
			yield(nodeRow{}, err)
			return
		}
		var b []byte
		for ; err == nil && n < len(s.frames); n++ {
			if ctx.Err() != nil {
				yield(nodeRow{}, ctx.Err())
				return
			}
			begin, end, rows := s.frames[n].begin, s.size, s.rows
			if n+1 < len(s.frames) {
				end, rows = s.frames[n+1].begin, s.frames[n+1].first
			}
			b = slices.Grow(b[:0], int(end-begin))[:end-begin]
			_, err = s.file.ReadAt(b, begin)
			row := nodeRow{position: s.frames[n].first}
			for rest := b; err == nil && row.position < rows; row.position++ {
				if rest, err = row.read(rest); err == nil && !yield(row, nil) {
					return
				}
			}
		}
		if err != nil {
			yield(nodeRow{}, fmt.Errorf("reading the nodes back from %s: %w", s.file.Name(), err))
		}
	}
}

// contextEvery is the number of nodes or edges between two looks at the context, and two reports of progress.
const contextEvery = 1 << 12

// read reads the row at the beginning of b, which it borrows, and returns what follows.
func (row *nodeRow) read(b []byte) (rest []byte, err error) {
	if row.id, b, err = cutBytes(b); err != nil {
		return nil, err
	}
	source, n := binary.Varint(b)
	if n <= 0 {
		return nil, errRest
	}
	row.source = source
	row.rest, b, err = cutBytes(b[n:])
	return b, err
}

// cutBytes reads a length and so many bytes.
func cutBytes(b []byte) (text, rest []byte, err error) {
	length, n := binary.Uvarint(b)
	if n <= 0 || length > uint64(len(b)-n) {
		return nil, nil, errRest
	}
	end := n + int(length)
	return b[n:end], b[end:], nil
}

// source returns the source of the row at a position.
func (s *rowSpool) source(position int) (int64, error) {
	n := sort.Search(len(s.frames), func(n int) bool { return s.frames[n].first > position }) - 1
	for row, err := range s.from(context.Background(), n) {
		if err != nil || row.position == position {
			return row.source, err
		}
	}
	return 0, errRest
}

// errRest says that the rest of a row is damaged.
var errRest = errors.New("a node that was kept aside in a temporary file is damaged")

// parseRest splits the rest of a row: its label's number, −1 for none, and its values of the columns from first to
// end−1, which are appended to values.
func parseRest(rest []byte, first, end int, values []codec.Value) (label int, _ []codec.Value, err error) {
	number, n := binary.Uvarint(rest)
	if n <= 0 {
		return 0, nil, errRest
	}
	rest = rest[n:]
	for column := 0; len(rest) > 0; column++ {
		var value []byte
		if value, rest, err = cutBytes(rest); err != nil {
			return 0, nil, err
		}
		if column >= first && column < end {
			v, err := codec.ParseValue(value)
			if err != nil {
				return 0, nil, fmt.Errorf("%w: %w", errRest, err)
			}
			values = append(values, v)
		}
	}
	return int(number) - 1, values, nil
}

func (s *rowSpool) close() error {
	return errors.Join(s.file.Close(), os.Remove(s.file.Name()))
}
