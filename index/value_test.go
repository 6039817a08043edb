package index

import (
	"bytes"
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/graphcleaner/graphcleaner/kv"
)

// drawValue draws values that sit close to each other, so that order is tried where it is hard.
func drawValue(kind kv.Kind) *rapid.Generator[kv.Value] {
	switch kind {
	case kv.KindBool:
		return rapid.Map(rapid.Bool(), kv.ValueOf[bool])
	case kv.KindInt:
		return rapid.Map(rapid.OneOf(rapid.Int64(), rapid.Int64Range(-2, 2),
			rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64, 1 << 53, 1<<53 + 1})), kv.ValueOf[int64])
	case kv.KindFloat:
		return rapid.Map(rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1, math.Inf(1),
			math.Inf(-1),
			math.SmallestNonzeroFloat64, -math.SmallestNonzeroFloat64, math.MaxFloat64, 1 << 53})), kv.ValueOf[float64])
	default:
		text := rapid.Custom(func(t *rapid.T) string {
			s := rapid.StringOfN(rapid.SampledFrom([]rune{0, 1, 'a', 'b', 'é', '\u00ff', '数'}), 0, 6, -1).Draw(t, "text")
			if rapid.Bool().Draw(t, "long") {
				s = strings.Repeat("x", maxStringKey-rapid.IntRange(0, 3).Draw(t, "short by")) + s
			}
			return s
		})
		return rapid.Map(text, kv.ValueOf[string])
	}
}

var valueKinds = []kv.Kind{kv.KindBool, kv.KindInt, kv.KindFloat, kv.KindString}

func TestKeyOrderIsValueOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom(valueKinds).Draw(t, "kind")
		a, b := drawValue(kind).Draw(t, "a"), drawValue(kind).Draw(t, "b")
		keyA, wholeA := appendKey(nil, a)
		keyB, wholeB := appendKey(nil, b)
		got, want := bytes.Compare(keyA, keyB), CompareValues(a, b)
		if wholeA && wholeB && got != want || got*want < 0 || got != 0 && want == 0 {
			t.Fatalf("keys of %v and %v are %x and %x: got order %d, want %d", a, b, keyA, keyB, got, want)
		}
		if whole := bytes.Compare(appendWholeKey(nil, a), appendWholeKey(nil, b)); whole != want {
			t.Fatalf("whole keys of %v and %v: got order %d, want %d", a, b, whole, want)
		}
		if got != 0 && (bytes.HasPrefix(keyA, keyB) || bytes.HasPrefix(keyB, keyA)) {
			t.Fatalf("keys %x and %x: one is a prefix of the other", keyA, keyB)
		}
		if len(keyA) > maxKeyLen {
			t.Fatalf("key of %v has %d bytes, want at most %d", a, len(keyA), maxKeyLen)
		}
		// Entries of one value stay together, in the order of their nodes.
		if lower := bytes.Compare(newEntry(keyA, math.MaxUint32), newEntry(keyB, 0)); got < 0 && lower >= 0 {
			t.Fatalf("an entry of %v is not below every entry of %v", a, b)
		}
	})
}

func TestKeyRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawValue(rapid.SampledFrom(valueKinds).Draw(t, "kind")).Draw(t, "value")
		key, whole := appendKey(nil, v)
		if !validKey(key) || whole == keyIsCut(key) {
			t.Fatalf("key of %v: %x: got valid %t, cut %t, want valid, cut %t", v, key, validKey(key), keyIsCut(key), !whole)
		}
		got := decodeKey(key)
		if whole && CompareValues(got, v) != 0 || !whole && got.Str() != v.Str()[:maxStringKey] {
			t.Fatalf("key of %v: %x: got %v back", v, key, got)
		}
	})
}

func FuzzDecodeKey(f *testing.F) {
	for _, v := range []kv.Value{kv.ValueOf(true), kv.ValueOf(-1), kv.ValueOf(0.97), kv.ValueOf("a\x00b"),
		kv.ValueOf(strings.Repeat("x", 200))} {
		key, _ := appendKey(nil, v)
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key []byte) {
		if !validKey(key) {
			return
		}
		v := decodeKey(key)
		again := appendWholeKey(nil, v)
		if keyIsCut(key) {
			again[len(again)-1] = endCut
		}
		negativeZero := v.Kind() == kv.KindFloat && v.Float() == 0
		if !bytes.Equal(again, key) && !negativeZero {
			t.Errorf("key %x is %v, whose key is %x", key, v, again)
		}
	})
}

func TestCompareIntFloatIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		i, f := drawValue(kv.KindInt).Draw(t, "int"), drawValue(kv.KindFloat).Draw(t, "float")
		want := new(big.Float).SetPrec(1100).SetInt64(i.Int()).Cmp(new(big.Float).SetPrec(1100).SetFloat64(f.Float()))
		if got := CompareValues(i, f); got != want || CompareValues(f, i) != -want {
			t.Fatalf("%v against %v: got %d and back %d, want %d", i, f, got, CompareValues(f, i), want)
		}
	})
}

// A number constant is replaced by one of the property's kind, and every comparison stays the same.
func TestHoldableKeepsComparisons(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]kv.Kind{kv.KindInt, kv.KindFloat}).Draw(t, "kind")
		c := rapid.OneOf(drawValue(kv.KindInt), drawValue(kv.KindFloat)).Draw(t, "constant")
		v := drawValue(kind).Draw(t, "value")
		p := property{name: "p", kind: kind}
		for op := Eq; op <= Ge; op++ {
			bound := p.bind(op, c)
			got := isNever(bound)
			if !got {
				got = !newTest(bound)(v)
			}
			if want := !op.holds(CompareValues(v, c)); got != want {
				t.Fatalf("%v %v %v became %v: got false %t, want %t", v, op, c, bound, got, want)
			}
		}
	})
}
