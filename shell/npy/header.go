package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
)

const (
	magic = "\x93NUMPY"
	// maxColumns bounds the memory that a row takes, and the names of columns. Tables may have as many.
	maxColumns = 1 << 17
)

// A header describes the array of an .npy file.
type header struct {
	dtype
	fortran    bool
	shape      []int64
	rows, cols int64 // of a matrix
	length     int64 // bytes of the header, magic included
}

// readHeader reads the header from the beginning of an .npy file.
func readHeader(r io.Reader) (header, error) {
	var start [10]byte
	n, err := io.ReadFull(r, start[:])
	if got := string(start[:min(n, len(magic))]); !strings.HasPrefix(magic, got) {
		return header{}, errors.New("is not an .npy array: it does not begin with \\x93NUMPY")
	}
	if err != nil {
		return header{}, readError(err, "its header")
	}
	if version := start[6]; version != 1 {
		return header{}, fmt.Errorf("has .npy version %d, want 1, a plain array of numbers", version)
	}
	text := make([]byte, binary.LittleEndian.Uint16(start[8:]))
	if _, err := io.ReadFull(r, text); err != nil {
		return header{}, readError(err, "its header")
	}
	h, err := parseHeader(string(text))
	h.length = int64(len(start) + len(text))
	return h, err
}

// The entries of the Python dictionary of a header, as numpy writes it:
//
//	{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
var (
	descrEntry = regexp.MustCompile(`'descr': *'([^'\\]*)'`)
	orderEntry = regexp.MustCompile(`'fortran_order': *(True|False)`)
	shapeEntry = regexp.MustCompile(`'shape': *\(([0-9, ]*)\)`)
)

func parseHeader(text string) (h header, err error) {
	descr, order, shape := descrEntry.FindStringSubmatch(text), orderEntry.FindStringSubmatch(text),
		shapeEntry.FindStringSubmatch(text)
	if descr == nil || order == nil || shape == nil {
		return h, errors.New("has a header without descr, fortran_order and shape of an array of plain numbers")
	}
	if h.dtype, err = parseType(descr[1]); err != nil {
		return h, err
	}
	h.fortran = order[1] == "True"
	for _, size := range strings.FieldsFunc(shape[1], func(r rune) bool { return r == ',' || r == ' ' }) {
		n, err := strconv.ParseInt(size, 10, 64)
		if err != nil {
			return h, fmt.Errorf("has a header with %q, want a size", size)
		}
		h.shape = append(h.shape, n)
	}
	return h, nil
}

// readMatrix reads the header of a dense matrix, of one or two dimensions, and holds it against the bytes of its file
// or zip member.
func readMatrix(content io.Reader, size int64) (header, error) {
	h, err := readHeader(content)
	if err != nil {
		return h, err
	}
	switch len(h.shape) {
	case 1:
		h.rows, h.cols = h.shape[0], 1
	case 2:
		h.rows, h.cols = h.shape[0], h.shape[1]
	default:
		return h, fmt.Errorf("has shape %s, want a matrix of two dimensions", h.shapeText())
	}
	if h.cols > 0 && h.rows > math.MaxInt64/8/h.cols {
		return h, fmt.Errorf("has shape %s, want at most %d values", h.shapeText(), int64(math.MaxInt64/8))
	}
	want := h.rows * h.cols * int64(h.size)
	if got := size - h.length; got != want {
		return h, fmt.Errorf("holds %d bytes of values, want %d for its shape %s of %s", got, want, h.shapeText(), h.descr)
	}
	return h, nil
}

func (h header) shapeText() string {
	return strings.ReplaceAll(fmt.Sprint(h.shape), " ", "×")
}

// readError words an error of reading what a file must hold.
func readError(err error, what string) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("ends early, inside of %s", what)
	}
	return fmt.Errorf("cannot be read: %w", err)
}
