package npy

import (
	"archive/zip"
	"bufio"
	"errors"
	"io"
	"slices"
	"strings"
)

// maxInflation is the most that deflate can make of a byte: a member that claims more is damaged.
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

// stream opens a member to be read.
func (r *Reader) stream(f *zip.File, name string) (*bufio.Reader, error) {
	in, err := f.Open()
	if err != nil {
		return nil, r.fail(name, -1, readError(err, "its header"))
	}
	return bufio.NewReaderSize(in, bufferSize), nil
}

func (r *Reader) openMember(f *zip.File, name string) error {
	v, err := r.openVector(f, name)
	if err != nil {
		return err
	}
	err = r.setShape(v.rows, v.cols)
	if err == nil && v.fortran && v.rows > 1 && v.cols > 1 {
		err = errors.New("is in Fortran order within an archive, want C order (numpy.ascontiguousarray), or .npy")
	}
	if err != nil {
		return r.fail(name, -1, err)
	}
	var values []float64
	r.next = func() (Row, error) {
		if values == nil {
			values = make([]float64, v.cols)
		}
		if err := v.read(values); err != nil {
			return Row{}, r.fail(name, r.at, err)
		}
		return Row{Values: values}, nil
	}
	r.finish = func() error { return r.atEnd(v.in, name) }
	return nil
}

// atEnd reads the end of a member, which is when zip compares its checksum.
func (r *Reader) atEnd(in *bufio.Reader, member string) error {
	_, err := in.ReadByte()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err == nil:
		return r.fail(member, -1, errors.New("holds more than it says"))
	}
	return r.fail(member, -1, readError(err, "its values"))
}
