package kv

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
)

// A rowSpool keeps the rows of a node file, in order, in a temporary file. Labels are numbers of the load's own; values
// are as long as they were given.
type rowSpool struct {
	file *os.File
	w    *bufio.Writer
	rows int
	buf  []byte
	one  []byte // a value
}

// A loadRow is a row as read back; all of it is borrowed until the next one.
type loadRow struct {
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

func (s *rowSpool) append(id string, source int64, label int, values []Value) error {
	b := binary.AppendUvarint(s.buf[:0], uint64(len(id)))
	b = append(b, id...)
	b = binary.AppendVarint(b, source)
	rest := len(b)
	b = binary.AppendUvarint(b, uint64(label+1))
	for _, v := range values {
		s.one = v.append(s.one[:0])
		b = binary.AppendUvarint(b, uint64(len(s.one)))
		b = append(b, s.one...)
	}
	s.buf = b
	var length [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(length[:], uint64(len(b)-rest))
	for _, piece := range [][]byte{b[:rest], length[:n], b[rest:]} {
		if _, err := s.w.Write(piece); err != nil {
			return fmt.Errorf("keeping the nodes aside needs more room on disk: %w", err)
		}
	}
	s.rows++
	return nil
}

// all yields the rows by position.
func (s *rowSpool) all(ctx context.Context) iter.Seq2[loadRow, error] {
	return func(yield func(loadRow, error) bool) {
		if err := s.w.Flush(); err != nil {
			yield(loadRow{}, fmt.Errorf("keeping the nodes aside needs more room on disk: %w", err))
			return
		}
		r := bufio.NewReaderSize(io.NewSectionReader(s.file, 0, 1<<62), 256<<10)
		var row loadRow
		for row.position = range s.rows {
			err := row.read(r)
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

func (row *loadRow) read(r *bufio.Reader) error {
	var err error
	if row.id, err = readBytes(r, row.id); err != nil {
		return err
	}
	if row.source, err = binary.ReadVarint(r); err != nil {
		return spoolError(err)
	}
	row.rest, err = readBytes(r, row.rest)
	return err
}

func readBytes(r *bufio.Reader, memory []byte) ([]byte, error) {
	length, err := binary.ReadUvarint(r)
	if err != nil {
		return nil, spoolError(err)
	}
	memory = slices.Grow(memory[:0], int(length))[:length]
	_, err = io.ReadFull(r, memory)
	return memory, spoolError(err)
}

func spoolError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("reading the nodes back from a temporary file: %w", err)
}

// source returns the source of the row at a position.
func (s *rowSpool) source(ctx context.Context, position int) (int64, error) {
	for row, err := range s.all(ctx) {
		if err != nil || row.position == position {
			return row.source, err
		}
	}
	return 0, spoolError(io.ErrUnexpectedEOF)
}

// parseRest splits the rest of a row: its label's number, −1 for none, and its values, which are appended to values.
func parseRest(rest []byte, values []Value) (label int, _ []Value, err error) {
	number, n := binary.Uvarint(rest)
	for rest = rest[max(n, 0):]; n > 0 && len(rest) > 0; {
		var length uint64
		if length, n = binary.Uvarint(rest); n <= 0 || length > uint64(len(rest)-n) {
			break
		}
		v, err := parseValue(rest[n : n+int(length)])
		if err != nil {
			return 0, nil, spoolError(err)
		}
		values = append(values, v)
		rest = rest[n+int(length):]
	}
	if n <= 0 || len(rest) > 0 {
		return 0, nil, spoolError(io.ErrUnexpectedEOF)
	}
	return int(number) - 1, values, nil
}

func (s *rowSpool) close() error {
	return errors.Join(s.file.Close(), os.Remove(s.file.Name()))
}
