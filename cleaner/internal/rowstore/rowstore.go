package rowstore

import (
	"errors"
	"fmt"

	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/kv"
)

// ErrShape is returned when labels, predictions and graph do not have the same number of rows or classes.
var ErrShape = errors.New("cleaner: sizes do not fit together")

// A Store keeps a matrix [n×width] that is written in column tiles and read back in rows, in a scratch array. It
// begins as zeros. Disjoint parts may be written and read concurrently.
//
// Columns lie in groups, one [n×group] after the other, so that a tile of columns is written to one stretch of the
// file, and not to a part of every page.
type Store struct {
	Rows, width, group int
	values             *scratch.Array[float32]
}

// groupWidth is a cache line of columns.
const groupWidth = 16

// New makes a matrix of zeros in a directory, nil for memory, in groups of groupWidth.
func New(dir *scratch.Dir, rows, width int) (*Store, error) {
	return Grouped(dir, rows, width, groupWidth)
}

// Grouped is New with groups of so many columns: of 1, if columns are written one by one from end to end.
func Grouped(dir *scratch.Dir, rows, width, group int) (*Store, error) {
	values, err := scratch.New[float32](dir, "rows", rows*width)
	if err != nil {
		return nil, fmt.Errorf("%d rows of %d columns: %w", rows, width, err)
	}
	return &Store{Rows: rows, width: width, group: group, values: values}, nil
}

// Close gives the array back. Closing nil is harmless.
func (s *Store) Close() error {
	if s == nil {
		return nil
	}
	return s.values.Close()
}

// Width is the number of columns.
func (s *Store) Width() int { return s.width }

// Write puts values, row-major [rows×columns], into the columns that begin at column lo.
func (s *Store) Write(rows kv.Range, lo, columns int, values []float32) error {
	return s.each(rows, lo, lo+columns, len(values), func(part []float32, at int) {
		copy(part, values[at:])
	})
}

// leastAhead is how many rows Read asks the system for: for fewer, that takes longer than it saves.
const leastAhead = 1 << 10

// Column is a column: row r has values[r·step]. In a Store of one group, values of column 0 are the rows one after the
// other.
func (s *Store) Column(j int) (values []float32, step int) {
	left := j / s.group * s.group
	return s.values.Data[s.Rows*left+j-left:], min(s.group, s.width-left)
}

// Add adds factor times values, as write takes them.
func (s *Store) Add(rows kv.Range, lo, columns int, factor float32, values []float32) error {
	return s.each(rows, lo, lo+columns, len(values), func(part []float32, at int) {
		for j := range part {
			part[j] += float32(factor * values[at+j])
		}
	})
}

// Read is that of an ops.Source.
func (s *Store) Read(rows kv.Range, lo, hi int, dst []float32) error {
	if rows.Len() >= leastAhead {
		for left := lo / s.group * s.group; left < hi; left += s.group {
			width := min(s.group, s.width-left)
			s.values.WillRead(s.Rows*left+int(rows.First)*width, s.Rows*left+int(rows.End)*width)
		}
	}
	return s.each(rows, lo, hi, len(dst), func(part []float32, at int) {
		copy(dst[at:at+len(part)], part)
	})
}

// each calls visit for every row and group of columns lo ≤ j < hi: with the part of the row that the group stores, and
// the place of it in a matrix [rows×(hi-lo)], which has so many values at least.
func (s *Store) each(rows kv.Range, lo, hi, values int, visit func(part []float32, at int)) error {
	if lo < 0 || hi < lo || hi > s.width || rows.End < rows.First || int(rows.End) > s.Rows ||
		values < int(rows.End-rows.First)*(hi-lo) {
		return fmt.Errorf("rows %d to %d and columns %d to %d of %d×%d, with %d values: %w",
			rows.First, rows.End, lo, hi, s.Rows, s.width, values, ErrShape)
	}
	for left := lo / s.group * s.group; left < hi; left += s.group {
		width := min(s.group, s.width-left)
		group := s.values.Data[s.Rows*left:][:s.Rows*width]
		from, to := max(lo, left), min(hi, left+width)
		at := from - lo
		for v := int(rows.First); v < int(rows.End); v++ {
			visit(group[v*width+from-left:v*width+to-left], at)
			at += hi - lo
		}
	}
	return nil
}

// OrClose returns the store, or closes it where there is an error.
func (s *Store) OrClose(err error) (*Store, error) {
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}
