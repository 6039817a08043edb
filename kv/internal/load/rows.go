package load

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
)

// A rowSpool keeps the rows of a node file, in order, in a temporary file. Labels are numbers of the load's own; values
// are as long as they were given.
type rowSpool struct {
	file *os.File
	w    *bufio.Writer
	rows int
	size int64  // of the file
	buf  []byte // a row
	rest []byte // the rest of it
	one  []byte // a value

	marks []int64 // where each contextEvery-th row begins
}

// A nodeRow is a row as read back; all of it is borrowed until the next one.
type nodeRow struct {
	position int
	id       []byte
	source   int64
	// rest is what follows the id: the label's number plus one, zero for none, and the values.
	rest []byte
}

func newRowSpool(dir string) (*rowSpool, error) {
	f, err := os.CreateTemp(dir, "rows-*.tmp")
	if err != nil {
		return nil, err
	}
	return &rowSpool{file: f, w: bufio.NewWriterSize(f, 256<<10)}, nil
}

func (s *rowSpool) append(id string, source int64, label int, values []codec.Value) error {
	s.rest = binary.AppendUvarint(s.rest[:0], uint64(label+1))
	for _, v := range values {
		s.one = v.Append(s.one[:0])
		s.rest = binary.AppendUvarint(s.rest, uint64(len(s.one)))
		s.rest = append(s.rest, s.one...)
	}
	s.buf = binary.AppendUvarint(s.buf[:0], uint64(len(id)))
	s.buf = append(s.buf, id...)
	s.buf = binary.AppendVarint(s.buf, source)
	s.buf = binary.AppendUvarint(s.buf, uint64(len(s.rest)))
	s.buf = append(s.buf, s.rest...)
	if s.rows%contextEvery == 0 {
		s.marks = append(s.marks, s.size)
	}
	if _, err := s.w.Write(s.buf); err != nil {
		return spoolFull(err)
	}
	s.size += int64(len(s.buf))
	s.rows++
	return nil
}

func spoolFull(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("keeping the nodes aside needs more room on disk: %w", err)
}

// all yields the rows by position.
func (s *rowSpool) all(ctx context.Context) iter.Seq2[nodeRow, error] { return s.from(ctx, 0) }

// from yields the rows from mark number m on.
func (s *rowSpool) from(ctx context.Context, m int) iter.Seq2[nodeRow, error] {
	return func(yield func(nodeRow, error) bool) {
		if err := s.w.Flush(); err != nil {
			yield(nodeRow{}, spoolFull(err))
			return
		}
		if m == len(s.marks) {
			return
		}
		r := s.reader(s.marks[m])
		var row nodeRow
		for row.position = m * contextEvery; row.position < s.rows; row.position++ {
			err := s.readError(row.read(r))
			if err == nil && row.position%contextEvery == 0 {
				err = ctx.Err()
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// contextEvery is the number of nodes or edges between two looks at the context, and two reports of progress.
const contextEvery = 1 << 12

// A rowReader reads the file of a rowSpool from some place on.
type rowReader struct {
	*bufio.Reader
	tail   *io.LimitedReader // not yet in the buffer
	memory [2][]byte         // of the parts of a row that is not whole in the buffer
}

func (s *rowSpool) reader(offset int64) *rowReader {
	size := s.size - offset
	tail := &io.LimitedReader{R: io.NewSectionReader(s.file, offset, size), N: size}
	return &rowReader{Reader: bufio.NewReaderSize(tail, 256<<10), tail: tail}
}

func (row *nodeRow) read(r *rowReader) (err error) {
	if row.readBuffered(r) {
		return nil
	}
	if r.memory[0], err = r.readBytes(r.memory[0]); err != nil {
		return err
	}
	if row.source, err = binary.ReadVarint(r); err != nil {
		return err
	}
	r.memory[1], err = r.readBytes(r.memory[1])
	row.id, row.rest = r.memory[0], r.memory[1]
	return err
}

// readBuffered is read of a row that is whole in the buffer, where it stays until the next one; false if it is not.
func (row *nodeRow) readBuffered(r *rowReader) bool {
	b, err := r.Peek(r.Buffered())
	if err != nil {
		return false
	}
	all := len(b)
	length, n := binary.Uvarint(b)
	if n <= 0 || length > uint64(len(b)-n) {
		return false
	}
	id, b := b[n:n+int(length)], b[n+int(length):]
	source, n := binary.Varint(b)
	if n <= 0 {
		return false
	}
	b = b[n:]
	length, n = binary.Uvarint(b)
	if n <= 0 || length > uint64(len(b)-n) {
		return false
	}
	row.id, row.source, row.rest = id, source, b[n:n+int(length)]
	_, err = r.Discard(all - len(b) + n + int(length))
	return err == nil
}

// readBytes reads a length and so many bytes, into memory if that is enough.
func (r *rowReader) readBytes(memory []byte) ([]byte, error) {
	length, err := binary.ReadUvarint(r)
	if err != nil {
		return nil, err
	}
	if rest := uint64(r.tail.N) + uint64(r.Buffered()); length > rest {
		return nil, fmt.Errorf("%d bytes are to follow, but %d do: %w", length, rest, io.ErrUnexpectedEOF)
	}
	memory = slices.Grow(memory[:0], int(length))[:length]
	_, err = io.ReadFull(r, memory)
	return memory, err
}

// readError names the file.
func (s *rowSpool) readError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("reading the nodes back from %s: %w", s.file.Name(), err)
}

// source returns the source of the row at a position.
func (s *rowSpool) source(position int) (int64, error) {
	for row, err := range s.from(context.Background(), position/contextEvery) {
		if err != nil || row.position == position {
			return row.source, err
		}
	}
	return 0, s.readError(io.ErrUnexpectedEOF)
}

// errRest says that the rest of a row is damaged.
var errRest = errors.New("a node that was kept aside in a temporary file is damaged")

// parseRest splits the rest of a row: its label's number, −1 for none, and its values of the columns from first to
// end−1, which are appended to values.
func parseRest(rest []byte, first, end int, values []codec.Value) (label int, _ []codec.Value, err error) {
	number, n := binary.Uvarint(rest)
	rest = rest[max(n, 0):]
	for column := 0; n > 0 && len(rest) > 0; column++ {
		var length uint64
		if length, n = binary.Uvarint(rest); n <= 0 || length > uint64(len(rest)-n) {
			break
		}
		if column >= first && column < end {
			v, err := codec.ParseValue(rest[n : n+int(length)])
			if err != nil {
				return 0, nil, fmt.Errorf("%w: %w", errRest, err)
			}
			values = append(values, v)
		}
		rest = rest[n+int(length):]
	}
	if n <= 0 || len(rest) > 0 {
		return 0, nil, errRest
	}
	return int(number) - 1, values, nil
}

func (s *rowSpool) close() error {
	return errors.Join(s.file.Close(), os.Remove(s.file.Name()))
}
