package pages

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

// An unpacker unpacks the pages of parquet files, one at a time.
type unpacker struct {
	gzip   *gzip.Reader
	zstd   *zstd.Decoder
	brotli *brotli.Reader
}

var errUnpacksToMore = errors.New("a page unpacks to more than its header says")

// unpack unpacks what is packed into dst, which it returns the length of, and nothing else: an error where there is more.
func (u *unpacker) unpack(codec format.CompressionCodec, dst, packed []byte) (int, error) {
	if len(packed) == 0 {
		return 0, nil
	}
	switch codec {
	case format.Uncompressed:
		return copy(dst, packed), nil
	case format.Snappy:
		n, err := snappy.DecodedLen(packed)
		if err == nil && n > len(dst) {
			err = errUnpacksToMore
		}
		if err == nil {
			_, err = snappy.Decode(dst, packed)
		}
		return n, err
	case format.Gzip:
		if u.gzip == nil {
			u.gzip = new(gzip.Reader)
		}
		if err := u.gzip.Reset(bytes.NewReader(packed)); err != nil {
			return 0, err
		}
		return readAll(u.gzip, dst)
	case format.Zstd:
		if u.zstd == nil {
			var err error
			if u.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecodeAllCapLimit(true)); err != nil {
				return 0, err
			}
		}
		out, err := u.zstd.DecodeAll(packed, dst[:0])
		if errors.Is(err, zstd.ErrDecoderSizeExceeded) {
			err = errUnpacksToMore
		}
		return len(out), err
	case format.Brotli:
		if u.brotli == nil {
			u.brotli = new(brotli.Reader)
		}
		if err := u.brotli.Reset(bytes.NewReader(packed)); err != nil {
			return 0, err
		}
		return readAll(u.brotli, dst)
	case format.Lz4Raw:
		return lz4.UncompressBlock(packed, dst)
	}
	return 0, fmt.Errorf("pages are compressed with %v, want snappy, gzip, zstd, brotli, lz4_raw or none", codec)
}

// readAll reads a stream that dst has room for. One that has less is for the decoder to notice, where that matters.
func readAll(in io.Reader, dst []byte) (n int, err error) {
	var more [1]byte
	for err == nil {
		var read int
		if n < len(dst) {
			read, err = in.Read(dst[n:])
			n += read
		} else if read, err = in.Read(more[:]); read > 0 {
			return n, errUnpacksToMore
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}
