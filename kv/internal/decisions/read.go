package decisions

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/graphcleaner/graphcleaner/internal/crc32c"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// Open opens the file, to append to it after Since, or only to read it, also if it is replaced or appended to
// meanwhile. A file that is missing, or damaged at its head, or another store's, is an ErrCorrupt.
func Open(dir string, store Store, readOnly bool) (*Log, error) {
	l, how := &Log{path: filepath.Join(dir, FileName), store: store}, os.O_RDWR
	if readOnly {
		how = os.O_RDONLY
	}
	var err error
	if l.file, err = os.OpenFile(l.path, how, 0); errors.Is(err, os.ErrNotExist) {
		return nil, record.CorruptFile(l.path, "it is missing")
	} else if err != nil {
		return nil, err
	}
	if err := l.readHead(); err != nil {
		return nil, errors.Join(err, l.file.Close())
	}
	return l, nil
}

// readHead reads what the file begins with. All that follows counts as frames at first.
func (l *Log) readHead() error {
	b := make([]byte, headSize)
	if n, err := l.file.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	} else if n < headSize || string(b[:len(headMark)]) != headMark ||
		binary.BigEndian.Uint32(b[headSize-4:]) != crc32c.Of(b[:headSize-4]) {
		return record.CorruptFile(l.path, "its head is damaged")
	}
	if store := Store(b[len(headMark):]); store != l.store {
		return record.CorruptFile(l.path, "it has the decisions of the store %x", store)
	}
	l.base = binary.BigEndian.Uint64(b[len(headMark)+16:])
	l.anew = int64(binary.BigEndian.Uint64(b[len(headMark)+24:]))
	l.last = l.base
	info, err := l.file.Stat()
	if err != nil {
		return err
	}
	if l.end = info.Size(); l.end < l.anew {
		return record.CorruptFile(l.path, "it has %d bytes, and was made with %d", l.end, l.anew)
	}
	return nil
}

// Since returns the frames behind what was written anew that end with a commit or a later one. What is damaged is an
// ErrCorrupt, behind the frames before it; or, if cut is set and it is torn off, it is cut off.
func (l *Log) Since(commit uint64, cut bool) (later []Frame, err error) {
	for at := l.anew; at < l.end; {
		f, whole, err := l.frameAt(at)
		if err != nil {
			return later, err
		}
		if !whole {
			next, err := l.next(at + 1)
			if err != nil || !cut || next >= 0 {
				return later, cmp.Or(err, l.damaged(at, next))
			}
			l.end = at
			return later, errors.Join(l.file.Truncate(at), l.file.Sync())
		}
		if f.Last >= commit {
			later = append(later, f)
		}
		l.last, at = f.Last, f.end
	}
	return later, nil
}

// Scan calls visit with each whole frame that the file had when it was opened, in order, also behind what is damaged.
// The first damage is an ErrCorrupt in the end.
func (l *Log) Scan(visit func(Frame) error) (damage error) {
	for at := int64(headSize); 0 <= at && at < l.end; {
		f, whole, err := l.frameAt(at)
		next := f.end
		if err == nil && whole {
			err = visit(f)
		} else if err == nil {
			next, err = l.next(at + 1)
			damage = cmp.Or(damage, l.damaged(at, next))
		}
		if err != nil {
			return err
		}
		at = next
	}
	return damage
}

// frameAt reads the frame at a place, if there is a whole one.
func (l *Log) frameAt(at int64) (f Frame, whole bool, err error) {
	var head [frameHead]byte
	n, err := l.file.ReadAt(head[:], at)
	if err != nil && !errors.Is(err, io.EOF) {
		return f, false, err
	}
	length := int64(binary.BigEndian.Uint32(head[4:]))
	f.First, f.Last, f.end = binary.BigEndian.Uint64(head[8:]), binary.BigEndian.Uint64(head[16:]), at+frameHead+length
	if n < frameHead || binary.BigEndian.Uint32(head[:]) != frameMark || length > mostBody || f.end > l.end {
		return f, false, nil
	}
	f.body = make([]byte, length)
	if _, err := l.file.ReadAt(f.body, at+frameHead); err != nil {
		return f, false, err
	}
	return f, binary.BigEndian.Uint32(head[frameHead-4:]) == frameSum(at, head[:frameHead-4], f.body), nil
}

// ErrTorn is returned beside an ErrCorrupt if no whole frame follows what is damaged, as after a crash: nobody was told
// that it is durable.
var ErrTorn = errors.New("no whole part follows")

// damaged is the error of a file that has no whole frame at a place; next is the place of the one that follows, if any.
func (l *Log) damaged(at, next int64) error {
	damage := record.CorruptFile(l.path, "from byte %d it is cut off or overwritten", at)
	if next < 0 {
		return fmt.Errorf("%w: %w", damage, ErrTorn)
	}
	return damage
}

// window is how many bytes next looks at once.
const window = 1 << 20

// next is the place of the first whole frame from a place on; −1 for none.
func (l *Log) next(from int64) (int64, error) {
	mark := binary.BigEndian.AppendUint32(nil, frameMark)
	text := make([]byte, window)
	for ; l.end-from >= frameHead; from += window - int64(len(mark)) + 1 {
		n, err := l.file.ReadAt(text, from)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		for i := 0; ; i++ {
			found := bytes.Index(text[i:n], mark)
			if found < 0 {
				break
			}
			i += found
			if _, whole, err := l.frameAt(from + int64(i)); whole || err != nil {
				return from + int64(i), err
			}
		}
	}
	return -1, nil
}

// Path is where the file is.
func (l *Log) Path() string { return l.path }
