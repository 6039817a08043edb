package cleaner

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/graphcleaner/graphcleaner/kv"
)

// A rowStore keeps a matrix [n×width] that is written in column tiles and read back in rows: in memory where it fits, else in
// a temporary file that has no name. It begins as zeros. Disjoint parts may be written and read concurrently.
type rowStore struct {
	width  int
	values []float32 // row-major, in memory
	file   *os.File  // or there, little endian
}

// newRowStore takes memory when limit bytes suffice, else a file in dir.
func newRowStore(dir string, rows, width int, limit int64) (*rowStore, error) {
	size := 4 * int64(rows) * int64(width)
	if size <= limit {
		return &rowStore{width: width, values: make([]float32, rows*width)}, nil
	}
	file, err := os.CreateTemp(dir, "graphcleaner-rows-")
	if err != nil {
		return nil, fmt.Errorf("temporary file for %d rows of %d columns: %w", rows, width, err)
	}
	// Without a name it is gone with the process, however that ends.
	if err := errors.Join(os.Remove(file.Name()), file.Truncate(size)); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &rowStore{width: width, file: file}, nil
}

// Close gives the file back.
func (s *rowStore) Close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// write puts values, row-major [rows×columns], into the columns that begin at column lo.
func (s *rowStore) write(rows kv.Range, lo, columns int, values []float32) error {
	bytes := make([]byte, 4*columns)
	for v := int(rows.First); v < int(rows.End); v++ {
		row := values[(v-int(rows.First))*columns:][:columns]
		if s.file == nil {
			copy(s.values[v*s.width+lo:], row)
			continue
		}
		for j, value := range row {
			binary.LittleEndian.PutUint32(bytes[4*j:], math.Float32bits(value))
		}
		if _, err := s.file.WriteAt(bytes, 4*(int64(v)*int64(s.width)+int64(lo))); err != nil {
			return fmt.Errorf("temporary file of rows: %w", err)
		}
	}
	return nil
}

// Width is the number of columns.
func (s *rowStore) Width() int { return s.width }

// Read is that of an ops.Source.
func (s *rowStore) Read(rows kv.Range, lo, hi int, dst []float32) error {
	columns := hi - lo
	var bytes []byte
	for v := int(rows.First); v < int(rows.End); v++ {
		row := dst[(v-int(rows.First))*columns:][:columns]
		at := int64(v)*int64(s.width) + int64(lo)
		if s.file == nil {
			copy(row, s.values[at:])
			continue
		}
		bytes = append(bytes[:0], make([]byte, 4*columns)...)
		if _, err := s.file.ReadAt(bytes, 4*at); err != nil {
			return fmt.Errorf("temporary file of rows: %w", err)
		}
		for j := range row {
			row[j] = math.Float32frombits(binary.LittleEndian.Uint32(bytes[4*j:]))
		}
	}
	return nil
}
