package index

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"math/big"
	"strings"

	"github.com/graphcleaner/graphcleaner/internal/floatbits"
	"github.com/graphcleaner/graphcleaner/kv"
)

// The encoded form of a value, its key, is a tag byte and a body: see the package comment. No key is a prefix of
// another. A column has one kind, so keys of different tags never meet in one index.
const (
	tagBool   = 0x01
	tagInt    = 0x02
	tagFloat  = 0x03
	tagString = 0x04
)

// maxStringKey is how many bytes of a string its key holds. Longer strings that share them have the same key,
// and are told apart by the column.
const maxStringKey = 128

// maxKeyLen bounds an encoded value: tag, every byte escaped, end mark.
const maxKeyLen = 1 + 2*maxStringKey + 2

const (
	endWhole = 0x01 // after 00: the key holds the whole string
	endCut   = 0x02 // after 00: the string goes on
	escape   = 0xFF // after 00: a zero byte
)

// appendKey appends the key of v, which is not null, to dst. whole is false when v is a string too long for its
// key to hold.
func appendKey(dst []byte, v kv.Value) (key []byte, whole bool) {
	if v.Kind() == kv.KindString && len(v.Str()) > maxStringKey {
		return append(appendString(append(dst, tagString), v.Str()[:maxStringKey]), 0, endCut), false
	}
	return appendWholeKey(dst, v), true
}

// appendWholeKey appends the key of v however long it is.
func appendWholeKey(dst []byte, v kv.Value) []byte {
	switch v.Kind() {
	case kv.KindBool:
		if v.Bool() {
			return append(dst, tagBool, 1)
		}
		return append(dst, tagBool, 0)
	case kv.KindInt:
		return binary.BigEndian.AppendUint64(append(dst, tagInt), uint64(v.Int())^1<<63)
	case kv.KindFloat:
		bits := floatbits.Order(v.Float() + 0) // -0 + 0 is 0
		return binary.BigEndian.AppendUint64(append(dst, tagFloat), bits)
	case kv.KindString:
		return append(appendString(append(dst, tagString), v.Str()), 0, endWhole)
	default:
		panic("index: null has no key") // callers leave nulls out
	}
}

func appendString(dst []byte, s string) []byte {
	for {
		i := strings.IndexByte(s, 0)
		if i < 0 {
			return append(dst, s...)
		}
		dst = append(append(dst, s[:i]...), 0, escape)
		s = s[i+1:]
	}
}

// decodeKey is the inverse of appendKey for a key that is valid. Of a string too long for its key it returns the
// beginning.
func decodeKey(key []byte) kv.Value {
	body := key[1:]
	switch key[0] {
	case tagBool:
		return kv.ValueOf(body[0] == 1)
	case tagInt:
		return kv.ValueOf(int64(binary.BigEndian.Uint64(body) ^ 1<<63))
	case tagFloat:
		return kv.ValueOf(keyFloat(body))
	default:
		text := body[:len(body)-2]
		if bytes.IndexByte(text, 0) >= 0 {
			text = bytes.ReplaceAll(text, []byte{0, escape}, []byte{0})
		}
		return kv.ValueOf(string(text))
	}
}

func keyFloat(body []byte) float64 { return floatbits.From(binary.BigEndian.Uint64(body)) }

// validKey reports whether key is an encoded value.
func validKey(key []byte) bool {
	if len(key) == 0 {
		return false
	}
	body := key[1:]
	switch key[0] {
	case tagBool:
		return len(body) == 1 && body[0] <= 1
	case tagInt:
		return len(body) == 8
	case tagFloat:
		return len(body) == 8 && !math.IsNaN(keyFloat(body))
	case tagString:
		for {
			i := bytes.IndexByte(body, 0)
			if i < 0 || i+1 == len(body) {
				return false
			}
			mark := body[i+1]
			if body = body[i+2:]; mark != escape {
				return (mark == endWhole || mark == endCut) && len(body) == 0
			}
		}
	default:
		return false
	}
}

// keyIsCut reports whether key belongs to strings it does not hold the whole of.
func keyIsCut(key []byte) bool {
	return key[0] == tagString && key[len(key)-1] == endCut
}

// afterPrefix is the least byte string above every one that begins with prefix, or nil when there is none.
func afterPrefix(prefix []byte) []byte {
	next := bytes.Clone(prefix)
	for len(next) > 0 {
		if next[len(next)-1]++; next[len(next)-1] != 0 {
			return next
		}
		next = next[:len(next)-1]
	}
	return nil
}

// CompareValues orders two values of one property, neither null: booleans false first, numbers by their exact
// value whether int or float, strings by their bytes.
func CompareValues(a, b kv.Value) int {
	switch {
	case a.Kind() == b.Kind():
		return a.Compare(b)
	case a.Kind() == kv.KindInt:
		return compareIntFloat(a.Int(), b.Float())
	default:
		return -compareIntFloat(b.Int(), a.Float())
	}
}

// compareIntFloat orders an int64 and a float64, not NaN, without rounding either.
func compareIntFloat(i int64, f float64) int {
	if math.IsInf(f, 0) {
		return -cmp.Compare(f, 0)
	}
	return new(big.Float).SetInt64(i).Cmp(big.NewFloat(f))
}

// holdable finds the value of kind, KindInt or KindFloat, that a number constant c stands for: at is the
// greatest value of kind that is ≤ c, and exact tells whether it equals c. none is true when all values of kind
// are above c.
func holdable(c kv.Value, kind kv.Kind) (at kv.Value, exact, none bool) {
	switch {
	case c.Kind() == kind:
		return c, true, false
	case kind == kv.KindInt:
		f := math.Floor(c.Float())
		switch {
		case f < math.MinInt64:
			return kv.Value{}, false, true
		case f >= math.MaxInt64: // as a float, 2^63
			return kv.ValueOf(math.MaxInt64), false, false
		}
		return kv.ValueOf(int64(f)), f == c.Float(), false
	default:
		f := float64(c.Int())
		switch compareIntFloat(c.Int(), f) {
		case 0:
			return kv.ValueOf(f), true, false
		case -1:
			f = math.Nextafter(f, math.Inf(-1))
		}
		return kv.ValueOf(f), false, false
	}
}
