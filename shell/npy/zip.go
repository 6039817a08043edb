package npy

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// maxInflation is the most that deflate can make of a byte: a member that claims more is not what it says.
const maxInflation = 1032

// openZip opens an .npz: a CSR matrix if it holds one, else a single dense array.
func (r *Reader) openZip(content io.ReaderAt, size int64, name string) error {
	archive, err := zip.NewReader(content, size)
	if err != nil {
		return r.errorf("is not a whole .npz file (%v)", err)
	}
	members := make(map[string]*zip.File)
	var names []string
	for _, f := range archive.File {
		member, isArray := strings.CutSuffix(f.Name, ".npy")
		switch {
		case !isArray:
			return r.errorf("holds %q, want arrays of numpy alone", f.Name)
		case members[member] != nil:
			return r.errorf("holds the array %q twice", member)
		case f.Method != zip.Store && f.Method != zip.Deflate:
			return r.errorf("holds the array %q compressed by method %d, want deflate", member, f.Method)
		case f.UncompressedSize64/maxInflation > f.CompressedSize64+1:
			return r.errorf("holds the array %q of %d bytes, which %d compressed bytes cannot give", member,
				f.UncompressedSize64, f.CompressedSize64)
		}
		members[member] = f
		names = append(names, member)
	}
	slices.Sort(names)
	switch {
	case members["indptr"] != nil:
		return r.openCSR(members)
	case members[name] != nil:
	case len(names) == 1:
		name = names[0]
	default:
		return r.errorf("holds the arrays [%.60s], want one, or one called %q, or a scipy CSR matrix",
			strings.Join(names, " "), name)
	}
	return r.openMember(members[name], name)
}

// A memberStream is a stream of an archive. Close of a decompressor says once more, without the name of the file, what
// Read has said.
type memberStream struct{ io.ReadCloser }

// Close closes the stream.
func (m memberStream) Close() error {
	err := m.ReadCloser.Close()
	if _, said := errors.AsType[flate.CorruptInputError](err); said || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// stream opens a member to be read.
func (r *Reader) stream(f *zip.File, name string) (*bufio.Reader, error) {
	stream, err := f.Open()
	if err != nil {
		return nil, r.wrap(name, readError(err, "its header"))
	}
	r.closes = append(r.closes, memberStream{stream})
	return bufio.NewReaderSize(stream, bufferSize), nil
}

func (r *Reader) openMember(f *zip.File, name string) error {
	in, err := r.stream(f, name)
	if err != nil {
		return err
	}
	h, err := readMatrix(in, int64(f.UncompressedSize64))
	if err == nil {
		err = r.setShape(h.rows, h.cols)
	}
	if err == nil && h.fortran && h.rows > 1 && h.cols > 1 {
		err = errors.New("is in Fortran order within an archive, want C order (numpy.ascontiguousarray), or .npy")
	}
	if err != nil {
		return r.wrap(name, err)
	}
	r.next = r.streamRows(in, h.dtype, name)
	r.finish = func() error { return r.atEnd(in, name) }
	return nil
}

// atEnd reads the end of a member, which is when zip compares its checksum.
func (r *Reader) atEnd(in *bufio.Reader, member string) error {
	_, err := in.ReadByte()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err == nil:
		return r.wrap(member, errors.New("holds more than it says"))
	}
	return r.wrap(member, readError(err, "its values"))
}

// A vector streams the values of a one-dimensional member.
type vector struct {
	dtype
	name   string
	in     *bufio.Reader
	length int64
	raw    []byte
}

// openVector opens a one-dimensional member, its length held against the size of the member.
func (r *Reader) openVector(members map[string]*zip.File, name string) (*vector, error) {
	f := members[name]
	if f == nil {
		return nil, r.errorf("has indptr but not %q, want the data, indices, indptr and shape of a scipy CSR matrix", name)
	}
	in, err := r.stream(f, name)
	if err != nil {
		return nil, err
	}
	h, err := readMatrix(in, int64(f.UncompressedSize64))
	if err == nil && len(h.shape) != 1 {
		err = fmt.Errorf("has shape %s, want one dimension", h.shapeText())
	}
	if err != nil {
		return nil, r.wrap(name, err)
	}
	return &vector{dtype: h.dtype, name: name, in: in, length: h.rows}, nil
}

// read reads the next len(dst) values.
func (v *vector) read(dst []float64) error {
	v.raw = slices.Grow(v.raw[:0], len(dst)*v.size)[:len(dst)*v.size]
	if _, err := io.ReadFull(v.in, v.raw); err != nil {
		return readError(err, "its values")
	}
	v.floats(dst, v.raw)
	return nil
}

// integer reads the next value of a vector of integers.
func (v *vector) integer() (int64, error) {
	var raw [8]byte
	if _, err := io.ReadFull(v.in, raw[:v.size]); err != nil {
		return 0, readError(err, "its values")
	}
	return v.dtype.integer(raw[:]), nil
}

// endsWith says whether the text of scipy's member "format" ends in a word. numpy has zeros between the letters.
func endsWith(f *zip.File, word string) (ok bool, err error) {
	stream, err := f.Open()
	if err != nil {
		return false, readError(err, "its header")
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	text, err := io.ReadAll(io.LimitReader(stream, maxHeader))
	if err != nil {
		return false, readError(err, "its values")
	}
	return bytes.HasSuffix(bytes.ReplaceAll(text, []byte{0}, nil), []byte(word)), nil
}
