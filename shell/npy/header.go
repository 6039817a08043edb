package npy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

const (
	magic = "\x93NUMPY"
	// maxHeader bounds the header's text. Plain arrays need less than 200 bytes.
	maxHeader = 64 << 10
	// maxColumns bounds the memory that a row takes.
	maxColumns = 1 << 22
)

// A header is what an .npy file says of its array.
type header struct {
	descr   string // such as <f4
	fortran bool
	shape   []int64
	length  int64 // bytes of the header, magic included
}

// readHeader reads the header from the beginning of an .npy file.
func readHeader(r io.Reader) (header, error) {
	var start [12]byte
	n, err := io.ReadFull(r, start[:10])
	if got := string(start[:min(n, len(magic))]); !strings.HasPrefix(magic, got) {
		return header{}, errors.New("is not an .npy array: it does not begin with \\x93NUMPY")
	}
	if err != nil {
		return header{}, readError(err, "its header")
	}
	begin, size := int64(10), int64(binary.LittleEndian.Uint16(start[8:]))
	switch version := start[6]; version {
	case 1:
	case 2, 3:
		if _, err := io.ReadFull(r, start[10:]); err != nil {
			return header{}, readError(err, "its header")
		}
		begin, size = 12, int64(binary.LittleEndian.Uint32(start[8:]))
	default:
		return header{}, fmt.Errorf("has .npy version %d, want 1, 2 or 3", version)
	}
	if size > maxHeader {
		return header{}, fmt.Errorf("has a header of %d bytes, want at most %d (a plain array of numbers)", size, maxHeader)
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(r, text); err != nil {
		return header{}, readError(err, "its header")
	}
	h, err := parseHeader(string(text))
	if err != nil {
		return header{}, fmt.Errorf("has a header that cannot be read: %w", err)
	}
	h.length = begin + size
	return h, nil
}

// parseHeader reads the Python dictionary of a header:
//
//	{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
func parseHeader(text string) (header, error) {
	s := scanner{rest: text}
	var h header
	var descr, order, shape bool
	if err := s.want("{"); err != nil {
		return h, err
	}
	for !s.take("}") {
		key, err := s.quoted()
		if err == nil {
			err = s.want(":")
		}
		if err != nil {
			return h, err
		}
		switch key {
		case "descr":
			if s.peek("[") {
				return h, errors.New("the array is a structured one, want plain numbers")
			}
			h.descr, err = s.quoted()
			descr = true
		case "fortran_order":
			h.fortran, err = s.boolean()
			order = true
		case "shape":
			h.shape, err = s.tuple()
			shape = true
		default:
			return h, fmt.Errorf("got the key %q, want descr, fortran_order and shape", key)
		}
		if err != nil {
			return h, err
		}
		if !s.take(",") && !s.peek("}") {
			return h, s.unexpected(", or }")
		}
	}
	if !descr || !order || !shape {
		return h, errors.New("want all of descr, fortran_order and shape")
	}
	if strings.TrimSpace(s.rest) != "" {
		return h, s.unexpected("its end")
	}
	return h, nil
}

// matrixShape returns rows and columns of a one- or two-dimensional array.
func (h header) matrixShape() (rows, cols int64, err error) {
	switch len(h.shape) {
	case 1:
		rows, cols = h.shape[0], 1
	case 2:
		rows, cols = h.shape[0], h.shape[1]
	default:
		return 0, 0, fmt.Errorf("has shape %s, want a matrix of two dimensions", h.shapeText())
	}
	// The bounds keep rows·cols·size within an int64: 2³²·2²²·8 = 2⁵⁷.
	if rows > math.MaxUint32 || cols > maxColumns {
		return 0, 0, fmt.Errorf("has shape %s, want at most [%d×%d]", h.shapeText(), int64(math.MaxUint32), maxColumns)
	}
	return rows, cols, nil
}

func (h header) shapeText() string {
	var b bytes.Buffer
	for i, n := range h.shape {
		if i > 0 {
			b.WriteString("×")
		}
		b.WriteString(strconv.FormatInt(n, 10))
	}
	return "[" + b.String() + "]"
}

// A scanner reads the few kinds of Python literals that headers have.
type scanner struct{ rest string }

func (s *scanner) skip() { s.rest = strings.TrimLeft(s.rest, " \t\r\n") }

func (s *scanner) peek(token string) bool {
	s.skip()
	return strings.HasPrefix(s.rest, token)
}

func (s *scanner) take(token string) bool {
	if !s.peek(token) {
		return false
	}
	s.rest = s.rest[len(token):]
	return true
}

func (s *scanner) want(token string) error {
	if !s.take(token) {
		return s.unexpected(token)
	}
	return nil
}

func (s *scanner) unexpected(want string) error {
	s.skip()
	got := s.rest[:min(len(s.rest), 20)]
	return fmt.Errorf("got %q, want %s", got, want)
}

func (s *scanner) quoted() (string, error) {
	for _, quote := range []string{"'", `"`} {
		if !s.take(quote) {
			continue
		}
		end := strings.IndexAny(s.rest, quote+"\\")
		if end < 0 || s.rest[end] == '\\' {
			return "", s.unexpected("a plain quoted string")
		}
		text := s.rest[:end]
		s.rest = s.rest[end+1:]
		return text, nil
	}
	return "", s.unexpected("a quoted string")
}

func (s *scanner) boolean() (bool, error) {
	switch {
	case s.take("True"):
		return true, nil
	case s.take("False"):
		return false, nil
	}
	return false, s.unexpected("True or False")
}

func (s *scanner) tuple() ([]int64, error) {
	if err := s.want("("); err != nil {
		return nil, err
	}
	var values []int64
	for !s.take(")") {
		s.skip()
		end := 0
		for end < len(s.rest) && s.rest[end] >= '0' && s.rest[end] <= '9' {
			end++
		}
		n, err := strconv.ParseInt(s.rest[:end], 10, 64)
		if err != nil {
			return nil, s.unexpected("a size")
		}
		s.rest = strings.TrimPrefix(s.rest[end:], "L") // as Python 2 wrote long integers
		values = append(values, n)
		if !s.take(",") && !s.peek(")") {
			return nil, s.unexpected(", or )")
		}
	}
	return values, nil
}

// readError words an error of reading what a file must hold.
func readError(err error, what string) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("ends early, inside of %s", what)
	}
	return fmt.Errorf("cannot be read: %w", err)
}
