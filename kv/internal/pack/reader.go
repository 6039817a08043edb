package pack

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/dgraph-io/badger/v4/fb"
	"github.com/dgraph-io/badger/v4/pb"
	"github.com/dgraph-io/badger/v4/y"
	"github.com/dgraph-io/ristretto/v2/z"
	"google.golang.org/protobuf/proto"

	"github.com/graphcleaner/graphcleaner/internal/crc32c"
	"github.com/graphcleaner/graphcleaner/internal/mapped"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// A Reader reads one of Badger's tables, whose form Writer describes, block by block, and trusts none of its
// bytes.
type Reader struct {
	Mark  storedir.Mark // of the file
	Path  string
	Data  []byte // the file, mapped
	index *fb.TableIndex
	count int // of blocks
}

// Open maps a table and checks its index; damage to that is an ErrCorrupt.
func Open(path string) (*Reader, error) {
	t, err := Map(path)
	if err != nil {
		return nil, err
	}
	if err := t.parse(); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// Map maps a table, and reads nothing of it.
func Map(path string) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return mapOpened(path, f)
}

// mapOpened is Map of a file, which it closes.
func mapOpened(path string, f *os.File) (t *Reader, err error) {
	defer func() { err = errors.Join(err, f.Close()) }() // the pages stay mapped
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	mark := storedir.MarkOf(info)
	if mark.Size == 0 {
		return nil, record.CorruptFile(path, "it is empty") // and cannot be mapped
	}
	data, err := z.Mmap(f, false, mark.Size)
	if err != nil {
		return nil, &fs.PathError{Op: "mmap", Path: path, Err: err}
	}
	return &Reader{Path: path, Mark: mark, Data: data}, nil
}

// Close ends the mapping.
func (t *Reader) Close() error { return z.Munmap(t.Data) }

// parse finds the index, asks the system for all of it at once, and compares its checksum.
func (t *Reader) parse() error {
	return GuardFile(t.Path, func() error {
		at, to, sum, ok := FindIndex(t.Data)
		if !ok {
			return errors.New("it does not end with an index")
		}
		mapped.WillRead(t.Data, at, to)
		if crc32c.Of(t.Data[at:to]) != sum {
			return errors.New("the checksum of its index does not match")
		}
		t.index = fb.GetRootAsTableIndex(t.Data[at:to], 0)
		if t.count = t.index.OffsetsLength(); t.count == 0 {
			return errors.New("it has no blocks")
		}
		return nil
	})
}

// FindIndex is from where to where the index of a table lies, and its checksum, false if the table does not end with
// one.
func FindIndex(data []byte) (from, to int, sum uint32, ok bool) {
	body, sum, ok := CutChecksum(data)
	if !ok {
		return 0, 0, 0, false
	}
	body, index, ok := cutLast(body)
	return len(body), len(body) + len(index), sum, ok
}

// CutChecksum cuts off the checksum that appendChecksum appends.
func CutChecksum(data []byte) (body []byte, sum uint32, ok bool) {
	body, text, ok := cutLast(data)
	var c pb.Checksum
	if !ok || proto.Unmarshal(text, &c) != nil || c.Algo != pb.Checksum_CRC32C || c.Sum>>32 != 0 {
		return nil, 0, false
	}
	return body, uint32(c.Sum), true
}

// cutLast cuts off the last piece of something, the length of which follows it.
func cutLast(data []byte) (body, last []byte, ok bool) {
	if len(data) < 4 {
		return nil, nil, false
	}
	length := int64(binary.BigEndian.Uint32(data[len(data)-4:]))
	data = data[:len(data)-4]
	if length > int64(len(data)) {
		return nil, nil, false
	}
	at := int64(len(data)) - length
	return data[:at], data[at:], true
}

// Blocks is the number of blocks.
func (t *Reader) Blocks() int { return t.count }

// Place is where block i lies in the file. An index that points beyond it is an ErrCorrupt.
func (t *Reader) Place(i int) (from, to int, err error) {
	err = GuardFile(t.Path, func() error {
		var at fb.BlockOffset
		if !t.index.Offsets(&at, i) {
			return fmt.Errorf("it has no block %d", i)
		}
		from, to = int(at.Offset()), int(at.Offset())+int(at.Len())
		if to > len(t.Data) {
			return fmt.Errorf("block %d ends at byte %d of %d", i, to, len(t.Data))
		}
		return nil
	})
	return from, to, err
}

// firstMapped is the first key of block i, with its version, mapped. The caller guards it.
func (t *Reader) firstMapped(i int) ([]byte, error) {
	var at fb.BlockOffset
	if !t.index.Offsets(&at, i) || len(at.KeyBytes()) < 8 {
		return nil, fmt.Errorf("block %d has no key", i)
	}
	return at.KeyBytes(), nil
}

// Verify compares the checksum of block i.
func (t *Reader) Verify(i int) error {
	from, to, err := t.Place(i)
	if err != nil {
		return err
	}
	return GuardFile(t.Path, func() error {
		if IsSound(t.Data[from:to]) {
			return nil
		}
		key, err := t.firstMapped(i)
		if err != nil {
			return err
		}
		return fmt.Errorf("the checksum of block %d, %d bytes from byte %d, does not match; it begins with %s",
			i, to-from, from, record.Describe(y.ParseKey(key)))
	})
}

// Block returns the entries of block i, whose checksum must match.
func (t *Reader) Block(i int) ([]Entry, error) {
	if err := t.Verify(i); err != nil {
		return nil, err
	}
	from, to, err := t.Place(i)
	if err != nil {
		return nil, err
	}
	entries, count := Entries(t.Data[from:to])
	if count == 0 || len(entries) != count {
		return nil, record.CorruptFile(t.Path, "block %d says that it has %d entries, and has %d", i, count, len(entries))
	}
	return entries, nil
}

// IsSound reports whether the checksum of a block matches.
func IsSound(block []byte) bool {
	body, sum, ok := CutChecksum(block)
	return ok && crc32c.Of(body) == sum
}

// A Entry is an entry of a block. Its value is borrowed.
type Entry struct {
	Key   []byte // with its version
	Value y.ValueStruct
}

// Index is the index, mapped. Who reads it guards that.
func (t *Reader) Index() *fb.TableIndex { return t.index }

// cutBlock returns the entries of a block, and where each begins, false if it does not say. It does not look at the
// checksum.
func cutBlock(block []byte) (entries, starts []byte, ok bool) {
	body, _, ok := cutLast(block)
	if !ok || len(body) < 4 {
		return nil, nil, false
	}
	n := 4 * int64(binary.BigEndian.Uint32(body[len(body)-4:]))
	body = body[:len(body)-4]
	if n > int64(len(body)) {
		return nil, nil, false
	}
	at := int64(len(body)) - n
	return body[:at], body[at:], true
}

// bounds is from where to where an entry of a block lies.
func bounds(entries, starts []byte, i int) (from, to int) {
	from, to = int(binary.NativeEndian.Uint32(starts[4*i:])), len(entries)
	if 4*i+4 < len(starts) {
		to = int(binary.NativeEndian.Uint32(starts[4*i+4:]))
	}
	return from, to
}

// entryHeader is the size of the two lengths that an entry begins with.
const entryHeader = 4

// entryLengths are how many bytes of its key an entry shares with the first of its block, and how many follow.
func entryLengths(entry []byte) (overlap, rest int) {
	return int(binary.NativeEndian.Uint16(entry)), int(binary.NativeEndian.Uint16(entry[2:]))
}

// Entries returns the entries of a block that can be told apart, and how many it says that it has; zero if it does not
// say.
func Entries(block []byte) (entries []Entry, count int) {
	if _, _, ok := CutChecksum(block); !ok {
		return nil, 0
	}
	body, starts, ok := cutBlock(block)
	if !ok {
		return nil, 0
	}
	count = len(starts) / 4
	var base []byte
	for i := range count {
		from, to := bounds(body, starts, i)
		if from > to || to > len(body) {
			continue
		}
		e, ok := parseEntry(body[from:to], base)
		if i == 0 && ok {
			base = e.Key
		}
		if ok {
			entries = append(entries, e)
		}
	}
	return entries, count
}

func parseEntry(b, base []byte) (e Entry, ok bool) {
	const version, least = 8, 3
	if len(b) < entryHeader {
		return e, false
	}
	overlap, rest := entryLengths(b)
	if overlap > len(base) || overlap+rest <= version || entryHeader+rest+least > len(b) {
		return e, false
	}
	e.Key = append(append([]byte(nil), base[:overlap]...), b[entryHeader:entryHeader+rest]...)
	value := b[entryHeader+rest:]
	if _, n := binary.Uvarint(value[2:]); n <= 0 {
		return e, false
	}
	e.Value.Decode(value)
	return e, true
}

// readAtRandom tells the system that little of a mapped file is read: it would else read megabytes around each page
// that is touched.
func readAtRandom(data []byte) { z.Madvise(data, false) } //nolint:errcheck // it saves time only
