package kv

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/vmihailenco/msgpack/v5"
)

// A NodeID numbers a node inside a store: dense, 0 ≤ v < Tx.NumNodes. The bulk load numbers nodes by descending
// degree (ties in file order); nodes added later follow.
type NodeID uint32

// NoNode is no node: a store has at most this many, numbered below it.
const NoNode NodeID = math.MaxUint32

// A Class is a position in Tx.Classes; NoClass means unlabelled.
type Class int32

// NoClass is the class of an unlabelled node.
const NoClass Class = -1

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

// isColumn reports whether a column can be of the kind.
func (k Kind) isColumn() bool { return k >= KindBool && k <= KindClass }

// Limits on what a store takes, in bytes.
const (
	MaxID     = 1 << 10 // of an external node id
	MaxName   = 256     // of a column, matrix, space or class
	MaxString = 1 << 19 // of a string value
)

// A Value is one property value: null, bool, int64, float64 or string. The zero Value is null. Values are equal when
// == says so. It can be part of a document.
type Value struct {
	kind Kind
	num  uint64 // bool, int64 or float64 bits
	str  string
}

// BoolValue is the value of a bool.
func BoolValue(b bool) Value {
	if b {
		return Value{kind: KindBool, num: 1}
	}
	return Value{kind: KindBool}
}

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

// compare orders two non-null values of one kind.
func (v Value) compare(w Value) int {
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

// append adds the value's bytes: its kind, then a bool or int as a varint, a float as eight bytes, little-endian, or a
// string as it is. The end is where the enclosing record ends.
func (v Value) append(b []byte) []byte {
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

// parseValue is the inverse of append.
func parseValue(b []byte) (Value, error) {
	if len(b) == 0 {
		return Value{}, fmt.Errorf("%w: an empty value", ErrCorrupt)
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
	return Value{}, fmt.Errorf("%w: not a value", ErrCorrupt)
}

// EncodeMsgpack lets a value be part of a document.
func (v Value) EncodeMsgpack(enc *msgpack.Encoder) error { return enc.EncodeBytes(v.append(nil)) }

// DecodeMsgpack is the inverse of EncodeMsgpack.
func (v *Value) DecodeMsgpack(dec *msgpack.Decoder) error {
	b, err := dec.DecodeBytes()
	if err != nil {
		return err
	}
	*v, err = parseValue(b)
	return err
}

// fit converts a value to one that a column of a kind holds: a number for a float column, a float32's worth for a
// single one. A class stays a string, and the empty class is null.
func (k Kind) fit(v Value) (Value, error) {
	switch {
	case v.IsNull():
		return v, nil
	case k == KindBool && v.kind == KindBool, k == KindInt && v.kind == KindInt, k == KindFloat && v.kind == KindFloat:
		return v, nil
	case k == KindFloat && v.kind == KindInt:
		return FloatValue(v.Float()), nil
	case k == KindSingle && (v.kind == KindInt || v.kind == KindFloat):
		return FloatValue(float64(float32(v.Float()))), nil
	case k == KindString && v.kind == KindString:
		if len(v.str) > MaxString {
			return Value{}, fmt.Errorf("%w: a string of %d bytes, want at most %d", ErrInvalidValue, len(v.str), MaxString)
		}
		if !utf8.ValidString(v.str) {
			return Value{}, fmt.Errorf("%w: the string %q is not UTF-8", ErrInvalidValue, v.str)
		}
		return v, nil
	case k == KindClass && v.kind == KindString:
		if v.str == "" {
			return Value{}, nil
		}
		return v, validateName("class", v.str)
	}
	return Value{}, fmt.Errorf("%w: got %s %q, want %s", ErrInvalidValue, v.kind, v, k)
}

// validateName checks the name of a column, matrix, space or class; what says which of these it is.
func validateName(what, name string) error {
	return validateText(what+" name ", name, MaxName, ErrInvalidName)
}

// validateID checks an external node id.
func validateID(id string) error { return validateText("", id, MaxID, ErrInvalidID) }

// validateText checks a text that sentinel says the use of; what, with a blank behind it, is put before the text.
func validateText(what, text string, limit int, sentinel error) error {
	switch {
	case text == "":
		return fmt.Errorf("%w: %s%q is empty", sentinel, what, text)
	case len(text) > limit:
		return fmt.Errorf("%w: %s%q… has %d bytes, want at most %d", sentinel, what, firstRunes(text, 20), len(text), limit)
	case !utf8.ValidString(text):
		return fmt.Errorf("%w: %s%q is not UTF-8", sentinel, what, text)
	}
	if i := strings.IndexFunc(text, isControl); i >= 0 {
		return fmt.Errorf("%w: %s%q has a control character at byte %d", sentinel, what, text, i)
	}
	return nil
}

// isControl reports the characters that break a line of output, or a key.
func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

func firstRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}
