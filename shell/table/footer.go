package table

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

const (
	// structCost is about what a struct of a file's metadata takes when it is decoded, in bytes. Structs may take one
	// part of footerShare of the memory, and footerMost bytes, so that the stack holds any that lie in each other.
	structCost  = 1 << 10
	footerShare = 4
	footerMost  = 2 << 30
	// pageBuffer is the buffer for the decoder to read the header of a page through, in bytes; there is one a column.
	pageBuffer = 256
)

var errFooter = errors.New("its footer cannot be decoded")

// A place is where in a file the pages of a column of a group of rows lie, and how they are compressed.
type place struct {
	at, end int64
	codec   format.CompressionCodec
}

// openFooter reads the metadata at the end of a file of so many bytes, for a decoder that has the pages from a
// parquetColumn, and the places of the pages of each column of each group of rows.
func openFooter(content io.ReaderAt, size, memory int64) (*parquet.File, [][]place, error) {
	meta, err := readFooter(content, size, memory)
	if err != nil {
		return nil, nil, err
	}
	places, err := takePlaces(meta, size)
	if err != nil {
		return nil, nil, err
	}
	// the decoder has no values of the type of nulls alone; what is left is the type in which they are stored
	for i := range meta.Schema {
		if _, isNull := meta.Schema[i].LogicalType.Value.(*format.NullType); isNull {
			meta.Schema[i].LogicalType.Value = nil
		}
	}
	text, err := thrift.Marshal(new(thrift.CompactProtocol), meta)
	if err != nil {
		return nil, nil, errFooter
	}
	text = append([]byte(parquetMagic), text...)
	text = append(binary.LittleEndian.AppendUint32(text, uint32(len(text)-len(parquetMagic))), parquetMagic...)
	file, err := parquet.OpenFile(bytes.NewReader(text), int64(len(text)),
		parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true), parquet.ReadBufferSize(pageBuffer))
	if err != nil {
		err = errFooter
	}
	return file, places, err
}

func readFooter(f io.ReaderAt, size, memory int64) (*format.FileMetaData, error) {
	const ends = 12 // "PAR1" at both ends and the length of the footer
	var tail [8]byte
	if size < ends {
		return nil, errors.New("it ends early")
	}
	if err := readWhole(f, tail[:], size-int64(len(tail))); err != nil {
		return nil, err
	}
	if string(tail[4:]) != parquetMagic {
		return nil, errors.New("it ends early: no PAR1 at its end")
	}
	length := int64(binary.LittleEndian.Uint32(tail[:4]))
	if length > size-ends {
		return nil, fmt.Errorf("its footer claims %d bytes of a file of %d", length, size)
	}
	if most := memory / (2 * footerShare); length > most {
		return nil, fmt.Errorf("its footer of %d bytes takes more memory than there is, want at most %d", length, most)
	}
	text := make([]byte, length)
	if err := readWhole(f, text, size-int64(len(tail))-length); err != nil {
		return nil, err
	}
	most := min(memory/footerShare, footerMost)
	in := &footerReader{thriftReader: new(thrift.CompactProtocol).NewReaderFromBytes(text), rest: most}
	meta := new(format.FileMetaData)
	err := thrift.NewDecoder(in).Decode(meta)
	if in.rest < 0 {
		return nil, fmt.Errorf("its footer takes more than %d MiB of memory: want fewer groups of rows or columns, or "+
			"more memory", most>>20)
	}
	if err != nil || in.BytesRead() != len(text) {
		return nil, errFooter
	}
	return meta, nil
}

type thriftReader = thrift.Reader // whose name is that of a method

// A footerReader counts what the structs and lists take that a footer says it has, before a decoder allocates them. Of
// sets and maps it has none.
type footerReader struct {
	thriftReader
	rest int64 // bytes that they may take
}

func (r *footerReader) take(count int64, kind thrift.Type) error {
	cost := int64(16)
	if kind == thrift.STRUCT || kind == thrift.LIST {
		cost = structCost
	}
	if r.rest -= count * cost; r.rest < 0 {
		return errFooter
	}
	return nil
}

// ReadField implements thrift.Reader.
func (r *footerReader) ReadField() (thrift.Field, error) {
	field, err := r.thriftReader.ReadField()
	if err == nil {
		err = r.take(1, field.Type)
	}
	return field, err
}

// ReadList implements thrift.Reader.
func (r *footerReader) ReadList() (thrift.List, error) {
	list, err := r.thriftReader.ReadList()
	if err == nil {
		err = r.take(int64(list.Size), list.Type)
	}
	return list, err
}

// ReadSet implements thrift.Reader.
func (r *footerReader) ReadSet() (thrift.Set, error) { return thrift.Set{}, errFooter }

// ReadMap implements thrift.Reader.
func (r *footerReader) ReadMap() (thrift.Map, error) { return thrift.Map{}, errFooter }

// Discard skips bytes: a decoder asks for it where the reader has all of them.
func (r *footerReader) Discard(n int) (int, error) {
	return r.thriftReader.(interface{ Discard(int) (int, error) }).Discard(n)
}

// takePlaces finds where the pages of each column of each group of rows lie, and takes from the metadata what is of no
// use to a decoder that has the pages from a parquetColumn.
func takePlaces(meta *format.FileMetaData, size int64) ([][]place, error) {
	places := make([][]place, len(meta.RowGroups))
	for g, group := range meta.RowGroups {
		for i := range group.Columns {
			if group.Columns[i].FilePath != "" {
				return nil, errors.New("its values are in another file, want them in this one")
			}
			m := &group.Columns[i].MetaData
			begin := m.DataPageOffset
			if m.DictionaryPageOffset != 0 {
				begin = m.DictionaryPageOffset
			}
			// A group without rows has no pages, and its columns may begin nowhere.
			if group.NumRows > 0 &&
				(begin < 0 || m.TotalCompressedSize < 0 || begin > size || m.TotalCompressedSize > size-begin) {
				return nil, fmt.Errorf("column %d of group %d of rows claims %d bytes from byte %d on, of %d", i+1, g+1,
					m.TotalCompressedSize, begin, size)
			}
			places[g] = append(places[g], place{at: begin, end: begin + m.TotalCompressedSize, codec: m.Codec})
			m.Codec, m.Statistics, m.KeyValueMetadata = format.Uncompressed, format.Statistics{}, nil
			m.DataPageOffset, m.DictionaryPageOffset, m.TotalCompressedSize = 0, 0, math.MaxInt64
		}
	}
	meta.KeyValueMetadata = nil
	return places, nil
}

// readWhole reads all of p, which was held against the size of the file.
func readWhole(content io.ReaderAt, p []byte, at int64) error {
	n, err := content.ReadAt(p, at)
	if n == len(p) {
		return nil
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return err
}
