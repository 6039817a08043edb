package cleaner

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv"
)

// A rowStore keeps a matrix [n×width] that is written in column tiles and read back in rows: in memory where it fits,
// else in a temporary file. It begins as zeros. Disjoint parts may be written and read concurrently.
type rowStore struct {
	width  int
	values []float32 // row-major, in memory
	file   *os.File  // or there, little endian
	name   string    // of the file, where the system does not let go of it while it is open
}

// fileBuffer is the bytes that one read or write of the file has at most, but for a longer row.
const fileBuffer = 256 << 10

// newRowStore takes memory when limit bytes suffice, else a file in dir.
func newRowStore(dir string, rows, width int, limit int64) (*rowStore, error) {
	size := 4 * int64(rows) * int64(width)
	if size <= limit {
		return &rowStore{width: width, values: make([]float32, rows*width)}, nil
	}
	file, err := os.CreateTemp(dir, "spill-rows-*.tmp") // a name that a store removes when it is opened, after a crash
	if err != nil {
		return nil, fmt.Errorf("temporary file for %d rows of %d columns: %w", rows, width, err)
	}
	s := &rowStore{width: width, file: file}
	// Without a name it is gone with the process, however that ends. Not every system removes a file that is open.
	if err := os.Remove(file.Name()); err != nil {
		s.name = file.Name()
	}
	return s.orClose(file.Truncate(size))
}

// inMemory is the bytes of memory held.
func (s *rowStore) inMemory() int64 { return 4 * int64(len(s.values)) }

// Close gives the file back.
func (s *rowStore) Close() error {
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	if s.name != "" && err == nil {
		err = os.Remove(s.name)
	}
	return err
}

// write puts values, row-major [rows×columns], into the columns that begin at column lo.
func (s *rowStore) write(rows kv.Range, lo, columns int, values []float32) error {
	values = values[:int(rows.End-rows.First)*columns]
	if s.file == nil {
		for v := int(rows.First); len(values) > 0; v++ {
			copy(s.values[v*s.width+lo:], values[:columns])
			values = values[columns:]
		}
		return nil
	}
	var bytes []byte
	return s.stretches(rows, lo, columns, func(at int64, count int) error {
		bytes = bytes[:0]
		for _, value := range values[:count] {
			bytes = binary.LittleEndian.AppendUint32(bytes, math.Float32bits(value))
		}
		values = values[count:]
		_, err := s.file.WriteAt(bytes, at)
		return err
	})
}

// Width is the number of columns.
func (s *rowStore) Width() int { return s.width }

// Read is that of an ops.Source.
func (s *rowStore) Read(rows kv.Range, lo, hi int, dst []float32) error {
	columns := hi - lo
	dst = dst[:int(rows.End-rows.First)*columns]
	if s.file == nil {
		for v := int(rows.First); len(dst) > 0; v++ {
			copy(dst[:columns], s.values[v*s.width+lo:])
			dst = dst[columns:]
		}
		return nil
	}
	var bytes []byte
	return s.stretches(rows, lo, columns, func(at int64, count int) error {
		bytes = slices.Grow(bytes[:0], 4*count)[:4*count]
		if _, err := s.file.ReadAt(bytes, at); err != nil {
			return err
		}
		for i := range dst[:count] {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(bytes[4*i:]))
		}
		dst = dst[count:]
		return nil
	})
}

// stretches cuts columns of rows into what lies in one piece in the file, from byte at on: a row's columns, or many
// rows where these are all of them.
func (s *rowStore) stretches(rows kv.Range, lo, columns int, visit func(at int64, count int) error) error {
	if columns == 0 {
		return nil
	}
	step := 1
	if columns == s.width {
		step = max(1, fileBuffer/(4*columns))
	}
	for v := int(rows.First); v < int(rows.End); v += step {
		count := min(step, int(rows.End)-v) * columns
		if err := visit(4*(int64(v)*int64(s.width)+int64(lo)), count); err != nil {
			return fmt.Errorf("temporary file of rows: %w", err)
		}
	}
	return nil
}

// gather reads whole rows of some nodes, in their order, into dst; a file is read from its beginning to its end.
func (s *rowStore) gather(nodes []kv.NodeID, dst []float32) error {
	places := make([]int, len(nodes))
	for i := range places {
		places[i] = i
	}
	if s.file != nil {
		slices.SortFunc(places, func(a, b int) int { return cmp.Compare(nodes[a], nodes[b]) })
	}
	for _, i := range places {
		v := nodes[i]
		if err := s.Read(kv.Range{First: v, End: v + 1}, 0, s.width, dst[i*s.width:]); err != nil {
			return err
		}
	}
	return nil
}

// orClose returns the store, or closes it where there is an error.
func (s *rowStore) orClose(err error) (*rowStore, error) {
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}
