package npy

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
)

// A dtype is a type of numbers.
type dtype struct {
	descr string // such as <f4
	kind  byte   // f, i, u, b as in numpy's descr
	size  int    // bytes
	order binary.ByteOrder
}

func parseType(descr string) (dtype, error) {
	t := dtype{descr: descr, order: binary.LittleEndian}
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
	case "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8":
		t.kind, t.size = code[0], int(code[1]-'0')
	default:
		if strings.HasPrefix(code, "O") {
			return t, fmt.Errorf("holds Python objects (%s), which are not read because that means running code, want numbers",
				descr)
		}
		return t, fmt.Errorf("holds values of type %q, want float16, float32, float64, integers or bool", descr)
	}
	return t, nil
}

// floats reads len(dst) values from src.
func (t dtype) floats(dst []float64, src []byte) {
	switch {
	case t.kind == 'f' && t.size == 2:
		for i := range dst {
			dst[i] = half(t.order.Uint16(src[2*i:]))
		}
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

// half is the number that an IEEE 754 binary16 stands for: a sign, 5 bits of exponent, 10 of fraction.
func half(bits uint16) float64 {
	exponent, fraction := int(bits>>10&0x1f), float64(bits&0x3ff)
	var x float64
	switch {
	case exponent == 0x1f && fraction != 0:
		x = math.NaN()
	case exponent == 0x1f:
		x = math.Inf(1)
	case exponent == 0:
		x = math.Ldexp(fraction, -24)
	default:
		x = math.Ldexp(1024+fraction, exponent-25)
	}
	if bits>>15 != 0 {
		return -x
	}
	return x
}

// integers reads len(dst) bools or integers from src.
func (t dtype) integers(dst []int64, src []byte) {
	for i := range dst {
		dst[i] = t.integer(src[t.size*i:])
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
