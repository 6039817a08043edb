package table

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"

	"github.com/graphcleaner/graphcleaner/shell/stream"
)

// openFile opens one of the files.
func openFile(ctx context.Context, path string, opt Options) (*file, error) {
	r := &file{path: path, opt: opt}
	var in io.Reader
	var regular *os.File // in, if it can be read at any place
	if path == stream.Input {
		input, err := stream.OpenInput(ctx)
		if err != nil {
			return nil, &Error{Path: path, Msg: err.Error(), Err: err}
		}
		in = input
	} else {
		f, err := stream.Open(ctx, path)
		if err != nil {
			return nil, err
		}
		in, r.closes = f, []io.Closer{f}
		info, err := f.Stat()
		if err != nil {
			return nil, errors.Join(err, r.Close())
		}
		if r.size = info.Size(); info.Mode().IsRegular() {
			regular = f.File
		}
	}
	err := r.openContent(in, regular)
	if err == nil {
		err = r.checkHeader()
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Beginnings of files.
const (
	parquetMagic = "PAR1"
	gzipMagic    = "\x1f\x8b"
)

// openContent opens a file by its content, whatever its name.
func (r *file) openContent(f io.Reader, regular *os.File) error {
	counter := &countingReader{r: f}
	in := bufio.NewReaderSize(counter, sniffBytes)
	begin, _ := in.Peek(len(parquetMagic)) //nolint:errcheck // reading on gives the error
	if string(begin) == parquetMagic {
		if regular == nil {
			return &Error{Path: r.path, Msg: "got parquet data from a pipe or a device, want a file: it is not read from its " +
				"beginning to its end"}
		}
		return r.openParquet(regular)
	}
	r.read = counter.n.Load
	if bytes.HasPrefix(begin, []byte(gzipMagic)) {
		text, err := gzip.NewReader(in)
		if err != nil {
			return &Error{Path: r.path, Msg: fmt.Sprintf("is not a whole gzip file (%s)", sourceError(err)), Err: err}
		}
		in = bufio.NewReaderSize(text, sniffBytes)
	}
	return r.openText(in)
}

// openText opens a text and finds its layout.
func (r *file) openText(in *bufio.Reader) error {
	begin, _ := in.Peek(sniffBytes) //nolint:errcheck // reading on gives the error
	for _, f := range formats {
		if bytes.HasPrefix(begin, []byte(f.begin)) {
			return &Error{Path: r.path, Line: 1, Msg: "got " + f.msg}
		}
	}
	if bytes.HasPrefix(begin, []byte(byteOrderMark)) {
		begin = begin[len(byteOrderMark):]
		if _, err := in.Discard(len(byteOrderMark)); err != nil {
			return err
		}
	}
	r.layout = layoutOf(begin, r.opt.Form)
	text := &textFile{file: r, in: in}
	r.chunks = func() rows { return &textChunk{file: text} }
	return r.setHeader()
}

// endingOf is how the name of a file ends, in lower case and without .gz.
func endingOf(path string) string {
	return filepath.Ext(strings.TrimSuffix(strings.ToLower(path), ".gz"))
}

// formats are beginnings of files that are no tables, and what is said of them.
var formats = []struct{ begin, msg string }{
	{"version https://git-lfs", "a pointer of Git LFS, want the file that it stands for: git lfs pull fetches it"},
	{"PK\x03\x04", "a zip archive, as .xlsx and .npz are, want text or parquet, or for a matrix .npy or .npz"},
	{"BZh", "bzip2 data, want text or parquet: unpack it with bunzip2"},
	{"\xfd7zXZ", "xz data, want text or parquet: unpack it with unxz"},
	{"\x28\xb5\x2f\xfd", "zstd data, want text or parquet: unpack it with unzstd"},
	{"\x93NUMPY", "an array of numpy, want text or parquet (an array of edges, features or predictions has a name that " +
		"ends in .npy)"},
	{"PAR1", "parquet data within gzip, want it alone: unpack it with gunzip"},
	{"%%MatrixMarket", "a Matrix Market file, want an array or a table: scipy.io.mmread reads it"},
	{"\xff\xfe", "UTF-16 text, want UTF-8: iconv -f UTF-16 -t UTF-8 converts it"},
	{"\xfe\xff", "UTF-16 text, want UTF-8: iconv -f UTF-16 -t UTF-8 converts it"},
	{"{", "JSON, want text or parquet: pandas.read_json reads it, and to_csv writes a table"},
	{"[", "JSON, want text or parquet: pandas.read_json reads it, and to_csv writes a table"},
	{"<", "XML or HTML, want text or parquet"},
}

func (r *file) checkHeader() error {
	if len(r.header) > maxColumns {
		return recordError(r.path, 1, "got a header of %d columns, want at most %d", len(r.header), maxColumns)
	}
	for _, name := range r.header {
		if strings.Contains(name, "\r") {
			return recordError(r.path, r.line, "got a carriage return in the header, want lines that end with LF or CRLF")
		}
	}
	return nil
}

// A countingReader counts the bytes read through it.
type countingReader struct {
	r io.Reader
	n atomic.Int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}
