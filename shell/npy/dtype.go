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
	if strings.HasPrefix(descr, ">") {
		t.order = binary.BigEndian
	}
	switch code := strings.TrimLeft(descr, "<|=>"); code {
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

// isInteger says whether the numbers are integers.
func (t dtype) isInteger() bool { return t.kind == 'i' || t.kind == 'u' }

// floats reads len(dst) values from src.
func (t dtype) floats(dst []float64, src []byte) {
	switch {
	case t.kind == 'f' && t.size == 4:
		for i := range dst {
			dst[i] = float64(math.Float32frombits(t.order.Uint32(src[4*i:])))
		}
	case t.kind == 'f' && t.size == 8:
		for i := range dst {
			dst[i] = math.Float64frombits(t.order.Uint64(src[8*i:]))
		}
	case t.kind == 'f':
		for i := range dst {
			dst[i] = half(t.order.Uint16(src[2*i:]))
		}
	default:
		for i := range dst {
			n := t.integer(src[t.size*i:])
			if dst[i] = float64(n); t.kind == 'u' {
				dst[i] = float64(uint64(n))
			}
		}
	}
}

// half is the number that an IEEE 754 binary16 stands for: a sign, 5 bits of exponent, 10 of fraction.
func half(bits uint16) float64 {
	x := float64(math.Float32frombits(uint32(bits&0x7fff)<<13)) * 0x1p112 // the exponents of a float32 begin 112 lower
	switch magnitude := bits & 0x7fff; {
	case magnitude > 0x7c00:
		return math.NaN()
	case magnitude == 0x7c00:
		x = math.Inf(1)
	}
	return math.Copysign(x, float64(int16(bits))+0.5)
}

// integers reads len(dst) bools or integers from src.
func (t dtype) integers(dst []int64, src []byte) {
	for i := range dst {
		dst[i] = t.integer(src[t.size*i:])
	}
}

// integer reads one bool or integer; a uint64 above the largest int64 becomes negative.
func (t dtype) integer(src []byte) int64 {
	var bits uint64
	switch t.size {
	case 1:
		bits = uint64(src[0])
	case 2:
		bits = uint64(t.order.Uint16(src))
	case 4:
		bits = uint64(t.order.Uint32(src))
	default:
		return int64(t.order.Uint64(src))
	}
	if shift := 64 - 8*t.size; t.kind == 'i' {
		return int64(bits<<shift) >> shift
	}
	return int64(bits)
}
