package lsm

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/fb"
	"github.com/dgraph-io/badger/v4/pb"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"
	"github.com/dgraph-io/ristretto/v2/z"
	"google.golang.org/protobuf/proto"

	"github.com/graphcleaner/graphcleaner/internal/crc32c"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// A tableReader reads one of Badger's tables, whose form tableWriter describes, block by block, and trusts none of its
// bytes. Badger itself reads blocks without comparing their checksums: see badgerOptions.
type tableReader struct {
	path    string
	mark    storedir.Mark // of the file
	data    []byte        // the file, mapped
	index   *fb.TableIndex
	indexAt int // the byte at which the index begins
	count   int // of blocks
}

// openTableReader maps a table and checks its index; damage to that is an ErrCorrupt.
func openTableReader(path string) (*tableReader, error) {
	t, err := mapTable(path)
	if err != nil {
		return nil, err
	}
	if err := t.parse(false); err != nil {
		return nil, errors.Join(err, t.close())
	}
	return t, nil
}

// openManifest opens the manifest of an open database, for eachTable. Where an open file cannot be replaced it is errors.ErrUnsupported:
// Badger's own list of tables is to be used.
func openManifest(dir string) (*os.File, error) {
	if !storedir.HasLocks {
		return nil, errors.ErrUnsupported
	}
	return os.Open(filepath.Join(dir, badger.ManifestFilename))
}

// eachTable calls use with the tables that a manifest names, but for new ones that were merged since, and with the indexes of those that
// are new. Badger's own list reads in the index of every table, which is slow if they do not stay in memory.
func eachTable(manifest *os.File, isNew func(id uint64) bool, use func(id uint64, level uint8, index *fb.TableIndex)) error {
	named, cut, err := replayManifest(manifest)
	if err := cmp.Or(err, cut); err != nil {
		return err
	}
	for id, entry := range named.Tables {
		if !isNew(id) {
			use(id, entry.Level, nil)
			continue
		}
		path := table.NewFilename(id, filepath.Dir(manifest.Name()))
		err := useIndex(path, func(index *fb.TableIndex) { use(id, entry.Level, index) })
		if err != nil && !isBeingRemoved(path) {
			return err
		}
	}
	return nil
}

// isBeingRemoved says whether a table is gone, or empty: Badger makes a table empty before it removes it.
func isBeingRemoved(path string) bool {
	info, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0
}

// useIndex calls use with the index of a table.
func useIndex(path string, use func(index *fb.TableIndex)) (err error) {
	t, err := openTableReader(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	return guardFile(path, func() error {
		use(t.index)
		return nil
	})
}

// mapTable maps a table, and reads nothing of it.
func mapTable(path string) (*tableReader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return mapOpened(path, f)
}

// mapOpened is mapTable of a file, which it closes.
func mapOpened(path string, f *os.File) (t *tableReader, err error) {
	defer func() { err = errors.Join(err, f.Close()) }() // the pages stay mapped
	mark, err := storedir.MarkOfFile(f)
	if err != nil {
		return nil, err
	}
	if mark.Size == 0 {
		return nil, record.CorruptFile(path, "it is empty") // and cannot be mapped
	}
	data, err := z.Mmap(f, false, mark.Size)
	if err != nil {
		return nil, &fs.PathError{Op: "mmap", Path: path, Err: err}
	}
	return &tableReader{path: path, mark: mark, data: data}, nil
}

func (t *tableReader) close() error { return z.Munmap(t.data) }

// parse finds the index and compares its checksum. With ask the system is asked for the index first.
func (t *tableReader) parse(ask bool) error {
	return guardFile(t.path, func() error {
		at, to, sum, ok := tableIndex(t.data)
		if !ok {
			return errors.New("it does not end with an index")
		}
		if ask {
			willRead(t.data, at, to)
		}
		if crc32c.Of(t.data[at:to]) != sum {
			return errors.New("the checksum of its index does not match")
		}
		t.indexAt, t.index = at, fb.GetRootAsTableIndex(t.data[at:to], 0)
		if t.count = t.index.OffsetsLength(); t.count == 0 {
			return errors.New("it has no blocks")
		}
		return nil
	})
}

// tableIndex is from where to where the index of a table lies, and its checksum, false if the table does not end with one.
func tableIndex(data []byte) (from, to int, sum uint32, ok bool) {
	body, sum, ok := cutTableChecksum(data)
	if !ok || len(body) < 4 {
		return 0, 0, 0, false
	}
	to = len(body) - 4
	length := int64(binary.BigEndian.Uint32(body[to:]))
	if length > int64(to) {
		return 0, 0, 0, false
	}
	return to - int(length), to, sum, true
}

// cutTableChecksum cuts off what appendTableChecksum appends.
func cutTableChecksum(data []byte) (body []byte, sum uint32, ok bool) {
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

// blocks is the number of blocks.
func (t *tableReader) blocks() int { return t.count }

// place is where block i lies in the file. An index that points beyond it is an ErrCorrupt.
func (t *tableReader) place(i int) (from, to int, err error) {
	err = guardFile(t.path, func() error {
		var at fb.BlockOffset
		if !t.index.Offsets(&at, i) {
			return fmt.Errorf("it has no block %d", i)
		}
		from, to = int(at.Offset()), int(at.Offset())+int(at.Len())
		if to > len(t.data) {
			return fmt.Errorf("block %d ends at byte %d of %d", i, to, len(t.data))
		}
		return nil
	})
	return from, to, err
}

// first is the first key of block i, without its version.
func (t *tableReader) first(i int) (key []byte, err error) {
	err = guardFile(t.path, func() (err error) {
		key, err = t.firstMapped(i)
		key = bytes.Clone(y.ParseKey(key))
		return err
	})
	return key, err
}

// firstMapped is the first key of block i, with its version, mapped. The caller guards it.
func (t *tableReader) firstMapped(i int) ([]byte, error) {
	var at fb.BlockOffset
	if !t.index.Offsets(&at, i) || len(at.KeyBytes()) < 8 {
		return nil, fmt.Errorf("block %d has no key", i)
	}
	return at.KeyBytes(), nil
}

// verify compares the checksum of block i.
func (t *tableReader) verify(i int) error {
	from, to, err := t.place(i)
	if err != nil {
		return err
	}
	sound := false
	err = guardFile(t.path, func() error {
		sound = soundBlock(t.data[from:to])
		return nil
	})
	if err != nil || sound {
		return err
	}
	key, err := t.first(i)
	if err != nil {
		return err
	}
	return record.CorruptFile(t.path, "the checksum of block %d, %d bytes from byte %d, does not match; it begins with %s",
		i, to-from, from, record.Describe(key))
}

// soundBlock reports whether the checksum of a block matches.
func soundBlock(block []byte) bool {
	body, sum, ok := cutTableChecksum(block)
	return ok && crc32c.Of(body) == sum
}

// A tableEntry is an entry of a block. Its value is borrowed.
type tableEntry struct {
	key   []byte // with its version
	value y.ValueStruct
}

// cutBlock returns the entries of a block, and where each begins, false if it does not say. It does not look at the checksum.
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

// startOf is where entry i of a block begins.
func startOf(starts []byte, i int) int { return int(binary.NativeEndian.Uint32(starts[4*i:])) }

// entryHeader is the size of the two lengths that an entry begins with.
const entryHeader = 4

// entryLengths are how many bytes of its key an entry shares with the first of its block, and how many follow.
func entryLengths(entry []byte) (overlap, rest int) {
	return int(binary.NativeEndian.Uint16(entry)), int(binary.NativeEndian.Uint16(entry[2:]))
}

// blockEntries returns the entries of a block that can be told apart, and how many it says that it has; zero if it does not
// say.
func blockEntries(block []byte) (entries []tableEntry, count int) {
	if _, _, ok := cutTableChecksum(block); !ok {
		return nil, 0
	}
	body, starts, ok := cutBlock(block)
	if !ok {
		return nil, 0
	}
	n := int64(len(starts) / 4)
	start := func(i int64) int64 {
		if i == n {
			return int64(len(body))
		}
		return int64(startOf(starts, int(i)))
	}
	var base []byte
	for i := range n {
		from, to := start(i), start(i+1)
		if from > to || to > int64(len(body)) {
			continue
		}
		e, ok := parseEntry(body[from:to], base)
		if i == 0 && ok {
			base = e.key
		}
		if ok {
			entries = append(entries, e)
		}
	}
	return entries, int(n)
}

func parseEntry(b, base []byte) (e tableEntry, ok bool) {
	const version, least = 8, 3
	if len(b) < entryHeader {
		return e, false
	}
	overlap, rest := entryLengths(b)
	if overlap > len(base) || overlap+rest <= version || entryHeader+rest+least > len(b) {
		return e, false
	}
	e.key = append(append([]byte(nil), base[:overlap]...), b[entryHeader:entryHeader+rest]...)
	value := b[entryHeader+rest:]
	if _, n := binary.Uvarint(value[2:]); n <= 0 {
		return e, false
	}
	e.value.Decode(value)
	return e, true
}
