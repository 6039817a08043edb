package spill

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"sort"

	"github.com/graphcleaner/graphcleaner/internal/offheap"
)

// A storedRun is a stretch of the file of a Numbers: blocks of ascending numbers, each without its first one, which is
// in the index, as the differences between neighbours less the least that there can be (leastGap), as varints. Blocks
// of pairs have the values after them, a little-endian uint32 each, or one if all have the same.
type storedRun struct {
	First  []uint64 // of each block the least number
	Offset []int64  // where it begins in the file
	Count  []int32  // how many numbers it has
	End    int64    // of the last block in the file
}

// add enters a block.
func (r *storedRun) add(first uint64, offset int64, count int32) {
	r.First, r.Offset, r.Count = append(r.First, first), append(r.Offset, offset), append(r.Count, count)
}

// clear makes it a run without blocks.
func (r *storedRun) clear() {
	r.First, r.Offset, r.Count = r.First[:0], r.Offset[:0], r.Count[:0]
}

const (
	// blockKeys is the number of numbers in a block: 20 bytes of index for about as many thousand.
	blockKeys = 1 << 12

	// maxReading bounds a range that is read back, which nothing interrupts.
	maxReading = 1 << 22
)

// An encodedBucket is a bucket as it is written.
type encodedBucket[T Number] struct {
	scratch []T
	bytes   []byte
	blocks  storedRun // offsets from the first one
}

// leastGap is the least difference between neighbours: pairs may have the same number.
func leastGap[T Number]() uint64 {
	if sizeOf[T]() > sizeOf[uint64]() {
		return 0
	}
	return 1
}

// writeRun writes so many buckets, each as bucket returns it, ascending and distinct.
func (s *Numbers[T]) writeRun(buckets int, bucket func(i int, scratch []T) []T) error {
	if s.file == nil {
		f, err := createRunFile(s.dir, minBuffer)
		if err != nil {
			return err
		}
		s.file = f
	}
	places := make([]*encodedBucket[T], 2*s.workers)
	for i := range places {
		places[i] = &encodedBucket[T]{scratch: make([]T, leafKeys)}
	}
	run := &storedRun{End: s.file.size}
	encode := func(e *encodedBucket[T], i int) error {
		if s.stop.Load() {
			return errStopped
		}
		e.encode(bucket(i, e.scratch))
		return nil
	}
	err := inOrder(context.Background(), s.workers, buckets, places, encode, func(e *encodedBucket[T]) error {
		for i, first := range e.blocks.First {
			run.add(first, run.End+e.blocks.Offset[i], e.blocks.Count[i])
		}
		run.End += int64(len(e.bytes))
		return s.file.write(e.bytes)
	})
	if err != nil {
		return err
	}
	if err := s.file.endRun(run.End - s.file.size); err != nil {
		return err
	}
	s.runs = append(s.runs, run)
	return nil
}

func (e *encodedBucket[T]) encode(keys []T) {
	least := leastGap[T]()
	e.bytes = e.bytes[:0]
	e.blocks.clear()
	for block := range slices.Chunk(keys, blockKeys) {
		begin := len(e.bytes)
		e.bytes = slices.Grow(e.bytes, len(block)*binary.MaxVarintLen64)
		first := keyOf(&block[0])
		previous := first
		b, n := e.bytes[:cap(e.bytes)], len(e.bytes)
		for i := 1; i < len(block); i++ {
			k := keyOf(&block[i])
			gap := k - previous - least
			previous = k
			for gap >= 0x80 {
				b[n] = byte(gap) | 0x80
				gap >>= 7
				n++
			}
			b[n] = byte(gap)
			n++
		}
		e.bytes = b[:n]
		if pairs, ok := any(block).([]Pair); ok {
			e.bytes = appendValues(e.bytes, pairs)
		}
		e.blocks.add(first, int64(begin), int32(len(block)))
	}
}

func appendValues(dst []byte, pairs []Pair) []byte {
	other := func(p Pair) bool { return p.Value != pairs[0].Value }
	if !slices.ContainsFunc(pairs, other) {
		pairs = pairs[:1]
	}
	for _, p := range pairs {
		dst = binary.LittleEndian.AppendUint32(dst, p.Value)
	}
	return dst
}

// chooseCuts divides the numbers of all runs into ranges of about s.reading of them, and returns the least of each.
func (s *Numbers[T]) chooseCuts() []uint64 {
	var blocks []Pair // the first number of each, with how many there are
	for _, r := range s.runs {
		for b, first := range r.First {
			blocks = append(blocks, Pair{first, uint32(r.Count[b])})
		}
	}
	slices.SortFunc(blocks, func(a, b Pair) int { return cmp.Compare(a.Key, b.Key) })
	cuts := []uint64{0}
	count := 0
	for _, b := range blocks {
		if least := b.Key &^ 1; count >= s.reading && least > cuts[len(cuts)-1] {
			cuts = append(cuts, least)
			count = 0
		}
		count += int(b.Value)
	}
	return cuts
}

// readRange returns the numbers of range i of all runs, ascending and distinct, in m.
func (s *Numbers[T]) readRange(m *rangeMemory[T], i int) ([]T, error) {
	least, greatest := s.cuts[i], ^uint64(0)
	if i+1 < len(s.cuts) {
		greatest = s.cuts[i+1] - 1
	}
	most := 0
	for _, r := range s.runs {
		from, to := r.overlapping(least, greatest, leastGap[T]())
		for _, count := range r.Count[from:to] {
			most += int(count)
		}
	}
	if most > len(m.keys.Data) {
		if err := m.keys.Free(); err != nil {
			return nil, err
		}
		var err error
		if m.keys, err = offheap.New[T](most + most/8); err != nil {
			return nil, err
		}
	}
	n := 0
	for _, r := range s.runs {
		from, to := r.overlapping(least, greatest, leastGap[T]())
		keys, err := s.readBlocks(m, r, from, to, m.keys.Data[n:])
		if err != nil {
			return nil, readError(s.file.file.Name(), err)
		}
		first := sort.Search(len(keys), func(i int) bool { return keyOf(&keys[i]) >= least })
		past := sort.Search(len(keys), func(i int) bool { return keyOf(&keys[i]) > greatest })
		n += copy(m.keys.Data[n:], keys[first:past])
	}
	keys := m.keys.Data[:n]
	if len(s.runs) > 1 {
		sortKeys(keys, m.scratch)
		keys = distinct(keys)
	}
	return keys, nil
}

// overlapping returns the blocks that may hold numbers from least to greatest, which differ by leastGap at least.
func (r *storedRun) overlapping(least, greatest, leastGap uint64) (from, to int) {
	from = sort.Search(len(r.First), func(b int) bool { return r.First[b] >= least+leastGap })
	to = sort.Search(len(r.First), func(b int) bool { return r.First[b] > greatest })
	return max(from-1, 0), to
}

// blockEnd is where block b ends in the file.
func (r *storedRun) blockEnd(b int) int64 {
	if b+1 < len(r.Offset) {
		return r.Offset[b+1]
	}
	return r.End
}

// readBlocks decodes the blocks from ≤ b < to into the beginning of keys.
func (s *Numbers[T]) readBlocks(m *rangeMemory[T], r *storedRun, from, to int, keys []T) ([]T, error) {
	if from >= to {
		return nil, nil
	}
	begin, n := r.Offset[from], 0
	size := int(r.blockEnd(to-1) - begin)
	m.bytes = slices.Grow(m.bytes[:0], size)[:size]
	if _, err := s.file.file.ReadAt(m.bytes, begin); err != nil {
		return nil, err
	}
	for b := from; b < to; b++ {
		count := int(r.Count[b])
		if err := decodeBlock(keys[n:n+count], r.First[b], m.bytes[r.Offset[b]-begin:r.blockEnd(b)-begin]); err != nil {
			return nil, err
		}
		n += count
	}
	return keys[:n], nil
}

// decodeBlock fills keys with the numbers of a block.
func decodeBlock[T Number](keys []T, first uint64, block []byte) error {
	const high = 0x8080808080808080
	least := leastGap[T]()
	setKey(&keys[0], first)
	at, i, last := 0, 1, first
	for ; i < len(keys) && at+8 <= len(block); i++ {
		w := binary.LittleEndian.Uint64(block[at:])
		stop := ^w & high
		if stop == 0 {
			break
		}
		w &= stop ^ (stop - 1) // up to the first byte that ends a number
		at += bits.TrailingZeros64(stop)>>3 + 1
		// Pairs of seven bits become fourteen, then 28, then 56.
		w = w&0x007f007f007f007f | w&0x7f007f007f007f00>>1
		w = w&0x00003fff00003fff | w&0x3fff00003fff0000>>2
		w = w&0x000000000fffffff | w&0x0fffffff00000000>>4
		last += w + least
		setKey(&keys[i], last)
	}
	for ; i < len(keys); i++ {
		gap, n := binary.Uvarint(block[at:])
		if n <= 0 {
			return io.ErrUnexpectedEOF
		}
		at += n
		last += gap + least
		setKey(&keys[i], last)
	}
	if pairs, ok := any(keys).([]Pair); ok {
		return decodeValues(pairs, block[at:])
	}
	if at != len(block) {
		return fmt.Errorf("a block of %d numbers has %d bytes too many", len(keys), len(block)-at)
	}
	return nil
}

func decodeValues(pairs []Pair, block []byte) error {
	const size = 4
	step := size
	switch len(block) {
	case size * len(pairs):
	case size:
		step = 0
	default:
		return fmt.Errorf("a block of %d pairs has %d bytes of values", len(pairs), len(block))
	}
	for i := range pairs {
		pairs[i].Value = binary.LittleEndian.Uint32(block[step*i:])
	}
	return nil
}
