// Package journal keeps what was written in order, in files that are only appended to. Each frame of entries has a checksum,
// so that a reader tells a whole frame from a damaged one. It knows nothing of the store whose journal it is.
//
// A journal is the files NAME-000001.log, NAME-000002.log and so on, its segments, in one directory. Frames are
// appended to the last; the oldest are removed once they are no longer needed. A segment is
//
//	mark      "gcjrnl01"
//	sequence  uint64   its number, as in the name of its file
//	base      uint64   the number of the last commit before it
//	before    uint64   how many bytes the segment before it has, zero if it goes on from none
//	store     16 bytes whose journal it is
//	checksum  uint32   CRC-32C of the above
//
// and then frames, and in the last segment, while it is appended to or after a crash, zeros that are reserved for more:
//
//	mark      uint32
//	length    uint32   of the body, in bytes
//	number    uint64   of the commit; of data, the number of the commit that it precedes
//	kind      uint8    Commit, Data, or 2 for a commit that is synced with the one before it
//	checksum  uint32   CRC-32C of the sequence, the place of the frame in its file, the above, and the body
//	body      entries: length of the key, key, one more than the length of the value, value; zero for a deletion
//
// Numbers are big-endian, lengths in a body varints. Commits are numbered 1, 2, 3 and so on over the life of the store. As
// a frame's checksum covers its place, bytes of a frame inside a value are never taken for a frame.
package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/internal/crc32c"
)

// A Kind says what a Frame is.
type Kind uint8

// The kinds of frames.
const (
	Commit Kind = iota // one transaction
	Data               // what a later transaction makes visible
	joined             // in a file: a Commit that is synced with the frame before it
)

// An Entry is a key with its value, nil if the key is deleted.
type Entry struct{ Key, Value []byte }

// A Frame is what was appended at once.
type Frame struct {
	Number uint64
	Kind   Kind
	Body   []byte

	joined bool // a Commit that is synced with the frame before it
}

// A Store is the identity of a store.
type Store [16]byte

const (
	segmentMark  = "gcjrnl01"
	segmentHead  = len(segmentMark) + 8 + 8 + 8 + 16 + 4
	frameMark    = 0x9e4a7c0d
	frameHead    = 4 + 4 + 8 + 1 + 4
	largestFrame = 1 << 28 // of a body, in bytes
)

// errEntry is the error of a body that is not one.
var errEntry = errors.New("journal: an entry is cut off")

// Entries yields the entries of a frame, borrowed from its body.
func (f Frame) Entries() iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for b := f.Body; len(b) > 0; {
			var e Entry
			var ok bool
			if e.Key, b, ok = cut(b, 0); ok {
				e.Value, b, ok = cut(b, 1)
			}
			if !ok {
				yield(Entry{}, errEntry)
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// cut takes from b a length that is more by something, and as many bytes; nil if the length is less than that.
func cut(b []byte, more uint64) (piece, rest []byte, ok bool) {
	length, n := binary.Uvarint(b)
	if n <= 0 {
		return nil, nil, false
	}
	b = b[n:]
	if length < more {
		return nil, b, true
	}
	if length -= more; length > uint64(len(b)) {
		return nil, nil, false
	}
	return b[:length:length], b[length:], true
}

// appendFrame appends the frame of entries to dst, for a place in a segment.
func appendFrame(dst []byte, sequence uint64, at int64, number uint64, kind Kind, entries []Entry) ([]byte, error) {
	begin := len(dst)
	dst = append(dst, make([]byte, frameHead)...)
	for _, e := range entries {
		dst = binary.AppendUvarint(dst, uint64(len(e.Key)))
		dst = append(dst, e.Key...)
		if e.Value == nil {
			dst = binary.AppendUvarint(dst, 0)
			continue
		}
		dst = binary.AppendUvarint(dst, uint64(len(e.Value))+1)
		dst = append(dst, e.Value...)
	}
	frame := dst[begin:]
	length := len(frame) - frameHead
	if length > largestFrame {
		return nil, fmt.Errorf("journal: a frame of %d bytes, want at most %d", length, largestFrame)
	}
	binary.BigEndian.PutUint32(frame, frameMark)
	binary.BigEndian.PutUint32(frame[4:], uint32(length))
	binary.BigEndian.PutUint64(frame[8:], number)
	frame[16] = byte(kind)
	binary.BigEndian.PutUint32(frame[17:], frameSum(sequence, at, frame))
	return dst, nil
}

// frameSum is the checksum of a frame with its body.
func frameSum(sequence uint64, at int64, frame []byte) uint32 {
	var place [16]byte
	binary.BigEndian.PutUint64(place[:], sequence)
	binary.BigEndian.PutUint64(place[8:], uint64(at))
	sum := crc32c.Update(0, place[:])
	sum = crc32c.Update(sum, frame[:17])
	return crc32c.Update(sum, frame[frameHead:])
}

// A Segment is one file of a journal.
type Segment struct {
	Path     string
	Sequence uint64
	Base     uint64 // the number of the last commit before it
	Last     uint64 // the number of its last commit; Base if it has none
	Before   int64  // where the segment before it ends, zero if it goes on from none
	Store    Store
	End      int64 // where its last frame ends
}

func segmentPath(dir, name string, sequence uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%s-%06d.log", name, sequence))
}

// appendHead appends what a segment begins with.
func (s *Segment) appendHead(b []byte) []byte {
	begin := len(b)
	b = append(b, segmentMark...)
	b = binary.BigEndian.AppendUint64(b, s.Sequence)
	b = binary.BigEndian.AppendUint64(b, s.Base)
	b = binary.BigEndian.AppendUint64(b, uint64(s.Before))
	b = append(b, s.Store[:]...)
	return binary.BigEndian.AppendUint32(b, crc32c.Of(b[begin:]))
}

// parseHead reads what a segment begins with; false if it is damaged.
func (s *Segment) parseHead(b []byte) bool {
	if len(b) != segmentHead || string(b[:len(segmentMark)]) != segmentMark {
		return false
	}
	if binary.BigEndian.Uint32(b[segmentHead-4:]) != crc32c.Of(b[:segmentHead-4]) {
		return false
	}
	sequence := binary.BigEndian.Uint64(b[len(segmentMark):])
	s.Base = binary.BigEndian.Uint64(b[len(segmentMark)+8:])
	s.Before = int64(binary.BigEndian.Uint64(b[len(segmentMark)+16:]))
	s.Store = Store(b[len(segmentMark)+24:])
	s.Last, s.End = s.Base, int64(segmentHead)
	return sequence == s.Sequence
}

// Files are the paths of the segments of a journal, in their order.
func Files(dir, name string) ([]string, error) {
	segments, err := list(dir, name)
	paths := make([]string, len(segments))
	for i, s := range segments {
		paths[i] = s.Path
	}
	return paths, err
}

func list(dir, name string) ([]Segment, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var segments []Segment
	for _, entry := range entries {
		text, ok := strings.CutPrefix(entry.Name(), name+"-")
		if !ok {
			continue
		}
		if text, ok = strings.CutSuffix(text, ".log"); !ok {
			continue
		}
		sequence, err := strconv.ParseUint(text, 10, 64)
		if path := segmentPath(dir, name, sequence); err == nil && filepath.Base(path) == entry.Name() {
			segments = append(segments, Segment{Path: path, Sequence: sequence})
		}
	}
	slices.SortFunc(segments, func(a, b Segment) int {
		if a.Sequence < b.Sequence {
			return -1
		}
		return 1
	})
	return segments, nil
}
