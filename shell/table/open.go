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
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"

	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/stream"
)

// open opens one of the files, with chunks of text of some size, in bytes.
func (p Parts) open(ctx context.Context, part int, memory int64, chunkBytes int) (*Reader, error) {
	path := p.paths[part]
	r := &Reader{path: path, parts: p}
	if len(p.paths) > 1 {
		r.parts.name, r.parts.paths = path, []string{path} // its errors are about it alone
	}
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
		if err == nil && info.IsDir() {
			err = &Error{Path: path, Msg: "got a directory, want a file"}
		}
		if err != nil {
			return nil, errors.Join(err, r.Close())
		}
		if r.size = info.Size(); info.Mode().IsRegular() {
			regular = f.File
		}
	}
	err := r.openContent(in, regular, memory, chunkBytes)
	if err == nil && p.partitions != nil {
		err = r.withPartition(p.partitions[part])
	}
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
func (r *Reader) openContent(f io.Reader, regular *os.File, memory int64, chunkBytes int) error {
	counter := &countingReader{r: f}
	in := bufio.NewReaderSize(counter, sniffBytes)
	begin, _ := in.Peek(len(parquetMagic)) //nolint:errcheck // reading on gives the error
	if string(begin) == parquetMagic {
		if regular == nil {
			return &Error{Path: r.path, Msg: "got parquet data from a pipe or a device, want a file: it is not read from its beginning to its end"}
		}
		return r.openParquet(regular, memory)
	}
	r.read = counter.n.Load
	text, packed, err := Unpack(r.path, in)
	if err != nil {
		return err
	}
	if r.layout.packed = packed; packed {
		ahead := newReadAhead(text)
		r.closes = append(r.closes, ahead)
		in = bufio.NewReaderSize(ahead, sniffBytes)
	}
	return r.openText(in, chunkBytes)
}

// Unpack returns the text of a file, whatever its name, and whether gzip has packed it.
func Unpack(path string, in *bufio.Reader) (text io.Reader, packed bool, err error) {
	begin, _ := in.Peek(len(gzipMagic)) //nolint:errcheck // reading on gives the error
	if string(begin) != gzipMagic {
		return in, false, nil
	}
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, true, &Error{Path: path, Msg: fmt.Sprintf("is not a whole gzip file (%s)", sourceError(err)), Err: err}
	}
	return z, true, nil
}

// openText opens a text and finds its layout.
func (r *Reader) openText(in *bufio.Reader, chunkBytes int) error {
	begin := peek(in)
	if text := bytes.TrimSpace(bytes.TrimPrefix(begin, []byte(byteOrderMark))); len(text) > 0 && (text[0] == '{' || text[0] == '[') {
		msg := "got JSON, want text or parquet: in Python, pandas.read_json reads it, and to_csv writes a table (decisions may be a .jsonl file)"
		if graphJSON.Match(text) {
			msg = "got a graph in JSON, want tables of nodes and edges: networkx.node_link_graph reads what networkx wrote, and " + takesGraph
		}
		return &Error{Path: r.path, Line: 1, Msg: msg, Err: ErrJSON}
	}
	if msg := r.noTable(begin); msg != "" {
		return &Error{Path: r.path, Line: 1, Msg: msg}
	}
	if bytes.HasPrefix(begin, []byte(byteOrderMark)) {
		begin = begin[len(byteOrderMark):]
		if _, err := in.Discard(len(byteOrderMark)); err != nil {
			return err
		}
	}
	form, packed, lines := r.parts.form, r.layout.packed, int64(0)
	if match := separatorLine.FindSubmatch(begin); match != nil && r.parts.header == nil {
		begin, form.Delimiter, lines = begin[len(match[0]):], match[1][0], 1
		if _, err := in.Discard(len(match[0])); err != nil {
			return err
		}
	}
	if r.parts.header != nil {
		r.layout = layout{separator: form.Delimiter, comment: noComment, tabs: len(r.parts.header) - 1}
	} else {
		r.layout = layoutOf(begin, form, endingOf(r.path), r.parts.isHeader)
	}
	r.layout.packed = packed
	text := newTextFile(r.path, in, r.layout, chunkBytes)
	text.lines = lines
	r.chunks = func() rows { return &textChunk{file: text} }
	if r.parts.header != nil {
		r.header, text.header = r.parts.header, r.parts.header
		return nil
	}
	return r.setHeader()
}

// separatorLine is the first line by which Excel knows what separates columns.
var separatorLine = regexp.MustCompile("^\"?sep=([^\r\n])\"?\r?\n")

// endingOf is how the name of a file ends, in lower case and without .gz.
func endingOf(path string) string {
	return filepath.Ext(strings.TrimSuffix(strings.ToLower(path), ".gz"))
}

// ErrJSON is what an *Error wraps whose file seems to be JSON.
var ErrJSON = errors.New("table: JSON")

// formats are beginnings of files that are no tables, and what is said of them.
var formats = []struct{ begin, msg string }{
	{"version https://git-lfs", "got a pointer of Git LFS, want the file that it stands for: git lfs pull fetches it"},
	{"PK\x03\x04", "got a zip archive, as .xlsx, .npz and models of PyTorch are, want text or parquet, or for a matrix .npy or .npz"},
	{"BZh", "got bzip2 data, want text or parquet: unpack it with bunzip2"},
	{"\xfd7zXZ", "got xz data, want text or parquet: unpack it with unxz"},
	{"\x28\xb5\x2f\xfd", "got zstd data, want text or parquet: unpack it with unzstd"},
	{"\x93NUMPY", "got an array of numpy, want text or parquet (an array of edges, features or predictions has a name that ends in .npy)"},
	{"ARROW1", "got an Arrow file, want text or parquet"},
	{"\x89HDF", "got an HDF5 file, want text or parquet"},
	{"SQLite format 3", "got an SQLite database, want text or parquet: sqlite3 -csv -header writes a table of it"},
	{"%%MatrixMarket", "got a Matrix Market file, which is not read. In Python, m = scipy.io.mmread(file) reads it. " +
		"Of edges with ids from 0: numpy.save('edges.npy', numpy.transpose(m.nonzero())); " +
		"of features: scipy.sparse.save_npz('features.npz', scipy.sparse.csr_matrix(m))"},
	{"PAR1", "got parquet data within gzip, want it alone: unpack it with gunzip"},
	{"Obj\x01", "got an Avro file, want text or parquet"},
	{"MATLAB 5.0 MAT-file", "got a file of MATLAB, want text or parquet, or for a matrix .npy or .npz: scipy.io.loadmat reads it"},
	{"X\n\x00\x00", rData},
	{"RDX", rData},
	{"<stata_dta>", "got a file of Stata, want text or parquet: pandas.read_stata reads it"},
	{"<", "got XML or HTML, want text or parquet (GraphML: networkx reads it, and graphcleaner.from_networkx of the Python package takes its graph)"},
}

// rData is what is said of files of R.
const rData = "got a file of R (RDS or RData), want text or parquet: write.csv(x, 'x.csv', row.names = FALSE) writes a table of it"

// noTable says what a file is that does not begin as a table of text in UTF-8; empty if it may be one.
func (r *Reader) noTable(begin []byte) string {
	name := r.path
	if msg := graphForm(bytes.TrimPrefix(begin, []byte(byteOrderMark))); msg != "" {
		return msg
	}
	for _, f := range formats {
		if bytes.HasPrefix(begin, []byte(f.begin)) {
			return f.msg
		}
	}
	for _, of := range []struct{ begin, code string }{
		{"\xff\xfe\x00\x00", "UTF-32"}, {"\x00\x00\xfe\xff", "UTF-32"},
		{"\xff\xfe", "UTF-16"}, {"\xfe\xff", "UTF-16"}, // the mark of the order of bytes
	} {
		if bytes.HasPrefix(begin, []byte(of.begin)) {
			return "got " + of.code + " text, want UTF-8: " + converting(name, "iconv -f "+of.code+" -t UTF-8")
		}
	}
	isZero := func(places ...int) bool { // and the others of the first four bytes are not
		for i := range 4 {
			if len(begin) < 4 || (begin[i] == 0) != slices.Contains(places, i) {
				return false
			}
		}
		return true
	}
	const tarMagic = 257
	switch {
	case isZero(1, 2, 3):
		return "got UTF-32 text, want UTF-8: " + converting(name, "iconv -f UTF-32LE -t UTF-8")
	case isZero(0, 1, 2):
		return "got UTF-32 text, want UTF-8: " + converting(name, "iconv -f UTF-32BE -t UTF-8")
	case isZero(1, 3):
		return "got UTF-16 text, want UTF-8: " + converting(name, "iconv -f UTF-16LE -t UTF-8")
	case isZero(0, 2):
		return "got UTF-16 text, want UTF-8: " + converting(name, "iconv -f UTF-16BE -t UTF-8")
	case bytes.HasPrefix(begin[min(tarMagic, len(begin)):], []byte("ustar")):
		return "got a tar archive, want the table in it: tar -xf unpacks it"
	case bytes.HasPrefix(begin, []byte("ORC")) && checkText(begin) != nil:
		return "got an ORC file, want text or parquet"
	case len(begin) > 1 && begin[0] == '\x80' && begin[1] < ' ':
		return "got a pickle of Python, which is not read, want text or parquet"
	case bytes.IndexByte(begin, '\n') < 0 && bytes.IndexByte(begin, '\r') >= 0 && bytes.IndexByte(begin, '\r') < len(begin)-1:
		return "got lines that end with a carriage return alone, want LF or CRLF: " + converting(name, `tr '\r' '\n'`)
	}
	return ""
}

// converting is a command line that makes the file that is wanted.
func converting(path, command string) string {
	if path == stream.Input {
		return command + " converts it"
	}
	ending := filepath.Ext(path)
	into := strings.TrimSuffix(path, ending) + ".new" + ending
	if strings.EqualFold(ending, ".gz") {
		into = strings.TrimSuffix(path, ending) + ".new"
		return fmt.Sprintf("gzip -dc %s | %s > %s", wording.ShellWord(path), command, wording.ShellWord(into))
	}
	return fmt.Sprintf("%s < %s > %s", command, wording.ShellWord(path), wording.ShellWord(into))
}

func (r *Reader) checkHeader() error {
	if len(r.header) > maxColumns {
		return r.Errorf(1, "", "got a header of %d columns, want at most %d", len(r.header), maxColumns)
	}
	for _, name := range r.header {
		if strings.Contains(name, "\r") {
			return r.HeaderErrorf("", "got a carriage return in the header, want lines that end with LF or CRLF")
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
