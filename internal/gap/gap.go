// Package gap encodes the neighbour lists of consecutive nodes into one run of bytes, and decodes all of them, one
// of them, or only their lengths.
//
// A block of r rows is
//
//	uvarint r                     rows
//	uvarint e                     entries: neighbours in all rows together
//	r/32 (rounded up) × uint32    little endian: where each group of 32 rows begins, from the first group
//	groups                        of 32 rows, the last one of what is left
//
// and a group is
//
//	uvarint × rows of the group   degrees
//	uvarint × sum of the degrees  of each list the first neighbour, then the gaps to the next one minus one
//
// so that one row costs the decoding of at most 32 degrees, the skipping of the rows before it in its group (eight
// bytes at a time) and the decoding of itself.
//
// The bytes may come from a damaged disk: every reader checks what it reads, allocates no more than a small multiple
// of the input, never panics on bad bytes, and says at which byte it gave up.
package gap

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// groupRows is the number of rows that share an entry of the offset table.
const groupRows = 32

// ErrDamaged marks bytes that no Encoder wrote.
var ErrDamaged = errors.New("gap: damaged block")

func damaged(at int, format string, args ...any) error {
	return fmt.Errorf("%w: at byte %d: %s", ErrDamaged, at, fmt.Sprintf(format, args...))
}

// A Block reads an encoded block. It borrows the bytes it was parsed from and may be used by many goroutines at once.
type Block struct {
	rows    int
	entries int
	limit   uint64
	starts  []byte
	groups  []byte
	header  int // bytes before groups, so that errors can count from the start of the block
}

// Parse reads the header of a block whose neighbours are all less than limit.
func Parse(data []byte, limit uint32) (Block, error) {
	rows, at := uvarint(data, 0)
	if at == 0 {
		return Block{}, damaged(0, "got no row count")
	}
	entries, end := uvarint(data, at)
	if end == 0 {
		return Block{}, damaged(at, "got no entry count")
	}
	rest := uint64(len(data) - end)
	// A row costs at least one byte, an entry as well: counts beyond the input are refused before anything is sized by
	// them.
	if rows > rest || entries > rest || rows+entries > rest {
		return Block{}, damaged(end, "got %d rows and %d entries in %d bytes", rows, entries, rest)
	}
	starts := (int(rows) + groupRows - 1) / groupRows * 4
	if uint64(starts)+rows+entries > rest {
		return Block{}, damaged(end, "got %d rows and %d entries in %d bytes", rows, entries, rest)
	}
	return Block{
		rows:    int(rows),
		entries: int(entries),
		limit:   uint64(limit),
		starts:  data[end : end+starts],
		groups:  data[end+starts:],
		header:  end + starts,
	}, nil
}

// Rows is the number of lists.
func (b Block) Rows() int { return b.rows }

// Entries is the number of neighbours in all lists, as the header says it; AppendAll verifies it.
func (b Block) Entries() int { return b.entries }

// group returns where group g begins and how many rows it has.
func (b Block) group(g int) (at, rows int, err error) {
	at = int(binary.LittleEndian.Uint32(b.starts[4*g:]))
	if at > len(b.groups) {
		return 0, 0, damaged(4*g, "group %d begins at %d of %d bytes", g, at, len(b.groups))
	}
	return at, min(groupRows, b.rows-g*groupRows), nil
}

// seek finds the list of row i: its length and where in groups it begins.
func (b Block) seek(i int) (degree, at int, err error) {
	if i < 0 || i >= b.rows {
		return 0, 0, damaged(0, "asked for row %d of %d", i, b.rows)
	}
	at, rows, err := b.group(i / groupRows)
	if err != nil {
		return 0, 0, err
	}
	before := 0
	for j := range rows {
		d, next := uvarint(b.groups, at)
		if next == 0 || d > uint64(b.entries) {
			return 0, 0, damaged(b.header+at, "got no degree of row %d", i/groupRows*groupRows+j)
		}
		if j < i%groupRows {
			before += int(d)
		} else if j == i%groupRows {
			degree = int(d)
		}
		at = next
	}
	at, ok := skip(b.groups, at, before)
	if !ok {
		return 0, 0, damaged(b.header+at, "the rows before row %d end early", i)
	}
	return degree, at, nil
}

// Degree is the length of row i.
func (b Block) Degree(i int) (int, error) {
	if i < 0 || i >= b.rows {
		return 0, damaged(0, "asked for row %d of %d", i, b.rows)
	}
	at, _, err := b.group(i / groupRows)
	if err != nil {
		return 0, err
	}
	for j := 0; ; j++ {
		d, next := uvarint(b.groups, at)
		if next == 0 || d > uint64(b.entries) {
			return 0, damaged(b.header+at, "got no degree of row %d", i/groupRows*groupRows+j)
		}
		if j == i%groupRows {
			return int(d), nil
		}
		at = next
	}
}

// AppendRow decodes row i after dst.
func AppendRow[N ~uint32](dst []N, b Block, i int) ([]N, error) {
	degree, at, err := b.seek(i)
	if err != nil {
		return dst, err
	}
	if degree > len(b.groups)-at {
		return dst, damaged(b.header+at, "row %d has %d neighbours in %d bytes", i, degree, len(b.groups)-at)
	}
	n := len(dst)
	dst = grow(dst, degree)
	list := asUint32(dst[n:])
	numbers, bytes := unpack(list, b.groups[at:])
	if numbers < degree {
		return dst[:n], damaged(b.header+at+bytes, "row %d ends early, or holds a number of more than 32 bits", i)
	}
	if next := sums(list); next > b.limit {
		return dst[:n], b.beyond(at, i, next)
	}
	return dst, nil
}

// AppendDegrees decodes the lengths of all rows after dst.
func AppendDegrees[N ~uint32](dst []N, b Block) ([]N, error) {
	n := len(dst)
	for g := range len(b.starts) / 4 {
		at, rows, err := b.group(g)
		if err != nil {
			return dst[:n], err
		}
		for j := range rows {
			d, next := uvarint(b.groups, at)
			if next == 0 || d > uint64(b.entries) {
				return dst[:n], damaged(b.header+at, "got no degree of row %d", g*groupRows+j)
			}
			dst, at = append(dst, N(d)), next
		}
	}
	return dst, nil
}

// AppendAll decodes every row: it appends the neighbours to neighbors, and to offsets, for each row, the length
// neighbors then has. Offsets that begin with the former length of neighbors make both a CSR.
func AppendAll[N ~uint32](offsets []int64, neighbors []N, b Block) ([]int64, []N, error) {
	from, rowsFrom := len(neighbors), len(offsets)
	neighbors = grow(neighbors, b.entries)
	dst := asUint32(neighbors)
	fail := func(err error) ([]int64, []N, error) { return offsets[:rowsFrom], neighbors[:from], err }
	end, at := from, 0
	for g := range len(b.starts) / 4 {
		start, rows, err := b.group(g)
		if err != nil {
			return fail(err)
		}
		if start != at {
			return fail(damaged(4*g, "group %d begins at %d, want %d", g, start, at))
		}
		first := len(offsets)
		for j := range rows {
			d, next := uvarint(b.groups, at)
			if next == 0 || d > uint64(len(neighbors)-end) {
				return fail(damaged(b.header+at, "row %d does not fit into %d entries", g*groupRows+j, b.entries))
			}
			end, at = end+int(d), next
			offsets = append(offsets, int64(end))
		}
		begin := int64(from)
		if first > rowsFrom {
			begin = offsets[first-1]
		}
		// All lists of the group at once: most are too short for the decoding to get going.
		numbers, n := unpack(dst[begin:end], b.groups[at:])
		if numbers < end-int(begin) {
			return fail(damaged(b.header+at+n, "group %d ends early, or holds a number of more than 32 bits", g))
		}
		for j, stop := range offsets[first:] {
			if next := sums(dst[begin:stop]); next > b.limit {
				return fail(b.beyond(at, g*groupRows+j, next))
			}
			begin = stop
		}
		at += n
	}
	if end != len(neighbors) {
		return fail(damaged(b.header+at, "got %d entries, want %d", end-from, b.entries))
	}
	if at != len(b.groups) {
		return fail(damaged(b.header+at, "got %d bytes behind the last row", len(b.groups)-at))
	}
	return offsets, neighbors, nil
}

// beyond is the error of a list whose last neighbour is next − 1.
func (b Block) beyond(at, row int, next uint64) error {
	return damaged(b.header+at, "row %d has neighbour %d, want less than %d", row, next-1, b.limit)
}

// uvarint decodes the number at data[at:] and returns where it ends, or 0 if there is none.
func uvarint(data []byte, at int) (uint64, int) {
	if at < len(data) && data[at] < 0x80 {
		return uint64(data[at]), at + 1
	}
	if at > len(data) {
		return 0, 0
	}
	v, n := binary.Uvarint(data[at:])
	if n <= 0 {
		return 0, 0
	}
	return v, at + n
}

// skip passes over n numbers at data[at:] and reports whether they are all there.
func skip(data []byte, at, n int) (int, bool) {
	const high = 0x8080808080808080
	for at+8 <= len(data) {
		ends := bits.OnesCount64(^binary.LittleEndian.Uint64(data[at:]) & high)
		if ends >= n { // the last number may end inside these eight bytes
			break
		}
		n, at = n-ends, at+8
	}
	for n > 0 && at < len(data) {
		if data[at] < 0x80 {
			n--
		}
		at++
	}
	return at, n == 0
}
