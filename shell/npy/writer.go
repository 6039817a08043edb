package npy

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strings"
)

// A Writer writes a float32 .npy file of a known shape, row by row, in C order and little endian.
type Writer struct {
	out        *bufio.Writer
	rows, cols int
	count      int
	raw        []byte
}

// NewWriter writes the header of a [rows×cols] array.
func NewWriter(out io.Writer, rows, cols int) (*Writer, error) {
	w := &Writer{out: bufio.NewWriterSize(out, 256<<10), rows: rows, cols: cols, raw: make([]byte, 4*cols)}
	text := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", rows, cols)
	const fixed = len(magic) + 4
	// The values begin at a multiple of 64 bytes, and the header's text ends in a line feed.
	padding := 63 - (fixed+len(text))%64
	text += strings.Repeat(" ", padding) + "\n"
	start := append([]byte(magic), 1, 0)
	start = binary.LittleEndian.AppendUint16(start, uint16(len(text)))
	if _, err := w.out.Write(append(start, text...)); err != nil {
		return nil, err
	}
	return w, nil
}

// Write writes the next row [cols].
func (w *Writer) Write(row []float32) error {
	if len(row) != w.cols || w.count == w.rows {
		return fmt.Errorf("npy: got row %d of %d values, want %d rows of %d", w.count, len(row), w.rows, w.cols)
	}
	for j, v := range row {
		binary.LittleEndian.PutUint32(w.raw[4*j:], math.Float32bits(v))
	}
	w.count++
	_, err := w.out.Write(w.raw)
	return err
}

// Close writes what is buffered and checks that all rows came. It does not close the file.
func (w *Writer) Close() error {
	if w.count != w.rows {
		return fmt.Errorf("npy: got %d rows, want %d", w.count, w.rows)
	}
	return w.out.Flush()
}
