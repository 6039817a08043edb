package query

import (
	"encoding/binary"
	"math"
	"strings"

	"github.com/graphcleaner/graphcleaner/internal/floatbits"
	"github.com/graphcleaner/graphcleaner/kv"
)

// The key of a value is a byte for the kind, and the value. Keys of one property are ordered as index.CompareValues orders the values,
// those that are null last, and NaN after all numbers. No key is the beginning of another, so that keys can follow each other.
const (
	nullKey = math.MaxUint8 // the kind of null

	// In a text, 00 is written as 00 FF, and 00 01 ends it.
	keyEscape = 0xFF
	keyEnd    = 0x01
)

// appendKey appends the key of a value. Minus zero is equal to zero.
func appendKey(b []byte, v kv.Value) []byte {
	switch v.Kind() {
	case kv.KindNull:
		return append(b, nullKey)
	case kv.KindString:
		b = append(b, byte(v.Kind()))
		text := v.Str()
		for {
			i := strings.IndexByte(text, 0)
			if i < 0 {
				return append(append(b, text...), 0, keyEnd)
			}
			b = append(append(b, text[:i]...), 0, keyEscape)
			text = text[i+1:]
		}
	case kv.KindBool:
		bit := byte(0)
		if v.Bool() {
			bit = 1
		}
		return append(b, byte(v.Kind()), bit)
	case kv.KindInt:
		return binary.BigEndian.AppendUint64(append(b, byte(v.Kind())), uint64(v.Int())^1<<63)
	default:
		return binary.BigEndian.AppendUint64(append(b, byte(v.Kind())), floatbits.Order(v.Float()+0))
	}
}

// appendOrder appends the key of a value for a place in an order, in which null is last in either direction.
func appendOrder(b []byte, v kv.Value, descending bool) []byte {
	begin := len(b)
	b = appendKey(b, v)
	if descending && !v.IsNull() {
		for i := range b[begin+1:] {
			b[begin+1+i] = ^b[begin+1+i]
		}
	}
	return b
}

// cutKey is the inverse of appendKey. It returns what follows the key.
func cutKey(b []byte) (v kv.Value, rest []byte) {
	kind, b := b[0], b[1:]
	switch kv.Kind(kind) {
	case nullKey:
		return kv.Value{}, b
	case kv.KindString:
		var text strings.Builder
		for i := 0; ; i++ {
			if b[i] != 0 {
				text.WriteByte(b[i])
				continue
			}
			if i++; b[i] == keyEnd {
				return kv.ValueOf(text.String()), b[i+1:]
			}
			text.WriteByte(0)
		}
	case kv.KindBool:
		return kv.ValueOf(b[0] == 1), b[1:]
	case kv.KindInt:
		return kv.ValueOf(int64(binary.BigEndian.Uint64(b) ^ 1<<63)), b[8:]
	}
	return kv.ValueOf(floatbits.From(binary.BigEndian.Uint64(b))), b[8:]
}
