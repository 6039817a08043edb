package pages

import (
	"errors"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
)

// maxThriftDepth bounds how deep the structs and lists of a file's metadata lie in each other. Those of parquet need
// less than 10.
const maxThriftDepth = 64

var errThrift = errors.New("its metadata cannot be decoded")

// A thriftWalk goes over a struct in Thrift's compact protocol without decoding it. Decoding allocates as many items as a
// list says, and recurses as deep as the data does: what a walk has gone over has all items that it says, and is no deeper
// than maxThriftDepth.
type thriftWalk struct {
	thrift.Reader
	structs int64 // that it has met
}

func walkThrift(data []byte) (*thriftWalk, error) {
	w := &thriftWalk{Reader: new(thrift.CompactProtocol).NewReaderFromBytes(data)}
	return w, w.value(thrift.STRUCT, 0)
}

// isShort reports whether data that a walk failed on may be the beginning of data that it would not.
func isShort(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

func (w *thriftWalk) value(kind thrift.Type, depth int) (err error) {
	if depth == maxThriftDepth {
		return errThrift
	}
	switch kind {
	case thrift.TRUE, thrift.FALSE, thrift.I8: // of a list, booleans take a byte
		_, err = w.ReadInt8()
	case thrift.I16, thrift.I32, thrift.I64:
		_, err = w.ReadInt64()
	case thrift.DOUBLE:
		_, err = w.ReadFloat64()
	case thrift.BINARY:
		_, err = w.ReadBytes() // a view
	case thrift.LIST, thrift.SET:
		var list thrift.List
		if list, err = w.ReadList(); err == nil {
			err = w.values(list.Size, depth, list.Type)
		}
	case thrift.MAP:
		var pairs thrift.Map
		if pairs, err = w.ReadMap(); err == nil {
			err = w.values(pairs.Size, depth, pairs.Key, pairs.Value)
		}
	case thrift.STRUCT:
		w.structs++
		err = w.fields(depth)
	default:
		err = errThrift
	}
	return err
}

// values goes over the items of a list, or the pairs of a map.
func (w *thriftWalk) values(count int32, depth int, kinds ...thrift.Type) error {
	for range count {
		for _, kind := range kinds {
			if err := w.value(kind, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *thriftWalk) fields(depth int) error {
	for {
		field, err := w.ReadField()
		if err != nil || field.Type == thrift.STOP {
			return err
		}
		if field.Type == thrift.TRUE || field.Type == thrift.FALSE {
			continue // the type is the value
		}
		if err := w.value(field.Type, depth+1); err != nil {
			return err
		}
	}
}
