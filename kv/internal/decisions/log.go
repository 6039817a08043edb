// Package decisions keeps people's decisions a second time, in a file that is only appended to. Each frame has a
// checksum, so that a reader tells a whole one from a damaged one. It knows nothing of stores.
//
// The file is frames, each
//
//	mark      uint32
//	length    uint32   of the body, in bytes
//	checksum  uint32   CRC-32C of the place of the frame in the file, the above, and the body
//	body      a head in the first frame, in any other a Frame, in msgpack
//
// Numbers are big-endian.
package decisions

import (
	"bytes"
	"encoding/binary"
	"errors"
	"iter"
	"os"
	"path/filepath"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/graphcleaner/graphcleaner/internal/crc32c"
	"github.com/graphcleaner/graphcleaner/internal/durable"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// FileName is the name of the file.
const FileName = "decisions.log"

// draftName is the name of a file that is to replace it. The next open of a store removes it.
const draftName = "spill-decisions.tmp"

// A head is the first part of the file. It takes as many bytes whatever its numbers are.
type head struct {
	Store string // whose decisions they are
	Base  uint64 // the commit with which the file was written anew
	Anew  int64  // how many bytes it had then
}

// A Frame has what was written at once: all that the commits from First to Last wrote, or a part of what the file was
// written anew with; then both are the number of that commit.
type Frame struct {
	First, Last uint64
	Entries     []Entry
}

// An Entry is a key with its value, nil if the key is deleted.
type Entry struct {
	_msgpack struct{} `msgpack:",as_array"` //nolint:unused // msgpack looks for it

	Key, Value []byte
}

const (
	frameMark  = 0x9e4a7c0f
	frameHead  = 4 + 4 + 4
	frameBytes = 256 << 10 // of keys and values in a frame that is written anew
)

// A Log is a file that is appended to. One goroutine at a time.
type Log struct {
	path    string
	file    *os.File
	head    head
	begin   int64  // where the head ends
	end     int64  // where the last frame ends
	last    uint64 // commit of the last frame, or the base
	failure error
}

// Create writes a file anew, with the decisions that all yields, as they are after a commit. It replaces one that is
// there.
func Create(dir, store string, commit uint64, all iter.Seq2[Entry, error]) (*Log, error) {
	l := &Log{path: filepath.Join(dir, FileName), head: head{Store: store}}
	return l, l.Renew(commit, all)
}

// Renew writes the file anew, as Create does, at once and durably. After an error it is as it was, unless Failed.
func (l *Log) Renew(commit uint64, all iter.Seq2[Entry, error]) error {
	draft := filepath.Join(filepath.Dir(l.path), draftName)
	file, err := os.OpenFile(draft, os.O_RDWR|os.O_CREATE|os.O_TRUNC, storedir.FileMode(storedir.Mode))
	if err != nil {
		return storedir.WrapFull(err)
	}
	anew := &Log{path: l.path, file: file, head: head{Store: l.head.Store, Base: commit}, last: commit}
	err = errors.Join(anew.fill(all), file.Close()) // some systems rename no file that is open, nor onto one
	if err != nil {
		return errors.Join(storedir.WrapFull(err), os.Remove(draft))
	}
	if l.file != nil {
		err = l.file.Close()
	}
	if err != nil {
		err = errors.Join(err, os.Remove(draft))
	} else {
		err = durable.Replace(draft, l.path)
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

// fill writes the beginning of a file.
func (l *Log) fill(all iter.Seq2[Entry, error]) (err error) {
	if l.begin, err = l.write(0, &l.head); err != nil {
		return err
	}
	l.end = l.begin
	f, size := Frame{First: l.head.Base, Last: l.head.Base}, 0
	flush := func() error {
		l.end, err = l.write(l.end, &f)
		f.Entries, size = f.Entries[:0], 0
		return err
	}
	for e, err := range all {
		if err != nil {
			return err
		}
		f.Entries = append(f.Entries, Entry{Key: bytes.Clone(e.Key), Value: e.Value})
		if size += len(e.Key) + len(e.Value); size >= frameBytes {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	l.head.Anew = l.end
	if _, err := l.write(0, &l.head); err != nil {
		return err
	}
	return l.file.Sync()
}

// write writes a frame at a place, and returns where it ends.
func (l *Log) write(at int64, body any) (end int64, err error) {
	var b bytes.Buffer
	b.Write(make([]byte, frameHead))
	if err := msgpack.NewEncoder(&b).Encode(body); err != nil {
		return at, err
	}
	frame := b.Bytes()
	binary.BigEndian.PutUint32(frame, frameMark)
	binary.BigEndian.PutUint32(frame[4:], uint32(len(frame)-frameHead))
	binary.BigEndian.PutUint32(frame[8:], sumOf(at, frame))
	_, err = l.file.WriteAt(frame, at)
	return at + int64(len(frame)), err
}

// sumOf is the checksum of a frame at a place.
func sumOf(at int64, frame []byte) uint32 {
	sum := crc32c.Update(0, binary.BigEndian.AppendUint64(nil, uint64(at)))
	return crc32c.Update(crc32c.Update(sum, frame[:8]), frame[frameHead:])
}

// Append appends all that is to be committed at once, and returns when it is durable. After an error it is not there.
func (l *Log) Append(f Frame) error {
	if l.failure != nil {
		return l.failure
	}
	end, err := l.write(l.end, &f)
	if err == nil {
		if err = durable.SyncData(l.file); err == nil {
			l.end, l.last = end, f.Last
			return nil
		}
		l.failure = err // what was not written may be taken for written later
	}
	if cutting := l.file.Truncate(l.end); cutting != nil {
		l.failure = cutting
	}
	return storedir.WrapFull(err)
}

// Failed is the error after which nothing can be appended.
func (l *Log) Failed() error { return l.failure }

// Last is the last commit of which the file has something, as far as it was read, or the one with which it was written
// anew.
func (l *Log) Last() uint64 { return l.last }

// IsLong says whether the file is worth being written anew.
func (l *Log) IsLong() bool { return l.end > 2*l.head.Anew+1<<18 }

// Path is where the file is.
func (l *Log) Path() string { return l.path }

// Close closes the file.
func (l *Log) Close() error { return l.file.Close() }
