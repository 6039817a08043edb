package table

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

const (
	// pageHeader is how much of a file is read for the header of a page, in bytes; if it is longer, maxPageHeader.
	pageHeader    = 4 << 10
	maxPageHeader = 256 << 10
	// valueCost bounds the memory of a value beside its bytes: an offset or an index, and a level.
	valueCost = 16
	// runPadding is how many values more than a page has its runs may hold.
	runPadding = 1 << 12
	// maxBlock is how many values a block of packed integers may have.
	maxBlock = 1 << 20
)

// ReadAt implements io.ReaderAt for a decoder that reads on from where it stopped: it has the pages of the group being
// read, uncompressed. It may return less than was asked for: it stops at the end of a page, so that no page is unpacked
// before the one before it has been taken.
func (c *parquetColumn) ReadAt(p []byte, offset int64) (n int, err error) {
	if offset != c.offset {
		c.refused = errors.New("the dictionary is missing")
		return 0, c.refused
	}
	for {
		if n, _ = c.unpacked.Read(p); n > 0 { //nolint:errcheck // memory gives none
			c.offset += int64(n)
			return n, nil
		}
		if c.at >= c.end {
			return 0, io.EOF
		}
		if c.refused = c.unpackNext(); c.refused != nil {
			return 0, c.refused
		}
	}
}

// unpackNext unpacks the next page.
func (c *parquetColumn) unpackNext() error {
	header, err := c.header()
	if err != nil {
		return errors.New("the header of a page cannot be decoded")
	}
	packed, size := int64(header.CompressedPageSize), int64(header.UncompressedPageSize)
	if packed < 0 || size < 0 || packed > c.end-c.at {
		return fmt.Errorf("a page claims %d bytes where %d are left", packed, c.end-c.at)
	}
	values, levels := int64(header.DataPageHeader.V.NumValues), 0
	codec := c.codec
	switch header.Type {
	case format.DictionaryPage:
		values = int64(header.DictionaryPageHeader.V.NumValues)
	case format.DataPageV2:
		h := &header.DataPageHeaderV2.V
		values, levels = int64(h.NumValues), int(h.DefinitionLevelsByteLength)
		if levels < 0 || int64(levels) > packed || h.RepetitionLevelsByteLength != 0 {
			return errors.New("the levels of a page are longer than the page")
		}
		if h.IsCompressed.Valid && !h.IsCompressed.V {
			codec = format.Uncompressed
		}
	}
	if codec == format.Uncompressed {
		size = packed
	}
	if err := c.hold(header.Type == format.DictionaryPage, packed+size+valueCost*max(values, 0)); err != nil {
		return err
	}
	f := c.file
	f.packed = slices.Grow(f.packed[:0], int(packed))[:packed]
	if err := readWhole(f.content, f.packed, c.at); err != nil {
		return err
	}
	c.at += packed
	if header.CRC != 0 && uint32(header.CRC) != crc32.ChecksumIEEE(f.packed) {
		return errors.New("the checksum of a page is wrong")
	}
	f.plain = slices.Grow(f.plain[:0], levels+int(size)+1)[:levels+int(size)+1]
	copy(f.plain, f.packed[:levels]) // which are not compressed
	n, err := f.unpack(codec, f.plain[levels:], f.packed[levels:])
	if err == nil && int64(n) > size {
		err = errors.New("a page unpacks to more than its header says")
	}
	if err != nil {
		return err
	}
	page := f.plain[:levels+n]
	if err := c.checkRuns(&header, page, values); err != nil {
		return err
	}
	header.CompressedPageSize, header.UncompressedPageSize, header.CRC = int32(len(page)), int32(len(page)), 0
	header.DataPageHeaderV2.V.IsCompressed = thrift.New(false)
	text, err := thrift.Marshal(new(thrift.CompactProtocol), &header)
	c.unpacked = io.MultiReader(bytes.NewReader(text), bytes.NewReader(page))
	return err
}

// header reads the header of the next page, whose texts are borrowed until the next one.
func (c *parquetColumn) header() (header format.PageHeader, err error) {
	f := c.file
	for _, size := range []int64{pageHeader, maxPageHeader} {
		size = min(size, c.end-c.at)
		f.header = slices.Grow(f.header[:0], int(size))[:size]
		if err := readWhole(f.content, f.header, c.at); err != nil {
			return header, err
		}
		in := new(thrift.CompactProtocol).NewReaderFromBytes(f.header)
		if err = thrift.NewDecoder(in).Decode(&header); err == nil {
			c.at += int64(in.BytesRead())
			return header, nil
		}
		header = format.PageHeader{}
	}
	return header, err
}

// A roomError says that a page takes more memory than there is for it.
type roomError string

func (e roomError) Error() string { return string(e) }

// hold notes what the next page takes, in place of the page before it. The decoder keeps the last page until it has the
// next.
func (c *parquetColumn) hold(isDictionary bool, bytes int64) error {
	of := &c.held[0]
	if isDictionary {
		of = &c.held[1]
	}
	copies := int64(2)
	if c.isBytes && !isDictionary {
		copies += c.file.readers
	}
	wants, has := copies*bytes, c.file.memory-c.file.held+*of
	if wants > has {
		return roomError(fmt.Sprintf("got a page that takes %d KiB of memory, want at most %d KiB (smaller pages or fewer "+
			"columns, or more memory)",
			(wants+1<<10-1)>>10, max(has, 0)>>10))
	}
	c.file.held += wants - *of
	*of = wants
	return nil
}

// unpack unpacks what is packed into dst, which has room for a byte more than is wanted, and returns how many bytes
// there are.
func (p *parquetReader) unpack(codec format.CompressionCodec, dst, packed []byte) (n int, err error) {
	if len(packed) == 0 {
		return 0, nil
	}
	switch codec {
	case format.Uncompressed:
		return copy(dst, packed), nil
	case format.Snappy:
		if n, err = snappy.DecodedLen(packed); err == nil && n <= len(dst) {
			_, err = snappy.Decode(dst, packed)
		}
		return n, err
	case format.Zstd:
		if p.zstd == nil {
			p.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
				zstd.WithDecodeAllCapLimit(true))
			if err != nil {
				return 0, err
			}
		}
		out, err := p.zstd.DecodeAll(packed, dst[:0:len(dst)])
		return len(out), err
	case format.Gzip:
		in, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			return 0, err
		}
		n, err = io.ReadFull(in, dst)
		if errors.Is(err, io.ErrUnexpectedEOF) { // the decoder says so if that is too little
			err = nil
		}
		return n, err
	}
	return 0, fmt.Errorf("pages are compressed with %v, want snappy, gzip, zstd or none", codec)
}

// checkRuns holds the runs of a page against its number of values.
func (c *parquetColumn) checkRuns(header *format.PageHeader, page []byte, values int64) error {
	encoding, levels := header.DataPageHeader.V.Encoding, []byte(nil)
	switch header.Type {
	case format.DataPage:
		if c.optional {
			if len(page) < 4 || uint64(binary.LittleEndian.Uint32(page)) > uint64(len(page)-4) {
				return errors.New("the levels of a page are longer than the page")
			}
			end := 4 + int(binary.LittleEndian.Uint32(page))
			levels, page = page[4:end], page[end:]
		}
		if header.DataPageHeader.V.DefinitionLevelEncoding != format.RLE {
			levels = nil
		}
	case format.DataPageV2:
		encoding = header.DataPageHeaderV2.V.Encoding
		levels, page = page[:header.DataPageHeaderV2.V.DefinitionLevelsByteLength],
			page[header.DataPageHeaderV2.V.DefinitionLevelsByteLength:]
	default:
		return nil
	}
	if err := checkRLE(levels, 1, values); err != nil {
		return err
	}
	switch encoding {
	case format.RLEDictionary, format.PlainDictionary: //nolint:staticcheck // deprecated, and in files of old writers
		if len(page) > 0 {
			return checkRLE(page[1:], uint64(page[0]), values)
		}
	case format.RLE:
		if len(page) >= 4 {
			return checkRLE(page[4:], 1, values)
		}
	case format.DeltaBinaryPacked, format.DeltaLengthByteArray:
		var head [3]uint64 // values of a block, parts of a block, values
		for i := range head {
			v, n := binary.Uvarint(page)
			head[i], page = v, page[max(n, 0):]
		}
		if head[0] > maxBlock || head[2] > uint64(values)+1 {
			return fmt.Errorf("%d packed integers in blocks of %d, in a page of %d values", head[2], head[0], values)
		}
	case format.DeltaByteArray: // a few bytes can stand for any number of long texts
		return errors.New("texts are written as differences (DELTA_BYTE_ARRAY), want a file of data pages of version 1")
	}
	return nil
}

// checkRLE goes over runs of values of so many bits, as levels and the indices of dictionaries are stored.
func checkRLE(data []byte, width uint64, values int64) error {
	for total := uint64(0); len(data) > 0; {
		head, n := binary.Uvarint(data)
		if n <= 0 {
			return errors.New("a run of values cannot be decoded")
		}
		data = data[n:]
		count, size := min(head>>1, 1<<40), (width+7)/8
		if head&1 != 0 {
			count, size = 8*count, count*width
		}
		if total += count; total > uint64(values)+runPadding {
			return fmt.Errorf("a run of %d values, in a page of %d", count, values)
		}
		data = data[min(size, uint64(len(data))):]
	}
	return nil
}
