package table

import (
	"encoding/binary"
	"errors"
)

// maxThriftDepth bounds how deep the structs and lists of a file's metadata lie in each other. Those of parquet need
// less than 10.
const maxThriftDepth = 64

var (
	errThriftShort = errors.New("its metadata ends early")
	errThrift      = errors.New("its metadata cannot be decoded")
)

// A thriftWalk goes over a struct in Thrift's compact protocol without decoding it. Decoding allocates what a length
// says, and recurses as deep as the data does: what a walk has gone over has no length beyond its end, and is no deeper
// than maxThriftDepth.
type thriftWalk struct {
	data    []byte
	at      int
	structs int64 // that it has met
}

// The types of the compact protocol, as fields have them.
const (
	thriftStop   = 0
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftInt16  = 4
	thriftInt64  = 6
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftMap    = 11
	thriftStruct = 12
)

// strukt goes over a struct.
func (w *thriftWalk) strukt(depth int) error {
	if depth == maxThriftDepth {
		return errThrift
	}
	w.structs++
	for {
		field, err := w.byte()
		if err != nil {
			return err
		}
		kind := field & 0xf
		if field == thriftStop {
			return nil
		}
		if field>>4 == 0 { // the number of the field follows
			if _, err := w.varint(); err != nil {
				return err
			}
		}
		if kind == thriftTrue || kind == thriftFalse {
			continue // the type is the value
		}
		if err := w.value(kind, depth); err != nil {
			return err
		}
	}
}

func (w *thriftWalk) value(kind byte, depth int) error {
	switch {
	case kind >= thriftTrue && kind <= thriftByte: // of a list, booleans take a byte
		return w.skip(1)
	case kind >= thriftInt16 && kind <= thriftInt64:
		_, err := w.varint()
		return err
	case kind == thriftDouble:
		return w.skip(8)
	case kind == thriftBinary:
		length, err := w.varint()
		if err != nil {
			return err
		}
		return w.skip(length)
	case kind == thriftList || kind == thriftSet:
		return w.list(depth + 1)
	case kind == thriftMap:
		return w.pairs(depth + 1)
	case kind == thriftStruct:
		return w.strukt(depth + 1)
	}
	return errThrift
}

func (w *thriftWalk) list(depth int) error {
	if depth == maxThriftDepth {
		return errThrift
	}
	head, err := w.byte()
	if err != nil {
		return err
	}
	length := uint64(head >> 4)
	if length == 0xf {
		if length, err = w.varint(); err != nil {
			return err
		}
	}
	if length > uint64(len(w.data)) {
		return errThriftShort
	}
	for range length {
		if err := w.value(head&0xf, depth); err != nil {
			return err
		}
	}
	return nil
}

func (w *thriftWalk) pairs(depth int) error {
	length, err := w.varint()
	if err != nil || length == 0 {
		return err
	}
	if depth == maxThriftDepth {
		return errThrift
	}
	if length > uint64(len(w.data)) {
		return errThriftShort
	}
	kinds, err := w.byte()
	if err != nil {
		return err
	}
	for range length {
		if err := w.value(kinds>>4, depth); err != nil {
			return err
		}
		if err := w.value(kinds&0xf, depth); err != nil {
			return err
		}
	}
	return nil
}

func (w *thriftWalk) byte() (byte, error) {
	if w.at == len(w.data) {
		return 0, errThriftShort
	}
	w.at++
	return w.data[w.at-1], nil
}

func (w *thriftWalk) varint() (uint64, error) {
	v, n := binary.Uvarint(w.data[w.at:])
	switch {
	case n == 0:
		return 0, errThriftShort
	case n < 0:
		return 0, errThrift
	}
	w.at += n
	return v, nil
}

func (w *thriftWalk) skip(n uint64) error {
	if n > uint64(len(w.data)-w.at) {
		return errThriftShort
	}
	w.at += int(n)
	return nil
}
