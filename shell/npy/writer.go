package npy

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"math"
	"strings"
)

// Write writes a float32 array [rows×cols] in C order and little endian. It takes each row before it asks for the next,
// and stops at an error. It closes nothing.
func Write(to io.Writer, rows, cols int, values iter.Seq2[[]float32, error]) error {
	out := bufio.NewWriterSize(to, 256<<10)
	text := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", rows, cols)
	const fixed = len(magic) + 4
	// The values begin at a multiple of 64 bytes, and the header's text ends in a line feed.
	text += strings.Repeat(" ", 63-(fixed+len(text))%64) + "\n"
	raw := binary.LittleEndian.AppendUint16(append([]byte(magic), 1, 0), uint16(len(text)))
	if _, err := out.Write(append(raw, text...)); err != nil {
		return err
	}
	count := 0
	for row, err := range values {
		if err != nil {
			return err
		}
		if count++; len(row) != cols || count > rows {
			return fmt.Errorf("npy: got row %d of %d values, want %d rows of %d", count, len(row), rows, cols)
		}
		raw = raw[:0]
		for _, v := range row {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
		}
		if _, err := out.Write(raw); err != nil {
			return err
		}
	}
	if count != rows {
		return fmt.Errorf("npy: got %d rows, want %d", count, rows)
	}
	return out.Flush()
}
