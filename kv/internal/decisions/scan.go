package decisions

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// Damage is a part of a file that cannot be read.
type Damage struct {
	At   int64
	What string
}

// Contents are what Scan has found.
type Contents struct {
	Path   string
	Known  bool // Store and Base are, as the head is whole
	Store  Store
	Base   uint64
	Last   uint64 // the last commit of a whole frame, or the Base
	End    int64  // where the last whole frame ends
	Damage []Damage
}

// A Reader reads a file as it is, also if it is replaced or appended to meanwhile.
type Reader struct {
	path string
	file *os.File
	size int64 // when it was opened
}

// Read opens the file to be scanned. A file that is missing is an ErrCorrupt.
func Read(dir string) (*Reader, error) {
	path := filepath.Join(dir, FileName)
	file, err := os.Open(path)
	if err != nil {
		return nil, missing(path, err)
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &Reader{path, file, info.Size()}, nil
}

// Close closes the file.
func (r *Reader) Close() error { return r.file.Close() }

// Scan calls visit, if not nil, with each whole frame, in order. Damage is no error: what follows it is visited too.
func (r *Reader) Scan(visit func(Frame) error) (*Contents, error) {
	c := &Contents{Path: r.path, End: min(int64(headSize), r.size)}
	h, err := readHead(r.file, r.path)
	if c.Known = err == nil; c.Known {
		c.Store, c.Base, c.Last = h.store, h.base, h.base
	} else {
		c.Damage = append(c.Damage, Damage{0, "its head is damaged"})
	}
	return c, r.scan(c, visit)
}

// scan goes on with a Scan from where the contents end.
func (r *Reader) scan(c *Contents, visit func(Frame) error) error {
	for at := c.End; at < r.size; {
		f, next, err := frameAt(r.file, at, r.size)
		if err != nil {
			return err
		}
		if next == 0 {
			c.Damage = append(c.Damage, Damage{at, fmt.Sprintf("from byte %d it is cut off or overwritten", at)})
			if at, err = search(r.file, at+1, r.size); err != nil || at < 0 {
				return err
			}
			continue
		}
		if visit != nil {
			if err := visit(f); err != nil {
				return err
			}
		}
		c.Last, c.End, at = max(c.Last, f.Last), next, next
	}
	return nil
}

// frameAt reads the frame at a place; next is where it ends, zero if there is none.
func frameAt(file io.ReaderAt, at, size int64) (f Frame, next int64, err error) {
	if size-at < frameHead {
		return f, 0, nil
	}
	var head [frameHead]byte
	if _, err := file.ReadAt(head[:], at); err != nil {
		return f, 0, err
	}
	length := int64(binary.BigEndian.Uint32(head[4:]))
	if binary.BigEndian.Uint32(head[:]) != frameMark || length > mostBody || length > size-at-frameHead {
		return f, 0, nil
	}
	f = Frame{binary.BigEndian.Uint64(head[8:]), binary.BigEndian.Uint64(head[16:]), at, make([]byte, length)}
	if _, err := file.ReadAt(f.body, at+frameHead); err != nil {
		return f, 0, err
	}
	if binary.BigEndian.Uint32(head[frameHead-4:]) != frameSum(at, head[:frameHead-4], f.body) {
		return f, 0, nil
	}
	return f, at + frameHead + length, nil
}

// searchWindow is how many bytes search looks at once.
const searchWindow = 1 << 20

// search returns the place of the first whole frame from a place on, -1 if there is none.
func search(file io.ReaderAt, from, size int64) (int64, error) {
	mark := binary.BigEndian.AppendUint32(nil, frameMark)
	window := make([]byte, searchWindow)
	for ; size-from >= int64(len(mark)); from += searchWindow - int64(len(mark)) + 1 {
		n, err := file.ReadAt(window, from)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		for i := 0; ; i++ {
			next := bytes.Index(window[i:n], mark)
			if next < 0 {
				break
			}
			i += next
			_, end, err := frameAt(file, from+int64(i), size)
			if err != nil || end > 0 {
				return from + int64(i), err
			}
		}
	}
	return -1, nil
}

// Corrupt is an ErrCorrupt if the file is damaged, or is not the one of a store.
func (c *Contents) Corrupt(store Store) error {
	switch {
	case len(c.Damage) > 0:
		return record.CorruptFile(c.Path, "%s", c.Damage[0].What)
	case c.Store != store:
		return foreign(c.Path, c.Store)
	}
	return nil
}

func foreign(path string, store Store) error {
	return record.CorruptFile(path, "it has the decisions of the store %x", store)
}

// Size is how many bytes the file had when it was opened.
func (r *Reader) Size() int64 { return r.size }
