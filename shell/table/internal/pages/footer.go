package pages

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

const (
	// structCost is what a struct of a file's metadata takes when it is decoded, about, and footerShare the part of the
	// memory that they take, as a divisor.
	structCost  = 1 << 10
	footerShare = 4
)

// ErrFooter is the error of a footer that cannot be decoded.
var ErrFooter = errors.New("its footer cannot be decoded")

// ReadFooter reads the metadata at the end of a file. The lengths in it are held against the file, and what decoding takes
// against the memory, before anything of them is allocated.
func ReadFooter(f io.ReaderAt, size, memory int64) (*format.FileMetaData, error) {
	const ends = 12 // "PAR1" at both ends and the length of the footer
	if size < ends {
		return nil, errors.New("it ends early")
	}
	var first [4]byte
	var tail [8]byte
	if err := errors.Join(readWhole(f, first[:], 0), readWhole(f, tail[:], size-int64(len(tail)))); err != nil {
		return nil, err
	}
	if string(tail[4:]) != "PAR1" {
		return nil, errors.New("it ends early: no PAR1 at its end")
	}
	if string(first[:]) != "PAR1" {
		return nil, errors.New("no PAR1 at its beginning")
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
	walk, err := walkThrift(text)
	if err != nil {
		return nil, ErrFooter
	}
	if wants, has := walk.structs*structCost, memory/footerShare; wants > has {
		return nil, fmt.Errorf("its footer takes %d MiB of memory, want at most %d MiB: fewer groups of rows or columns, or more memory",
			(wants+1<<20-1)>>20, has>>20)
	}
	meta := new(format.FileMetaData)
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), text, meta); err != nil {
		return nil, ErrFooter
	}
	return meta, nil
}

// TakePlaces returns where the pages of each group of rows lie, and takes from the metadata what is of no use to a decoder
// that has them from a Source.
func TakePlaces(meta *format.FileMetaData, size int64) ([][]Place, error) {
	places := make([][]Place, len(meta.RowGroups))
	for g := range meta.RowGroups {
		columns := meta.RowGroups[g].Columns
		places[g] = make([]Place, len(columns))
		for i := range columns {
			c := &columns[i]
			if path := c.FilePath; path != "" {
				if len(path) > 60 {
					path = strings.ToValidUTF8(path[:60], "") + "…"
				}
				return nil, fmt.Errorf("has values in another file (%q), want them in this one", path)
			}
			m := &c.MetaData
			begin := m.DataPageOffset
			if m.DictionaryPageOffset != 0 {
				begin = m.DictionaryPageOffset
			}
			if meta.RowGroups[g].NumRows > 0 && (begin < 0 || m.TotalCompressedSize < 0 || begin > size || m.TotalCompressedSize > size-begin) {
				return nil, fmt.Errorf("is a damaged parquet file: column %d of group %d of rows claims %d bytes from byte %d on, of %d",
					i+1, g+1, m.TotalCompressedSize, begin, size)
			}
			places[g][i] = Place{at: begin, end: begin + m.TotalCompressedSize, codec: m.Codec}
			m.Codec, m.Statistics, m.KeyValueMetadata = format.Uncompressed, format.Statistics{}, nil
			m.DataPageOffset, m.DictionaryPageOffset, m.TotalCompressedSize = 0, 0, math.MaxInt64
		}
	}
	meta.KeyValueMetadata = nil
	return places, nil
}

// OpenFooter opens a file of metadata alone.
func OpenFooter(meta *format.FileMetaData) (*parquet.File, error) {
	text, err := thrift.Marshal(new(thrift.CompactProtocol), meta)
	if err != nil {
		return nil, err
	}
	file := append([]byte("PAR1"), text...)
	file = append(binary.LittleEndian.AppendUint32(file, uint32(len(text))), "PAR1"...)
	return parquet.OpenFile(bytes.NewReader(file), int64(len(file)),
		parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true), parquet.ReadBufferSize(pageBuffer))
}

// pageBuffer is what the decoder reads the header of a page through, in bytes; there is one a column.
const pageBuffer = 256
