package worker

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"strings"

	"github.com/graphcleaner/graphcleaner/internal/gap"
)

// valueBytes is the most that a value in JSON takes once it is decoded, with what the list around it has in reserve.
const valueBytes = 96

// The most that one text and one number of JSON may have, in bytes.
const (
	mostText   = 1 << 20
	mostNumber = 1 << 10
)

// decode decodes the JSON of a frame, unless its values take more than the memory, or one of them is too long. Those of
// a small frame fit beside the memory of the job.
func decode(f *Frame, memory int64, into any) error {
	most := max(memory, mostPayload) / valueBytes
	var values int64
	inString, from := false, 0 // where the value at i begins
	for i := 0; i < len(f.Payload) && values <= most; i++ {
		switch b := f.Payload[i]; {
		case inString && b == '\\':
			i++
		case b == '"':
			inString = !inString
		case !inString && strings.IndexByte("[{,:]} \n\t\r", b) >= 0:
			from = i + 1
			if strings.IndexByte("[{,:", b) >= 0 { // one of them comes before each value
				values++
			}
		}
		if length := i - from; length > mostText || length > mostNumber && f.Payload[from] != '"' {
			return fmt.Errorf("%w: %s: a value has more than %d bytes, want texts of at most %d and numbers of at most %d",
				errFrame, f.Place(), length-1, mostText, mostNumber)
		}
	}
	if values > most {
		return fmt.Errorf("%w: %s: more than %d values, which take more than the memory of %d bytes: use more memory",
			errFrame, f.Place(), most, memory)
	}
	if err := json.Unmarshal(f.Payload, into); err != nil {
		return fmt.Errorf("%w: %s: %w", errFrame, f.Place(), err)
	}
	return nil
}

// want returns an error if a payload has another length than its header says.
func (f *Frame) want(bytes int64) error {
	if int64(len(f.Payload)) != bytes {
		return fmt.Errorf("%w: %s: %d bytes for %d rows of width %d, want %d", errFrame, f.Place(), len(f.Payload), f.Count, f.Width, bytes)
	}
	return nil
}

// wantWidth returns an error if a frame has another width than is due.
func (f *Frame) wantWidth(width int) error {
	if int64(f.Width) != int64(width) {
		return fmt.Errorf("%w: %s: width %d, want %d", errFrame, f.Place(), f.Width, width)
	}
	return nil
}

// A number is what vectors in payloads consist of.
type number interface {
	~int32 | ~uint32 | ~float32 | ~uint8 | ~uint64 | ~float64
}

func sizeOf[T number]() int { return binary.Size(*new(T)) }

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

// rowsOf decodes a frame of count × width numbers. Width 0 is a vector.
func rowsOf[T number](memory []T, f *Frame) ([]T, error) {
	row := int(max(f.Width, 1)) * sizeOf[T]() // times Count, it may be more than an int64 holds
	if len(f.Payload)/row != int(f.Count) || len(f.Payload)%row != 0 {
		return memory, fmt.Errorf("%w: %s: %d bytes for %d rows, want %d for each", errFrame, f.Place(), len(f.Payload),
			f.Count, row)
	}
	memory, _ = vector(memory, f.Payload, len(f.Payload)/sizeOf[T]())
	return memory, nil
}

// Widths of frames of strengths.
const (
	anyStrengths   = 0 // float64 [count]
	wholeStrengths = 1 // varints [count]: the first, and differences
)

// mostWhole is the greatest whole number that float64 tells from its neighbours.
const mostWhole = 1 << 53

// appendStrengths encodes strengths, and returns the width of their frame. Those of a graph without weights are whole numbers, which fall
// slowly, as nodes are numbered by degree: most differences take a byte.
func appendStrengths(to []byte, strengths []float64) ([]byte, int) {
	for _, x := range strengths {
		if x != math.Trunc(x) || math.Abs(x) > mostWhole {
			return appendVector(to, strengths), anyStrengths
		}
	}
	last := int64(0)
	for _, x := range strengths {
		to = binary.AppendVarint(to, int64(x)-last)
		last = int64(x)
	}
	return to, wholeStrengths
}

// strengthsOf decodes a frame of strengths.
func strengthsOf(memory []float64, f *Frame) ([]float64, error) {
	if f.Width != wholeStrengths {
		if err := f.wantWidth(anyStrengths); err != nil {
			return memory, err
		}
		memory, err := rowsOf(memory, f)
		for _, x := range memory[:min(len(memory), int(f.Count))] {
			if err == nil && !(x >= 0 && x <= math.MaxFloat64) {
				err = fmt.Errorf("%w: %s: strength %v, want a finite number from 0 on", errFrame, f.Place(), x)
			}
		}
		return memory, err
	}
	memory = memory[:0]
	from, last := f.Payload, int64(0)
	for range f.Count {
		difference, used := binary.Varint(from)
		if used <= 0 {
			return memory, fmt.Errorf("%w: %s: strength %d of %d is no number", errFrame, f.Place(), len(memory)+1, f.Count)
		}
		last, from = last+difference, from[used:]
		if last < 0 || last > mostWhole {
			return memory, fmt.Errorf("%w: %s: strength %d, want 0 to 2^53", errFrame, f.Place(), last)
		}
		memory = append(memory, float64(last))
	}
	if len(from) > 0 {
		return memory, fmt.Errorf("%w: %s: %d bytes behind %d strengths", errFrame, f.Place(), len(from), f.Count)
	}
	return memory, nil
}

// predictionsOf decodes a frame of predictions. A row is probabilities, or NaN alone: none.
func predictionsOf(memory []float32, f *Frame, classes int) ([]float32, error) {
	if err := f.wantWidth(classes); err != nil {
		return memory, err
	}
	memory, err := rowsOf(memory, f)
	if err != nil {
		return memory, err
	}
	for at, p := range memory {
		isNone := math.IsNaN(float64(memory[at-at%classes]))
		if isNone != math.IsNaN(float64(p)) || !isNone && !(p >= 0 && p <= mostProbability) {
			return memory, fmt.Errorf("%w: %s: row %d has the prediction %v, want 0 to 1, or no number in the whole row", errFrame, f.Place(), at/classes, p)
		}
	}
	return memory, nil
}

// mostProbability leaves room for rounding.
const mostProbability = 1.001

// Sparse rows: for each row a bitmap of the columns that are not zero, then the values of all rows. The width is that of the frame.

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

// sparseRows checks a frame of sparse rows and calls visit for each value, by rows and columns ascending; row counts from the first of
// the frame.
func sparseRows(f *Frame, visit func(row, column int, x float64)) error {
	width := int(f.Width)
	each := bitmapBytes(width)
	maps := int64(f.Count) * int64(each)
	if width < 1 || maps > int64(len(f.Payload)) {
		return f.want(maps)
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

// An arcList has arcs of a block: rows that have some, ascending, and their lists of columns, ascending.
type arcList struct {
	rows    []uint32 // in the range
	offsets []int64  // [len(rows)+1]: list i is columns[offsets[i]:offsets[i+1]]
	columns []uint32
	weights []float64 // nil: 1 each
}

// reset forgets the arcs and keeps the memory.
func (l *arcList) reset() {
	l.rows, l.offsets, l.columns, l.weights = l.rows[:0], append(l.offsets[:0], 0), l.columns[:0], l.weights[:0]
}

// add adds an arc, ascending by row and column, each once.
func (l *arcList) add(row, column uint32) {
	if len(l.rows) == 0 || l.rows[len(l.rows)-1] != row {
		l.rows = append(l.rows, row)
		l.offsets = append(l.offsets, 0)
	}
	l.columns = append(l.columns, column)
	l.offsets[len(l.rows)] = int64(len(l.columns))
}

// list is the columns of the row at a place in rows.
func (l *arcList) list(i int) []uint32 { return l.columns[l.offsets[i]:l.offsets[i+1]] }

// Bytes of a weight in a frame of arcs, which is its width: those of a run are sums of some of the edges, those of a block are whole.
const (
	blockWeight = 4
	runWeight   = 8
)

// An arcEncoder makes frames of arcs.
type arcEncoder struct {
	lists gap.Encoder[uint32]
	from  []uint32
}

// append encodes arcs: the length of a gap block, the block, and the weights if there are any. The first list of the block has the rows that
// have arcs, counted from the first one.
func (e *arcEncoder) append(to []byte, arcs *arcList, weight int) []byte {
	e.lists.Reset()
	e.from = e.from[:0]
	for _, row := range arcs.rows {
		e.from = append(e.from, row-arcs.rows[0])
	}
	e.lists.Append(e.from)
	for i := range arcs.rows {
		e.lists.Append(arcs.list(i))
	}
	at := len(to)
	to = e.lists.AppendTo(append(to, 0, 0, 0, 0))
	binary.LittleEndian.PutUint32(to[at:], uint32(len(to)-at-4))
	switch weight {
	case runWeight:
		to = appendVector(to, arcs.weights)
	case blockWeight:
		for _, w := range arcs.weights {
			to = binary.LittleEndian.AppendUint32(to, math.Float32bits(float32(w)))
		}
	}
	return to
}

// frame is the frame of arcs of a block. Its payload is appended to memory.
func (e *arcEncoder) frame(by Operation, row, column uint32, arcs *arcList, weight int, memory []byte) Frame {
	first, last := arcs.rows[0], arcs.rows[len(arcs.rows)-1]
	return Frame{
		Operation: by, Kind: KindArcs, Row: row, Column: column, First: first, Count: last - first + 1, Width: uint32(weight),
		Payload: e.append(memory, arcs, weight),
	}
}

// read decodes a frame of arcs of a block with so many columns, whose weights have so many bytes.
func (l *arcList) read(f *Frame, columns uint32, weight int) error {
	l.reset()
	if err := f.wantWidth(weight); err != nil {
		return err
	}
	if len(f.Payload) < 4 {
		return f.want(4)
	}
	length := binary.LittleEndian.Uint32(f.Payload)
	if int64(length) > int64(len(f.Payload)-4) {
		return fmt.Errorf("%w: %s: %d bytes of lists, the payload has %d", errFrame, f.Place(), length, len(f.Payload)-4)
	}
	block, err := gap.Parse(f.Payload[4:4+length], max(columns, f.Count))
	if err != nil {
		return fmt.Errorf("%w: %s: %w", errFrame, f.Place(), err)
	}
	l.offsets, l.columns, err = gap.AppendAll(l.offsets[:0], l.columns[:0], block)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", errFrame, f.Place(), err)
	}
	if len(l.offsets) == 0 || l.offsets[0] == 0 || l.offsets[0] != int64(len(l.offsets)-1) {
		return fmt.Errorf("%w: %s: %d lists do not have a row each", errFrame, f.Place(), len(l.offsets)-1)
	}
	lists := l.offsets[0]
	for _, row := range l.columns[:lists] {
		if row >= f.Count {
			return fmt.Errorf("%w: %s: row %d of %d", errFrame, f.Place(), row, f.Count)
		}
		l.rows = append(l.rows, f.First+row)
	}
	l.columns = append(l.columns[:0], l.columns[lists:]...)
	for i := range l.offsets {
		l.offsets[i] -= lists
	}
	for _, column := range l.columns {
		if column >= columns {
			return fmt.Errorf("%w: %s: column %d of %d", errFrame, f.Place(), column, columns)
		}
	}
	if err := f.want(4 + int64(length) + int64(weight)*int64(len(l.columns))); err != nil {
		return err
	}
	return l.readWeights(f, f.Payload[4+length:], weight)
}

func (l *arcList) readWeights(f *Frame, from []byte, weight int) error {
	for at := 0; at < len(from); at += weight {
		var w float64
		if weight == runWeight {
			w = math.Float64frombits(binary.LittleEndian.Uint64(from[at:]))
		} else {
			w = float64(math.Float32frombits(binary.LittleEndian.Uint32(from[at:])))
		}
		if !(w > 0) || math.IsInf(w, 0) {
			return fmt.Errorf("%w: %s: weight %v, want a positive number", errFrame, f.Place(), w)
		}
		l.weights = append(l.weights, w)
	}
	return nil
}
