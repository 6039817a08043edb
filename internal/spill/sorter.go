package spill

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"iter"
	"math/bits"
	"slices"
)

// A Record is a key with a value.
type Record struct{ Key, Value []byte }

// A Sorter sorts records by the bytes of their keys; records of equal keys stay in the order they were added.
type Sorter struct {
	dir     string
	limit   int64
	entries []entry  // not yet spilled
	scratch []entry  // of sorting them
	chunks  [][]byte // their keys and values
	bytes   int64    // bytes of entries and chunks
	first   []byte   // of the keys not yet spilled, the one added first
	common  int      // bytes at their beginning in which all of them agree
	sorted  bool
	file    *runFile // nil until something was spilled
	buf     []byte   // of the lengths before a record
	count   int64
	largest int // bytes of a record
}

// entry locates a record in a chunk: the key first, the value after it.
type entry struct {
	prefix uint64 // 8 bytes of the key after those common to all, or the bits of them that differ; set by sorting
	chunk  uint32
	offset uint32
	key    uint32
	value  uint32
}

// checkEvery is the number of records between two looks at the context.
const checkEvery = 1 << 12

const (
	entryBytes = 24
	chunkBytes = 1 << 20

	// minLimit is the memory of the buffers of the smallest merge: less memory would make many runs and save none.
	minLimit = 2 * minBuffer

	// maxRunRecords bounds a run, since nothing interrupts its sorting, which should be done well within a second.
	maxRunRecords = 1 << 21
)

// New returns a sorter that holds about limit bytes, or 8 KiB if that is more, and spills into a temporary file in dir.
func New(dir string, limit int64) *Sorter {
	return &Sorter{dir: dir, limit: max(limit, minLimit)}
}

// Limit is about how many bytes it holds.
func (s *Sorter) Limit() int64 { return s.limit }

// Len is the number of records added.
func (s *Sorter) Len() int64 { return s.count }

// AddUint64 adds a record whose key is the number's 8 bytes, big endian, which order as the numbers do.
func (s *Sorter) AddUint64(key uint64, value []byte) error {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], key)
	return s.Add(b[:], value)
}

// Add adds a record. It copies key and value.
func (s *Sorter) Add(key, value []byte) error {
	size := max(1, len(key)+len(value))
	// Three times an entry: the list of entries may be longer than what is in it, and sorting takes another.
	cost := int64(size) + 3*entryBytes
	if (s.bytes+cost > s.limit || len(s.entries) == maxRunRecords) && len(s.entries) > 0 {
		if err := s.spill(); err != nil {
			return err
		}
	}
	last := len(s.chunks) - 1
	if last < 0 || cap(s.chunks[last])-len(s.chunks[last]) < size {
		s.chunks = append(s.chunks, make([]byte, 0, max(size, min(chunkBytes, int(max(s.limit/8, minBuffer))))))
		last++
	}
	chunk := s.chunks[last]
	if len(s.entries) == 0 {
		s.first, s.common = append(s.first[:0], key...), len(key)
	}
	s.common = commonPrefix(s.first[:s.common], key)
	s.entries = append(s.entries, entry{
		chunk:  uint32(last),
		offset: uint32(len(chunk)),
		key:    uint32(len(key)),
		value:  uint32(len(value)),
	})
	chunk = append(append(chunk, key...), value...)
	if len(key)+len(value) == 0 {
		chunk = append(chunk, 0) // so that no two records begin at one place, by which equal keys are ordered
	}
	s.chunks[last] = chunk
	s.bytes += cost
	s.sorted = false
	s.count++
	s.largest = max(s.largest, size)
	return nil
}

func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// prefix is the first 8 bytes of the key, big endian, zeros after a shorter one.
func prefix(key []byte) uint64 {
	if len(key) >= 8 {
		return binary.BigEndian.Uint64(key)
	}
	var b [8]byte
	copy(b[:], key)
	return binary.BigEndian.Uint64(b[:])
}

// record locates the bytes of an entry.
func (s *Sorter) record(e entry) Record {
	b := s.chunks[e.chunk][e.offset:]
	return Record{b[:e.key:e.key], b[e.key : e.key+e.value : e.key+e.value]}
}

func (s *Sorter) sortEntries() {
	if s.sorted || len(s.entries) == 0 {
		return
	}
	// Most of the order is settled by 8 bytes that lie in the entry itself. Ids often begin alike, so these are the
	// first ones in which keys differ.
	for i := range s.entries {
		s.entries[i].prefix = prefix(s.record(s.entries[i]).Key[s.common:])
	}
	width := s.compressPrefixes()
	if cap(s.scratch) < len(s.entries) {
		s.scratch = make([]entry, len(s.entries))
	}
	sortLeaf(s.entries, s.scratch[:len(s.entries)], width)
	for begin, end := 0, 1; begin < len(s.entries); begin, end = end, end+1 {
		for end < len(s.entries) && s.entries[end].prefix == s.entries[begin].prefix {
			end++
		}
		if end > begin+1 {
			s.sortEqualPrefixes(s.entries[begin:end])
		}
	}
	s.sorted = true
}

// compressPrefixes takes the low bits in which all prefixes agree away. It returns how many bits are left to sort by.
func (s *Sorter) compressPrefixes() (width int) {
	first, differing := s.entries[0].prefix, uint64(0)
	for _, e := range s.entries {
		differing |= e.prefix ^ first
	}
	shift := bits.TrailingZeros64(differing)
	for i := range s.entries {
		s.entries[i].prefix >>= shift
	}
	return max(0, bits.Len64(differing)-shift)
}

// sortEqualPrefixes orders entries that the prefix does not tell apart.
func (s *Sorter) sortEqualPrefixes(entries []entry) {
	width, length := uint32(s.common)+8, entries[0].key
	if length <= width && !slices.ContainsFunc(entries, func(e entry) bool { return e.key != length }) {
		return // the keys are equal, and in the order of Add
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return bytes.Compare(s.record(a).Key, s.record(b).Key) })
}

func (s *Sorter) spill() error {
	s.sortEntries()
	if s.file == nil {
		f, err := createRunFile(s.dir, bufferSize(s.limit/16))
		if err != nil {
			return err
		}
		s.file = f
	}
	var length int64
	for _, e := range s.entries {
		n, err := s.writeRecord(s.file, s.record(e))
		if err != nil {
			return err
		}
		length += n
	}
	if err := s.file.endRun(length); err != nil {
		return err
	}
	s.entries, s.bytes = s.entries[:0], 0
	// One chunk of the common size is kept; longer ones, made for single records, are given back.
	s.chunks = slices.DeleteFunc(s.chunks, func(c []byte) bool { return cap(c) > chunkBytes })
	s.chunks = s.chunks[:min(1, len(s.chunks))]
	if len(s.chunks) == 1 {
		s.chunks[0] = s.chunks[0][:0]
	}
	return nil
}

// writeRecord writes the lengths of key and value as varints, then both, and returns the number of bytes.
func (s *Sorter) writeRecord(f *runFile, r Record) (int64, error) {
	s.buf = binary.AppendUvarint(s.buf[:0], uint64(len(r.Key)))
	s.buf = binary.AppendUvarint(s.buf, uint64(len(r.Value)))
	for _, b := range [][]byte{s.buf, r.Key, r.Value} {
		if err := f.write(b); err != nil {
			return 0, err
		}
	}
	return int64(len(s.buf) + len(r.Key) + len(r.Value)), nil
}

// Records yields every record added so far, ascending by key. The bytes are borrowed until the next step. It may be
// ranged over again, and records may be added between two rounds, not within one.
func (s *Sorter) Records(ctx context.Context) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(Record{}, err)
			return
		}
		s.sortEntries()
		if s.file == nil {
			for i, e := range s.entries {
				if i%checkEvery == 0 && ctx.Err() != nil {
					yield(Record{}, ctx.Err())
					return
				}
				if !yield(s.record(e), nil) {
					return
				}
			}
			return
		}
		if err := s.toDisk(ctx); err != nil {
			yield(Record{}, err)
			return
		}
		_, buffer := fanIn(s.limit, s.largest)
		done := 0
		err := mergeRecords(s.file, s.file.runs, buffer, func(r Record) error {
			if done++; done%checkEvery == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			if !yield(r, nil) {
				return errStopped
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStopped) {
			yield(Record{}, err)
		}
	}
}

// Close forgets the records and removes the temporary file. Closing twice is harmless.
func (s *Sorter) Close() error {
	s.entries, s.scratch, s.chunks, s.first, s.buf = nil, nil, nil, nil, nil
	if s.file == nil {
		return nil
	}
	f := s.file
	s.file = nil
	return f.remove()
}
