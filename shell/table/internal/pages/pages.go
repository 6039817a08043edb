// Package pages hands the pages of a parquet file to a decoder, unpacked. It refuses a footer or a page that would make the decoder
// allocate more than there is memory for, or recurse without end. It knows nothing of rows, and nothing of what values mean.
package pages

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/bits"

	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

const (
	// pageHeader is how much of a file is read for the header of a page, in bytes; one that is longer, up to
	// maxPageHeader, has more read.
	pageHeader    = 4 << 10
	maxPageHeader = 1 << 20
	// valueCost is what a value takes beside its bytes, at most: an offset or an index, a level, and a number that was
	// packed.
	valueCost = 16
	// runPadding is how many values more than a page has its runs may hold.
	runPadding = 1 << 12
)

// A File unpacks the pages of a file for decoders that read its columns side by side, one page at a time.
type File struct {
	Readers int64 // goroutines that have views of pages at once
	Fresh   int64 // bytes of the pages that were handed out since the caller set it to 0

	content io.ReaderAt
	memory  int64 // bytes that pages may take
	size    int64 // that they take

	header, packed, plain []byte // of the page being unpacked
	unpacker              unpacker
}

// NewFile returns a File whose pages take up to so many bytes of memory.
func NewFile(content io.ReaderAt, memory int64) *File { return &File{content: content, memory: memory} }

// IsFull says whether the Fresh pages take as much as a reader may have views of.
func (f *File) IsFull() bool { return f.Fresh > f.memory/(1+f.Readers) }

// A Place is where in a file the pages of a column of a group of rows lie, and how they are compressed.
type Place struct {
	at, end int64
	codec   format.CompressionCodec
}

// A Source hands the pages of a column, of one group of rows after another, to the decoder, uncompressed. The decoder
// allocates what the header of a page says, and what the runs in it say; so these are held against the memory first, and a
// page that unpacks to more than its header says is refused.
type Source struct {
	file   *File
	levels Levels
	views  bool
	texts  bool
	Place
	rest   []byte // of the page that is handed out
	offset int64  // bytes handed out
	err    error  // that was returned, but io.EOF

	pageBytes, dictionaryBytes int64 // what they take
}

// Levels are the greatest levels of a column: none if its values are required, a definition if they may be null, and both of lists.
type Levels struct{ Repetition, Definition int }

// Column returns the Source of a column. views says that readers have views of its pages, and texts that a value is
// bytes behind their number.
func (f *File) Column(levels Levels, views, texts bool) *Source {
	return &Source{file: f, levels: levels, views: views, texts: texts}
}

// Begin goes on with the pages of a group of rows.
func (s *Source) Begin(at Place) { s.Place, s.rest, s.offset, s.err = at, nil, 0, nil }

// End gives back what the pages took.
func (s *Source) End() {
	s.file.size -= s.pageBytes + s.dictionaryBytes
	s.pageBytes, s.dictionaryBytes = 0, 0
}

// Err is the error that a page was refused with, in other words than those of the decoder.
func (s *Source) Err() error { return s.err }

// ReadAt implements io.ReaderAt for a decoder that reads on from where it stopped. It may return less than was asked for:
// it stops at the end of a page, so that no page is unpacked before the one before it has been taken.
func (s *Source) ReadAt(p []byte, offset int64) (int, error) {
	if offset != s.offset {
		s.err = errors.New("the dictionary is missing")
		return 0, s.err
	}
	for len(s.rest) == 0 {
		if s.at >= s.end {
			return 0, io.EOF
		}
		if err := s.next(); err != nil {
			s.err = err
			return 0, err
		}
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	s.offset += int64(n)
	return n, nil
}

// next unpacks the next page.
func (s *Source) next() error {
	header, length, err := s.header()
	if err != nil {
		return err
	}
	packed, size := int64(header.CompressedPageSize), int64(header.UncompressedPageSize)
	if s.at += length; packed < 0 || size < 0 || packed > s.end-s.at {
		return fmt.Errorf("a page claims %d bytes where %d are left", packed, s.end-s.at)
	}
	var values int64
	switch header.Type {
	case format.DataPage:
		values = int64(header.DataPageHeader.V.NumValues)
	case format.DataPageV2:
		values = int64(header.DataPageHeaderV2.V.NumValues)
	case format.DictionaryPage:
		values = int64(header.DictionaryPageHeader.V.NumValues)
	}
	p := s.file
	if err := s.room(header.Type, packed+size+max(size, packed)+valueCost*max(values, 0)); err != nil {
		return err
	}
	p.packed = grown(p.packed, packed)
	if err := readWhole(p.content, p.packed, s.at); err != nil {
		return err
	}
	s.at += packed
	if header.CRC != 0 && uint32(header.CRC) != crc32.ChecksumIEEE(p.packed) {
		return errors.New("the checksum of a page is wrong")
	}
	page, err := s.unpack(&header, int(size))
	if err != nil {
		return err
	}
	grows, err := s.checkRuns(&header, page, values)
	if err != nil {
		return err
	}
	if page, err = s.unpad(&header, page, values); err != nil {
		return err
	}
	if err := s.hold(header.Type, int64(len(page))+grows+valueCost*max(values, 0)); err != nil {
		return err
	}
	plainHeader, err := plainPageHeader(&header, len(page))
	if err != nil {
		return err
	}
	// The page lies behind room for its header.
	from := maxPlainHeader - len(plainHeader)
	copy(p.plain[from:], plainHeader)
	s.rest = p.plain[from : maxPlainHeader+len(page)]
	return nil
}

// header reads the header of the next page, and returns its length.
func (s *Source) header() (header format.PageHeader, length int64, err error) {
	p := s.file
	for size := int64(pageHeader); ; size *= 4 {
		size = min(size, s.end-s.at, maxPageHeader)
		p.header = grown(p.header, size)
		if err := readWhole(p.content, p.header, s.at); err != nil {
			return header, 0, err
		}
		walk, err := walkThrift(p.header)
		if isShort(err) && size < min(s.end-s.at, maxPageHeader) {
			continue
		}
		length := walk.BytesRead()
		if err == nil {
			err = thrift.Unmarshal(new(thrift.CompactProtocol), p.header[:length], &header)
		}
		if err != nil {
			return header, 0, fmt.Errorf("the header of a page: %w", err)
		}
		return header, int64(length), nil
	}
}

// unpack unpacks the values of a page into File.plain, behind maxPlainHeader bytes, and returns them there.
func (s *Source) unpack(header *format.PageHeader, size int) ([]byte, error) {
	p := s.file
	codec, levels := s.codec, 0
	if header.Type == format.DataPageV2 { // its levels are not compressed
		h := &header.DataPageHeaderV2.V
		if h.DefinitionLevelsByteLength < 0 || h.RepetitionLevelsByteLength < 0 ||
			int64(h.DefinitionLevelsByteLength)+int64(h.RepetitionLevelsByteLength) > int64(len(p.packed)) {
			return nil, errors.New("the levels of a page are longer than the page")
		}
		levels = int(h.DefinitionLevelsByteLength + h.RepetitionLevelsByteLength)
		if h.IsCompressed.Valid && !h.IsCompressed.V {
			codec = format.Uncompressed
		}
	}
	if codec == format.Uncompressed {
		size = len(p.packed)
	}
	p.plain = grown(p.plain, int64(maxPlainHeader+levels+size))
	copy(p.plain[maxPlainHeader:], p.packed[:levels])
	values, err := p.unpacker.unpack(codec, p.plain[maxPlainHeader+levels:][:size:size], p.packed[levels:])
	if err != nil {
		return nil, err
	}
	return p.plain[maxPlainHeader:][:levels+values], nil
}

// maxPlainHeader is more than the header of a page without statistics takes.
const maxPlainHeader = 128

// plainPageHeader is the header of a page that has been unpacked to so many bytes.
func plainPageHeader(header *format.PageHeader, size int) ([]byte, error) {
	plain := format.PageHeader{Type: header.Type, CompressedPageSize: int32(size), UncompressedPageSize: int32(size)}
	switch header.Type {
	case format.DataPage:
		plain.DataPageHeader = header.DataPageHeader
		plain.DataPageHeader.V.Statistics = format.Statistics{}
	case format.DataPageV2:
		plain.DataPageHeaderV2 = header.DataPageHeaderV2
		plain.DataPageHeaderV2.V.Statistics = format.Statistics{}
		plain.DataPageHeaderV2.V.IsCompressed = thrift.New(false)
	case format.DictionaryPage:
		plain.DictionaryPageHeader = header.DictionaryPageHeader
	}
	text, err := thrift.Marshal(new(thrift.CompactProtocol), &plain)
	if err == nil && len(text) > maxPlainHeader {
		err = errors.New("the header of a page is too long")
	}
	return text, err
}

// checkRuns holds the runs of a page against its number of values, and returns by how many bytes the values may grow when
// they are decoded.
func (s *Source) checkRuns(header *format.PageHeader, page []byte, values int64) (grows int64, err error) {
	var encoding format.Encoding
	switch header.Type {
	case format.DataPage:
		h := &header.DataPageHeader.V
		encoding = h.Encoding
		for _, of := range []struct {
			most int
			form format.Encoding
		}{{s.levels.Repetition, h.RepetitionLevelEncoding}, {s.levels.Definition, h.DefinitionLevelEncoding}} {
			if of.most == 0 {
				continue
			}
			if len(page) < 4 || uint64(binary.LittleEndian.Uint32(page)) > uint64(len(page)-4) {
				return 0, errors.New("the levels of a page are longer than the page")
			}
			levels := 4 + int(binary.LittleEndian.Uint32(page))
			if of.form == format.RLE && err == nil {
				err = checkRLE(page[4:levels], uint64(bits.Len(uint(of.most))), values)
			}
			page = page[levels:]
		}
	case format.DataPageV2:
		h := &header.DataPageHeaderV2.V
		encoding = h.Encoding
		if s.levels.Repetition > 0 {
			err = checkRLE(page[:h.RepetitionLevelsByteLength], uint64(bits.Len(uint(s.levels.Repetition))), values)
		}
		if s.levels.Definition > 0 && err == nil {
			levels := page[h.RepetitionLevelsByteLength:][:h.DefinitionLevelsByteLength]
			err = checkRLE(levels, uint64(bits.Len(uint(s.levels.Definition))), values)
		}
		page = page[h.RepetitionLevelsByteLength+h.DefinitionLevelsByteLength:]
	default:
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	switch encoding {
	case format.RLEDictionary, format.PlainDictionary: //nolint:staticcheck // deprecated, and in files of old writers
		if len(page) > 0 {
			err = checkRLE(page[1:], uint64(page[0]), values)
		}
	case format.RLE:
		if len(page) >= 4 {
			err = checkRLE(page[4:], 1, values)
		}
	case format.DeltaBinaryPacked, format.DeltaLengthByteArray:
		_, err = skipDelta(page, values)
	case format.DeltaByteArray:
		grows, err = prefixBytes(page, values)
	}
	return grows, err
}

// padding is what fastparquet writes behind the values of a page.
var padding [8]byte

// unpad cuts the padding off a page of texts, plain ones behind their lengths: the decoder would take it for two empty
// texts more, and complain of them on standard error. The levels of the page have been checked.
func (s *Source) unpad(header *format.PageHeader, page []byte, values int64) ([]byte, error) {
	h := &header.DataPageHeader.V
	if !s.texts || s.levels.Repetition > 0 || header.Type != format.DataPage || h.Encoding != format.Plain ||
		!bytes.HasSuffix(page, padding[:]) {
		return page, nil
	}
	at := 0
	if s.levels.Definition > 0 {
		at = 4 + int(binary.LittleEndian.Uint32(page))
		levels, err := (&rle.Encoding{BitWidth: 1}).DecodeLevels(nil, page[4:at])
		if err != nil || int64(len(levels)) < values {
			return nil, errors.New("the levels of a page cannot be decoded")
		}
		values = int64(bytes.Count(levels[:values], []byte{1}))
	}
	for ; values > 0 && len(page)-at >= 4; values-- {
		at += 4 + int(min(binary.LittleEndian.Uint32(page[at:]), uint32(len(page))))
		if at > len(page) {
			return page, nil // the decoder says so
		}
	}
	if bytes.Equal(page[at:], padding[:]) {
		return page[:at], nil
	}
	return page, nil
}

// checkRLE goes over runs of values of so many bits, as levels and the indices of dictionaries are stored.
func checkRLE(data []byte, width uint64, values int64) error {
	for total := uint64(0); len(data) > 0; {
		head, n := binary.Uvarint(data)
		if n <= 0 {
			return errors.New("a run of values cannot be decoded")
		}
		data = data[n:]
		count, size := head>>1, (width+7)/8
		if head&1 != 0 {
			size = min(count, 1<<40) * width
			count = min(count, 1<<40) * 8
		}
		if total += min(count, 1<<40); total > uint64(values)+runPadding {
			return fmt.Errorf("a run of %d values, in a page of %d", count, values)
		}
		data = data[min(size, uint64(len(data))):]
	}
	return nil
}

// skipDelta goes over integers that are packed as differences, and returns what is behind them.
func skipDelta(data []byte, values int64) (rest []byte, err error) {
	broken := errors.New("packed integers cannot be decoded")
	var head [4]uint64 // values of a block, parts of a block, values, the first of them
	for i := range head {
		v, n := binary.Uvarint(data)
		if n <= 0 {
			return nil, broken
		}
		head[i], data = v, data[n:]
	}
	block, parts, count := head[0], head[1], head[2]
	if count > uint64(values)+1 {
		return nil, fmt.Errorf("%d packed integers, in a page of %d values", count, values)
	}
	if block == 0 || parts == 0 || parts > block || block > 1<<20 {
		return nil, broken
	}
	count -= min(count, 1)
	for count > 0 {
		_, n := binary.Uvarint(data)
		if n <= 0 || uint64(len(data)-n) < parts {
			return nil, broken
		}
		widths := data[n:][:parts]
		data = data[n+int(parts):]
		for _, width := range widths {
			if count == 0 {
				break
			}
			count -= min(count, block/parts)
			data = data[min(block/parts*uint64(width)/8, uint64(len(data))):]
		}
	}
	return data, nil
}

// prefixBytes is how many bytes the values of a page take from those before them.
func prefixBytes(page []byte, values int64) (int64, error) {
	suffixes, err := skipDelta(page, values)
	if err != nil {
		return 0, err
	}
	if _, err := skipDelta(suffixes, values); err != nil {
		return 0, err
	}
	var encoding delta.BinaryPackedEncoding
	prefixes, err := encoding.DecodeInt32(nil, bytes.Clone(page[:len(page)-len(suffixes)]))
	if err != nil {
		return 0, err
	}
	total := int64(0)
	for _, n := range prefixes {
		total += int64(max(n, 0))
	}
	return total, nil
}

// A RoomError says that a page takes more memory than there is for it.
type RoomError struct{ wants, has int64 }

func (e *RoomError) Error() string {
	return fmt.Sprintf("got a page that takes %d KiB of memory, want at most %d KiB (smaller pages or fewer columns, or more memory)",
		(e.wants+1<<10-1)>>10, max(e.has, 0)>>10)
}

// room returns an error where the next page takes more than there is beside the pages that are held.
func (s *Source) room(kind format.PageType, bytes int64) error {
	wants, has := s.weight(kind)*bytes, s.file.memory-s.file.size
	if wants > has {
		return &RoomError{wants, has}
	}
	return nil
}

// hold notes what the next page takes, in place of the page before it.
func (s *Source) hold(kind format.PageType, bytes int64) error {
	if err := s.room(kind, bytes); err != nil {
		return err
	}
	bytes *= s.weight(kind)
	of := &s.pageBytes
	if kind == format.DictionaryPage {
		of = &s.dictionaryBytes
	} else {
		s.file.Fresh += bytes
	}
	s.file.size += bytes - *of
	*of = bytes
	return nil
}

// weight is in how many copies a page is held: the decoder keeps the last page until it has the next, and the chunks of the
// goroutines that read have views of texts.
func (s *Source) weight(kind format.PageType) int64 {
	if s.views && kind != format.DictionaryPage {
		return 1 + s.file.Readers
	}
	return 2
}

// grown returns a slice of n bytes, in the memory of another where that suffices.
func grown(b []byte, n int64) []byte {
	if int64(cap(b)) < n {
		return make([]byte, n)
	}
	return b[:n]
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
