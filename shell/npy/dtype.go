package npy

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
)

// A dtype is a type of numbers.
type dtype struct {
	kind  byte // f, i, u, b as in numpy's descr
	size  int  // bytes
	order binary.ByteOrder
}

func parseType(descr string) (dtype, error) {
	t := dtype{order: binary.LittleEndian}
	code := descr
	if code != "" {
		switch code[0] {
		case '<', '|', '=':
			code = code[1:]
		case '>':
			t.order = binary.BigEndian
			code = code[1:]
		}
	}
	switch code {
	case "b1", "?":
		t.kind, t.size = 'b', 1
	case "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8":
		t.kind, t.size = code[0], int(code[1]-'0')
	default:
		if strings.HasPrefix(code, "O") {
			return t, fmt.Errorf("holds Python objects (%s), which are not read because that means running code, want numbers", descr)
		}
		return t, fmt.Errorf("holds values of type %q, want float32, float64, integers or bool", descr)
	}
	return t, nil
}

// decode reads len(dst) values from src.
func (t dtype) decode(dst []float64, src []byte) {
	switch {
	case t.kind == 'f' && t.size == 4:
		for i := range dst {
			dst[i] = float64(math.Float32frombits(t.order.Uint32(src[4*i:])))
		}
	case t.kind == 'f':
		for i := range dst {
			dst[i] = math.Float64frombits(t.order.Uint64(src[8*i:]))
		}
	case t.kind == 'u' && t.size == 8:
		for i := range dst {
			dst[i] = float64(t.order.Uint64(src[8*i:]))
		}
	default:
		for i := range dst {
			dst[i] = float64(t.integer(src[t.size*i:]))
		}
	}
}

// integer reads one bool or integer; a uint64 above the largest int64 becomes negative.
func (t dtype) integer(src []byte) int64 {
	switch t.size {
	case 1:
		if t.kind == 'i' {
			return int64(int8(src[0]))
		}
		return int64(src[0])
	case 2:
		v := t.order.Uint16(src)
		if t.kind == 'i' {
			return int64(int16(v))
		}
		return int64(v)
	case 4:
		v := t.order.Uint32(src)
		if t.kind == 'i' {
			return int64(int32(v))
		}
		return int64(v)
	}
	return int64(t.order.Uint64(src))
}
