package pack

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/dgraph-io/badger/v4/fb"
	"github.com/dgraph-io/badger/v4/pb"
	"github.com/dgraph-io/badger/v4/y"
	flatbuffers "github.com/google/flatbuffers/go"
	"google.golang.org/protobuf/proto"

	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// A Writer writes one of Badger's tables, block by block, so that it takes no more memory than one
// block and the index. Badger's own builder keeps a whole table.
//
// A block is
//
//	entries                        one after the other
//	offsets   uint32 each          where each entry begins, in the order of bytes of the machine
//	count     uint32               of entries; this and the lengths below are big-endian
//	checksum                       a pb.Checksum of the block up to here
//	length    uint32               of the checksum
//
// and an entry
//
//	overlap   uint16               bytes of the key that are those of the block's first key
//	rest      uint16               bytes of the key that follow, both in the order of bytes of the machine
//	the rest of the key
//	0, 0, 0                        no mark, no user meta, it does not expire
//	the value
//
// Behind the blocks are the index, a flatbuffer, and its length, its checksum and the length of that.
type Writer struct {
	path   string
	file   *os.File // nil while all blocks are in tail
	tail   []byte   // finished blocks, and at the end the index, that are not in the file yet
	size   int64    // of the finished blocks
	block  []byte
	first  []byte   // key of the block's first entry, with its version
	starts []uint32 // of the block's entries
	blocks []writtenBlock
	keys   []byte   // of the blocks, one after the other
	hashes []uint32 // of all keys
	key    []byte   // scratch, with its version
	Newest uint64   // version that the table says it has, at least that of its records
}

// A writtenBlock is a block of a table: its first key ends at keyEnd of Writer.keys.
type writtenBlock struct{ keyEnd, offset, length uint32 }

const (
	// BlockSize is from how many bytes on a block ends. Small records are found in a small block; a large one has a
	// block to itself.
	BlockSize = 4 << 10

	// BloomFalsePositive is how often the filter of a table takes a key for one that the table has.
	BloomFalsePositive = 0.01
)

// Buffer is how much is written to a table's file at once, in bytes.
const Buffer = 128 << 10

// NewWriter begins a table, whose file a crash may leave: it is removed when the store is next opened.
func NewWriter(path string) *Writer { return &Writer{path: path} }

// write adds to the file, which it makes once there is enough to write.
func (t *Writer) write(b []byte) error {
	t.tail = append(t.tail, b...)
	if len(t.tail) < Buffer {
		return nil
	}
	return t.flush()
}

// flush writes the bytes that are not in the file yet.
func (t *Writer) flush() (err error) {
	if t.file == nil {
		t.file, err = os.OpenFile(t.path, os.O_CREATE|os.O_EXCL|os.O_RDWR, storedir.FileMode(storedir.Mode))
		if err != nil {
			return err
		}
	}
	_, err = t.file.Write(t.tail)
	t.tail = t.tail[:0]
	return err
}

// Add adds a record of a version under a key. Keys ascend, and of one key the versions descend. The caller may reuse
// both.
func (t *Writer) Add(key, value []byte, version uint64) error {
	if len(t.starts) > 0 && t.blockWith(len(key), len(value)) > BlockSize {
		if err := t.endBlock(); err != nil {
			return err
		}
	}
	t.hashes = append(t.hashes, y.Hash(key))
	t.key = binary.BigEndian.AppendUint64(append(t.key[:0], key...), ^version)
	overlap := 0
	if len(t.starts) == 0 {
		t.first = append(t.first[:0], t.key...)
	} else {
		for overlap < min(len(t.first), len(t.key)) && t.first[overlap] == t.key[overlap] {
			overlap++
		}
	}
	t.starts = append(t.starts, uint32(len(t.block)))
	t.block = binary.NativeEndian.AppendUint16(t.block, uint16(overlap))
	t.block = binary.NativeEndian.AppendUint16(t.block, uint16(len(t.key)-overlap))
	t.block = append(t.block, t.key[overlap:]...)
	t.block = append(t.block, 0, 0, 0)
	t.block = append(t.block, value...)
	t.Newest = max(t.Newest, version)
	return nil
}

// blockWith is the size that Badger expects of the block with another entry, in bytes.
func (t *Writer) blockWith(key, value int) int {
	const header, version, meta, start, end = 6, 8, 3, 4, 16
	return len(t.block) + header + key + version + meta + value + start*(len(t.starts)+1) + end
}

// Bytes is the size of the file so far.
func (t *Writer) Bytes() int64 { return t.size + int64(len(t.block)) }

// endBlock ends the block that is being written.
func (t *Writer) endBlock() error {
	if len(t.starts) == 0 {
		return nil
	}
	for _, start := range t.starts {
		t.block = binary.NativeEndian.AppendUint32(t.block, start)
	}
	t.block = binary.BigEndian.AppendUint32(t.block, uint32(len(t.starts)))
	var err error
	if t.block, err = appendChecksum(t.block, t.block); err != nil {
		return err
	}
	if err := t.write(t.block); err != nil {
		return err
	}
	t.keys = append(t.keys, t.first...)
	t.blocks = append(t.blocks, writtenBlock{uint32(len(t.keys)), uint32(t.size), uint32(len(t.block))})
	t.size += int64(len(t.block))
	t.block, t.starts = t.block[:0], t.starts[:0]
	return nil
}

// appendChecksum appends the checksum of data and its length to b.
func appendChecksum(b, data []byte) ([]byte, error) {
	sum := &pb.Checksum{Algo: pb.Checksum_CRC32C, Sum: y.CalculateChecksum(data, pb.Checksum_CRC32C)}
	text, err := proto.Marshal(sum)
	if err != nil {
		return b, err
	}
	return binary.BigEndian.AppendUint32(append(b, text...), uint32(len(text))), nil
}

// End writes the rest, and the index. Then the table is its file alone.
func (t *Writer) End() error {
	if err := t.endBlock(); err != nil {
		return err
	}
	index := t.index()
	end := binary.BigEndian.AppendUint32(slices.Clone(index), uint32(len(index)))
	end, err := appendChecksum(end, index)
	if err != nil {
		return err
	}
	if err := t.write(end); err != nil {
		return err
	}
	err = t.flush()
	*t = Writer{path: t.path, file: t.file}
	return err
}

func (t *Writer) index() []byte {
	filter := y.NewFilter(t.hashes, y.BloomBitsPerKey(len(t.hashes), BloomFalsePositive))
	b := flatbuffers.NewBuilder(len(t.keys) + 40*len(t.blocks) + len(filter) + 1<<10)
	offsets := make([]flatbuffers.UOffsetT, len(t.blocks))
	begin := uint32(0)
	for i, block := range t.blocks {
		key := b.CreateByteVector(t.keys[begin:block.keyEnd])
		begin = block.keyEnd
		fb.BlockOffsetStart(b)
		fb.BlockOffsetAddKey(b, key)
		fb.BlockOffsetAddOffset(b, block.offset)
		fb.BlockOffsetAddLen(b, block.length)
		offsets[i] = fb.BlockOffsetEnd(b)
	}
	fb.TableIndexStartOffsetsVector(b, len(offsets))
	for _, offset := range slices.Backward(offsets) { // a vector is built from its end
		b.PrependUOffsetT(offset)
	}
	vector := b.EndVector(len(offsets))
	bloom := b.CreateByteVector(filter)
	fb.TableIndexStart(b)
	fb.TableIndexAddOffsets(b, vector)
	fb.TableIndexAddBloomFilter(b, bloom)
	fb.TableIndexAddMaxVersion(b, t.Newest)
	fb.TableIndexAddUncompressedSize(b, uint32(t.size))
	fb.TableIndexAddKeyCount(b, uint32(len(t.hashes)))
	fb.TableIndexAddOnDiskSize(b, uint32(t.size))
	fb.TableIndexAddStaleDataSize(b, 0)
	b.Finish(fb.TableIndexEnd(b))
	index := b.FinishedBytes()
	fb.GetRootAsTableIndex(index, 0).MutateOnDiskSize(uint32(t.size) + uint32(len(index)))
	return index
}

// Path is the name of the file.
func (t *Writer) Path() string { return t.path }

// Sync makes the table durable and closes it.
func (t *Writer) Sync() error {
	if err := t.file.Sync(); err != nil {
		return err
	}
	return t.file.Close()
}

// Remove closes the file, if there is one, and has remove delete it. The file may be closed already.
func (t *Writer) Remove(remove func(path string) error) error {
	if t.file == nil {
		return nil
	}
	err := t.file.Close()
	if errors.Is(err, fs.ErrClosed) {
		err = nil
	}
	if removing := remove(t.path); !errors.Is(removing, fs.ErrNotExist) {
		err = errors.Join(err, removing)
	}
	return err
}
