// Package codec turns what a store holds into the bodies of its records, and bodies back into it: values, blocks of
// columns, tiles of matrices, arcs. Bytes that it did not make are an ErrCorrupt, and never a panic. It reads and
// writes no file, and knows no key.
package codec

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// Kind is the type of a property column, or of a Value. The numbers are written to disk.
type Kind uint8

// The kinds of values. Their numbers are part of the format.
const (
	KindNull   Kind = 0
	KindBool   Kind = 1 // bool
	KindInt    Kind = 2 // int64
	KindFloat  Kind = 3 // float64
	KindSingle Kind = 4 // float32 on disk, a Float value when read
	KindString Kind = 5 // UTF-8
	KindClass  Kind = 6 // an entry of the store's class dictionary; a String value when read
)

var kindWords = [...]string{"null", "bool", "int", "float", "single", "string", "class"}

// String is the kind in one word.
func (k Kind) String() string {
	if int(k) < len(kindWords) {
		return kindWords[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// IsColumn reports whether a column can be of the kind.
func (k Kind) IsColumn() bool { return k >= KindBool && k <= KindClass }

// OfCells is the kind of the values that a column of the kind stores. A class is the int of its number.
func (k Kind) OfCells() Kind {
	switch k {
	case KindClass:
		return KindInt
	case KindSingle:
		return KindFloat
	}
	return k
}

// MaxString is the most bytes of a string value.
const MaxString = 1 << 19

// A Value is one property value: null, bool, int64, float64 or string. The zero Value is null. Values are equal when
// == says so. It can be part of a document.
type Value struct {
	kind Kind
	num  uint64 // bool, int64 or float64 bits
	str  string
}

// BoolValue is the value of a bool.
func BoolValue(b bool) Value { return Value{kind: KindBool, num: uint64(Bit(b))} }

// IntValue is the value of an int.
func IntValue(i int64) Value { return Value{kind: KindInt, num: uint64(i)} }

// FloatValue is null for NaN: a store has one way to say that a number is not there.
func FloatValue(f float64) Value {
	if math.IsNaN(f) {
		return Value{}
	}
	return Value{kind: KindFloat, num: math.Float64bits(f)}
}

// StringValue is the value of a string, which should be UTF-8. An empty string is not null.
func StringValue(s string) Value { return Value{kind: KindString, str: s} }

// Kind is one of KindNull, KindBool, KindInt, KindFloat, KindString.
func (v Value) Kind() Kind { return v.kind }

// IsNull reports whether there is no value.
func (v Value) IsNull() bool { return v.kind == KindNull }

// Bool is false for a value that is not a bool.
func (v Value) Bool() bool { return v.kind == KindBool && v.num != 0 }

// Int is zero for a value that is not an int.
func (v Value) Int() int64 {
	if v.kind != KindInt {
		return 0
	}
	return int64(v.num)
}

// Float is also the number of an int; it is NaN for any other value.
func (v Value) Float() float64 {
	switch v.kind {
	case KindFloat:
		return math.Float64frombits(v.num)
	case KindInt:
		return float64(int64(v.num))
	}
	return math.NaN()
}

// Str is empty for a value that is not a string.
func (v Value) Str() string { return v.str }

// String is the value as printed: null is empty, a float in the shortest form that reads back the same.
func (v Value) String() string {
	switch v.kind {
	case KindBool:
		return strconv.FormatBool(v.num != 0)
	case KindInt:
		return strconv.FormatInt(int64(v.num), 10)
	case KindFloat:
		return strconv.FormatFloat(math.Float64frombits(v.num), 'g', -1, 64)
	}
	return v.str
}

// Compare orders two non-null values of one kind.
func (v Value) Compare(w Value) int {
	switch v.kind {
	case KindInt:
		return cmp.Compare(int64(v.num), int64(w.num))
	case KindFloat:
		return cmp.Compare(math.Float64frombits(v.num), math.Float64frombits(w.num))
	case KindString:
		return strings.Compare(v.str, w.str)
	}
	return cmp.Compare(v.num, w.num)
}

// Append adds the value's bytes: its kind, then a bool or int as a varint, a float as eight bytes, little-endian, or a
// string as it is. The end is where the enclosing record ends.
func (v Value) Append(b []byte) []byte {
	b = append(b, byte(v.kind))
	switch v.kind {
	case KindBool, KindInt:
		return binary.AppendVarint(b, int64(v.num))
	case KindFloat:
		return binary.LittleEndian.AppendUint64(b, v.num)
	case KindString:
		return append(b, v.str...)
	}
	return b
}

// ParseValue is the inverse of append.
func ParseValue(b []byte) (Value, error) {
	if len(b) == 0 {
		return Value{}, fmt.Errorf("%w: an empty value", record.ErrCorrupt)
	}
	k, rest := Kind(b[0]), b[1:]
	switch k {
	case KindNull:
		if len(rest) == 0 {
			return Value{}, nil
		}
	case KindBool, KindInt:
		i, n := binary.Varint(rest)
		if n == len(rest) && n > 0 && (k == KindInt || i == 0 || i == 1) {
			return Value{kind: k, num: uint64(i)}, nil
		}
	case KindFloat:
		if len(rest) == 8 {
			return FloatValue(math.Float64frombits(binary.LittleEndian.Uint64(rest))), nil
		}
	case KindString:
		return StringValue(string(rest)), nil
	}
	return Value{}, fmt.Errorf("%w: not a value", record.ErrCorrupt)
}

// EncodeMsgpack lets a value be part of a document.
func (v Value) EncodeMsgpack(enc *msgpack.Encoder) error { return enc.EncodeBytes(v.Append(nil)) }

// DecodeMsgpack is the inverse of EncodeMsgpack.
func (v *Value) DecodeMsgpack(dec *msgpack.Decoder) error {
	b, err := dec.DecodeBytes()
	if err != nil {
		return err
	}
	return v.Parse(b)
}

// Parse reads what Append appends to nothing. It returns ErrCorrupt for anything else.
func (v *Value) Parse(b []byte) (err error) {
	*v, err = ParseValue(b)
	return err
}
