package worker

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/bits"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
)

// decode decodes JSON of a frame, or of a part of a job.
func decode(what string, text []byte, into any) error {
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%w: %s: %w", errFrame, what, err)
	}
	return nil
}

// want returns an error if a payload has another length than its header says.
func (f *Frame) want(bytes int64) error {
	if int64(len(f.Payload)) != bytes {
		return fmt.Errorf("%w: %s: %d bytes for %d rows of width %d, want %d", errFrame, f.Place(), len(f.Payload), f.Count,
			f.Width, bytes)
	}
	return nil
}

// checkNumbers returns an error if a frame of numbers has another width or length than its kind wants. A vector has
// width 0 or 1.
func (j *Job) checkNumbers(f *Frame) error {
	width, row := 1, 4 // columns, and bytes
	switch f.Kind {
	case KindLabels, KindMembers:
	case KindSplits:
		row = 1
	case KindEdges, KindStrength, KindDiagonal:
		row = 8
	case KindPredictions, KindSlice:
		width, row = j.Classes, 4*j.Classes
	case KindTested, KindFeatures:
		width, row = j.testedLabels(), 4*j.testedLabels()
	case KindSample:
		width, row = j.Classes, 4*(1+j.Classes)
	default:
		return nil
	}
	if int64(max(f.Width, 1)) != int64(width) {
		return fmt.Errorf("%w: %s: width %d, want %d", errFrame, f.Place(), f.Width, width)
	}
	return f.want(int64(row) * int64(f.Count))
}

// A number is an element of the vectors in payloads.
type number interface {
	int32 | uint32 | float32 | uint64 | float64
}

// vector decodes so many numbers of a payload, from a byte on, into memory.
func vector[T number](memory []T, from []byte, count int) ([]T, []byte) {
	if cap(memory) < count {
		memory = make([]T, count)
	}
	memory = memory[:count]
	used, err := binary.Decode(from, binary.LittleEndian, memory)
	if err != nil {
		panic(err) // callers have checked the length
	}
	return memory, from[used:]
}

// appendVector encodes numbers.
func appendVector[T number](to []byte, values []T) []byte {
	to, err := binary.Append(to, binary.LittleEndian, values)
	if err != nil {
		panic(err) // numbers of fixed size
	}
	return to
}

// rowsOf decodes the numbers of a frame into memory.
func rowsOf[T number](memory []T, f *Frame) []T {
	memory, _ = vector(memory, f.Payload, len(f.Payload)/binary.Size(*new(T)))
	return memory
}

// classesOf appends classes to some.
func classesOf(memory []kv.Class, f *Frame, classes int) ([]kv.Class, error) {
	for at := 0; at < len(f.Payload); at += 4 {
		class := kv.Class(binary.LittleEndian.Uint32(f.Payload[at:]))
		if class < kv.NoClass || int(class) >= classes {
			return memory, fmt.Errorf("%w: %s: class %d at place %d, want -1 to %d", errFrame, f.Place(), class, at/4, classes-1)
		}
		memory = append(memory, class)
	}
	return memory, nil
}

// appendClasses encodes classes.
func appendClasses(to []byte, classes ...kv.Class) []byte {
	for _, class := range classes {
		to = binary.LittleEndian.AppendUint32(to, uint32(class))
	}
	return to
}

// unpredicted is the bit of a split that says that a node has no predictions.
const unpredicted = 0x80

// splitsOf appends splits to some, and calls lacks with the place of each whose node has no predictions.
func splitsOf(splits []cleaner.Split, f *Frame, lacks func(at int)) ([]cleaner.Split, error) {
	for _, b := range f.Payload {
		split := cleaner.Split(b &^ unpredicted)
		if split > cleaner.SplitUnused {
			return splits, fmt.Errorf("%w: %s: split %d", errFrame, f.Place(), split)
		}
		if b&unpredicted != 0 {
			lacks(len(splits))
		}
		splits = append(splits, split)
	}
	return splits, nil
}

// Sparse rows: for each row a bitmap of the columns that are not zero, then the values of all rows. The width is that
// of the frame.

func bitmapBytes(width int) int { return (width + 7) / 8 }

// appendSparse encodes rows [count×width].
func appendSparse(to []byte, values []float64, width int) []byte {
	begin, each := len(to), bitmapBytes(width)
	rows := len(values) / width
	to = append(to, make([]byte, rows*each)...)
	for r := range rows {
		row := values[r*width:][:width]
		for j, x := range row {
			if x != 0 {
				to[begin+r*each+j/8] |= 1 << (j % 8)
				to = binary.LittleEndian.AppendUint64(to, math.Float64bits(x))
			}
		}
	}
	return to
}

// sparseRows checks a frame of sparse rows of a width and calls visit for each value, by rows and columns ascending;
// row counts from the first of the frame.
func sparseRows(f *Frame, width int, visit func(row, column int, x float64)) error {
	each := bitmapBytes(width)
	maps := int64(f.Count) * int64(each)
	if int64(f.Width) != int64(width) || maps > int64(len(f.Payload)) {
		return fmt.Errorf("%w: %s: width %d and %d bytes, want width %d and at least %d", errFrame, f.Place(), f.Width,
			len(f.Payload), width, maps)
	}
	bitmaps, values := f.Payload[:maps], f.Payload[maps:]
	ones := 0
	for _, b := range bitmaps {
		ones += bits.OnesCount8(b)
	}
	if err := f.want(maps + 8*int64(ones)); err != nil {
		return err
	}
	for at, b := range bitmaps {
		for ; b != 0; b &= b - 1 {
			column := at%each*8 + bits.TrailingZeros8(b)
			if column >= width {
				return fmt.Errorf("%w: %s: a value in column %d, the width is %d", errFrame, f.Place(), column, width)
			}
			visit(at/each, column, math.Float64frombits(binary.LittleEndian.Uint64(values)))
			values = values[8:]
		}
	}
	return nil
}
