// Package decisions keeps what people decided a second time, in a file that is only appended to. Each frame has a
// checksum, so that a reader tells a whole one from a damaged one. It knows nothing of stores.
//
// The file is
//
//	mark      "gcdecis1"
//	store     16 bytes: whose decisions they are
//	base      uint64   the number of the commit with which it was written anew
//	anew      uint64   how many bytes it had then
//	checksum  uint32   CRC-32C of the above
//
// and then frames. Those that were written anew have the number of the base. Any other holds all that was committed
// at once.
//
//	mark      uint32
//	length    uint32   of the body, in bytes
//	first     uint64   the number of its first commit
//	last      uint64   the number of its last
//	checksum  uint32   CRC-32C of the place of the frame in the file, the above, and the body
//	body      entries: the length of the name, the name, the length of the key, the key, one more than the length of the value, the
//	          value; zero for a deletion
//
// Numbers are big-endian, lengths in a body varints.
package decisions

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"

	"github.com/graphcleaner/graphcleaner/internal/crc32c"
	"github.com/graphcleaner/graphcleaner/internal/durable"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// FileName is the name of the file.
const FileName = "decisions.log"

// draftName is the name of a file that is to replace it. The next open of a store removes it.
const draftName = "spill-decisions.tmp"

// An Entry is a key with its value, nil if the key is deleted. It is a decision if it has a Name. An entry without
// one was committed with decisions.
type Entry struct {
	Name       string
	Key, Value []byte
}

// A Frame is what was written at once, of the commits from First to Last.
type Frame struct {
	First, Last uint64
	end         int64 // where it ends in the file
	body        []byte
}

// A Store is the identity of a store.
type Store [16]byte

const (
	headMark   = "gcdecis1"
	headSize   = len(headMark) + 16 + 8 + 8 + 4
	frameMark  = 0x9e4a7c0e
	frameHead  = 4 + 4 + 8 + 8 + 4
	mostBody   = 1 << 28 // bytes of a body
	frameBytes = 256 << 10
)

// errEntry is the error of a body that is not one.
var errEntry = errors.New("decisions: an entry is cut off")

// Entries yields the entries of a frame, borrowed.
func (f Frame) Entries() iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		r := reader{rest: f.body}
		for len(r.rest) > 0 {
			e := Entry{Name: string(r.piece(0)), Key: r.piece(0), Value: r.piece(1)}
			if r.failed {
				yield(Entry{}, errEntry)
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// A reader cuts a body into pieces.
type reader struct {
	rest   []byte
	failed bool
}

// piece takes a length that is more by something, and as many bytes; nil if the length is less than that.
func (r *reader) piece(more uint64) []byte {
	length, n := binary.Uvarint(r.rest)
	if n <= 0 || length >= more && length-more > uint64(len(r.rest)-n) {
		r.failed, r.rest = true, nil
		return nil
	}
	r.rest = r.rest[n:]
	if length < more {
		return nil
	}
	piece := r.rest[: length-more : length-more]
	r.rest = r.rest[length-more:]
	return piece
}

func appendEntry(b []byte, e Entry) []byte {
	for _, piece := range [][]byte{[]byte(e.Name), e.Key} {
		b = append(binary.AppendUvarint(b, uint64(len(piece))), piece...)
	}
	if e.Value == nil {
		return binary.AppendUvarint(b, 0)
	}
	return append(binary.AppendUvarint(b, uint64(len(e.Value))+1), e.Value...)
}

// A Log is a file that is appended to. One goroutine at a time.
type Log struct {
	path    string
	store   Store
	file    *os.File
	base    uint64
	last    uint64 // commit of the last frame, or the base
	anew    int64  // how many bytes were written anew
	end     int64  // where the last frame ends
	buf     []byte
	failure error
}

// Create writes a file anew, with the decisions that all yields, as they are after a commit. It replaces one that is
// there.
func Create(dir string, store Store, commit uint64, all iter.Seq2[Entry, error]) (*Log, error) {
	l := &Log{path: filepath.Join(dir, FileName), store: store}
	return l, l.Renew(commit, all)
}

// Renew writes the file anew, as Create does, at once and durably. After an error it is as it was, unless Failed.
func (l *Log) Renew(commit uint64, all iter.Seq2[Entry, error]) error {
	draft := filepath.Join(filepath.Dir(l.path), draftName)
	file, err := os.OpenFile(draft, os.O_RDWR|os.O_CREATE|os.O_TRUNC, storedir.FileMode(storedir.Mode))
	if err != nil {
		return storedir.WrapFull(err)
	}
	anew := &Log{path: l.path, store: l.store, file: file, base: commit, last: commit}
	err = errors.Join(anew.fill(all), file.Close()) // some systems rename no file that is open, nor onto one
	if err != nil {
		return errors.Join(storedir.WrapFull(err), os.Remove(draft))
	}
	if l.file != nil {
		err = l.file.Close()
	}
	if err == nil {
		if err = os.Rename(draft, l.path); err != nil {
			err = errors.Join(err, os.Remove(draft))
		}
	}
	if err == nil {
		err = durable.SyncDirectory(filepath.Dir(l.path))
	}
	if err == nil {
		anew.file, err = os.OpenFile(l.path, os.O_RDWR, 0)
	}
	if err != nil {
		l.failure = err
		return err
	}
	*l = *anew
	return nil
}

// fill writes what a file begins with.
func (l *Log) fill(all iter.Seq2[Entry, error]) error {
	l.end = int64(headSize)
	var body []byte
	for e, err := range all {
		if err != nil {
			return err
		}
		if body = appendEntry(body, e); len(body) < frameBytes {
			continue
		}
		if err := l.write(l.base, l.base, body); err != nil {
			return err
		}
		body = body[:0]
	}
	if len(body) > 0 {
		if err := l.write(l.base, l.base, body); err != nil {
			return err
		}
	}
	l.anew = l.end
	head := append([]byte(headMark), l.store[:]...)
	head = binary.BigEndian.AppendUint64(head, l.base)
	head = binary.BigEndian.AppendUint64(head, uint64(l.anew))
	head = binary.BigEndian.AppendUint32(head, crc32c.Of(head))
	if _, err := l.file.WriteAt(head, 0); err != nil {
		return err
	}
	return l.file.Sync()
}

// write writes a frame at the end.
func (l *Log) write(first, last uint64, body []byte) error {
	if len(body) > mostBody {
		return fmt.Errorf("decisions: a frame of %d bytes, want at most %d", len(body), mostBody)
	}
	b := binary.BigEndian.AppendUint32(l.buf[:0], frameMark)
	b = binary.BigEndian.AppendUint32(b, uint32(len(body)))
	b = binary.BigEndian.AppendUint64(b, first)
	b = binary.BigEndian.AppendUint64(b, last)
	b = binary.BigEndian.AppendUint32(b, frameSum(l.end, b, body))
	b = append(b, body...)
	l.buf = b
	if _, err := l.file.WriteAt(l.buf, l.end); err != nil {
		return err
	}
	l.end, l.last = l.end+int64(len(l.buf)), last
	return nil
}

// frameSum is the checksum of a frame at a place, of which head is what comes before the checksum.
func frameSum(at int64, head, body []byte) uint32 {
	sum := crc32c.Update(0, binary.BigEndian.AppendUint64(nil, uint64(at)))
	return crc32c.Update(crc32c.Update(sum, head), body)
}

// Append appends all that is to be committed at once, and returns when it is durable. After an error it is not there.
func (l *Log) Append(first, last uint64, entries iter.Seq[Entry]) error {
	if l.failure != nil {
		return l.failure
	}
	var body []byte
	for e := range entries {
		body = appendEntry(body, e)
	}
	end, before := l.end, l.last
	err := l.write(first, last, body)
	if err == nil {
		if err = durable.SyncData(l.file); err == nil {
			return nil
		}
		l.failure = err // what was not written may be taken for written later
	}
	l.end, l.last = end, before
	if cutting := l.file.Truncate(end); cutting != nil {
		l.failure = cutting
	}
	return storedir.WrapFull(err)
}

// Failed is the error after which nothing can be appended.
func (l *Log) Failed() error { return l.failure }

// Last is the last commit of which the file has something, or the Base.
func (l *Log) Last() uint64 { return l.last }

// IsLong says whether the file is worth being written anew.
func (l *Log) IsLong() bool { return l.end > 2*l.anew+1<<18 }

// Close closes the file.
func (l *Log) Close() error { return l.file.Close() }
