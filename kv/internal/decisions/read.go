package decisions

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// Open opens the file, to append to it once Scan has found it whole or Cut has cut it, or only to read what it has
// now, also if it is replaced or appended to meanwhile. A file that is missing, or damaged at its head, or another
// store's, is an ErrCorrupt.
func Open(dir, store string, readOnly bool) (*Log, error) {
	l, how := &Log{path: filepath.Join(dir, FileName)}, os.O_RDWR
	if readOnly {
		how = os.O_RDONLY
	}
	var err error
	if l.file, err = os.OpenFile(l.path, how, 0); errors.Is(err, os.ErrNotExist) {
		return nil, record.CorruptFile(l.path, "it is missing")
	} else if err != nil {
		return nil, err
	}
	if err := l.readHead(store); err != nil {
		return nil, errors.Join(err, l.file.Close())
	}
	return l, nil
}

// readHead reads what the file begins with. All that follows counts as frames at first.
func (l *Log) readHead(store string) error {
	info, err := l.file.Stat()
	if err != nil {
		return err
	}
	l.end = info.Size()
	l.begin, err = l.read(0, &l.head)
	switch {
	case err != nil:
		return err
	case l.begin == 0 || l.head.Anew < l.begin:
		return record.CorruptFile(l.path, "its head is damaged")
	case l.head.Store != store:
		return record.CorruptFile(l.path, "it has the decisions of the store %s", l.head.Store)
	case l.end < l.head.Anew:
		return record.CorruptFile(l.path, "it has %d bytes, and was made with %d", l.end, l.head.Anew)
	}
	l.last = l.head.Base
	return nil
}

// ErrTorn is returned beside an ErrCorrupt if no whole frame follows what is damaged, as after a crash: nobody was
// told that it is durable.
var ErrTorn = errors.New("no whole part follows")

// Scan calls visit with each whole frame, in order, also after what is damaged: with all that the file had when it
// was opened, or with those since it was written anew. The first damage is an ErrCorrupt in the end.
func (l *Log) Scan(all bool, visit func(Frame) error) (damage error) {
	at := l.begin
	if !all {
		at = l.head.Anew
	}
	for at < l.end {
		var f Frame
		next, err := l.read(at, &f)
		if err == nil && next > 0 {
			l.last = f.Last
			err = visit(f)
		} else if err == nil {
			found := record.CorruptFile(l.path, "from byte %d it is cut off or overwritten", at)
			if next, err = l.find(at + 1); err == nil && next == 0 {
				found = fmt.Errorf("%w: %w", found, ErrTorn)
				next, l.end = l.end, at
			}
			damage = cmp.Or(damage, found)
		}
		if err != nil {
			return err
		}
		at = next
	}
	return damage
}

// Cut cuts the end off that Scan has found torn.
func (l *Log) Cut() error { return errors.Join(l.file.Truncate(l.end), l.file.Sync()) }

// read reads the body of the frame at a place, and returns where the frame ends, zero if there is no whole one.
func (l *Log) read(at int64, body any) (end int64, err error) {
	begin, err := l.bytes(at, frameHead)
	if begin == nil || binary.BigEndian.Uint32(begin) != frameMark {
		return 0, err
	}
	frame, err := l.bytes(at, frameHead+int64(binary.BigEndian.Uint32(begin[4:])))
	if frame == nil || binary.BigEndian.Uint32(frame[8:]) != sumOf(at, frame) ||
		msgpack.Unmarshal(frame[frameHead:], body) != nil {
		return 0, err
	}
	return at + int64(len(frame)), nil
}

// bytes reads n bytes from a place on, nil if the file has not so many.
func (l *Log) bytes(at, n int64) ([]byte, error) {
	if at+n > l.end {
		return nil, nil
	}
	b := make([]byte, n)
	if _, err := l.file.ReadAt(b, at); err != nil {
		return nil, err
	}
	return b, nil
}

// find is the place of the first whole frame from a place on, zero for none.
func (l *Log) find(at int64) (int64, error) {
	r := bufio.NewReaderSize(io.NewSectionReader(l.file, at, l.end-at), 1<<20)
	for {
		mark, err := r.Peek(4)
		if errors.Is(err, io.EOF) {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		if binary.BigEndian.Uint32(mark) == frameMark {
			if end, err := l.read(at, new(Frame)); end > 0 || err != nil {
				return at, err
			}
		}
		if _, err := r.Discard(1); err != nil {
			return 0, err
		}
		at++
	}
}
