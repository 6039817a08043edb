package codec

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// drawCell draws a value of a column, as it is stored; null now and then.
func drawCell(t *rapid.T, k Kind) Value {
	if rapid.IntRange(0, 9).Draw(t, "null") == 0 {
		return Value{}
	}
	switch k {
	case KindBool:
		return BoolValue(rapid.Bool().Draw(t, "bool"))
	case KindInt:
		return IntValue(rapid.OneOf(rapid.Int64Min(math.MinInt64+1),
			rapid.SampledFrom([]int64{math.MinInt64 + 1, math.MaxInt64}), rapid.Int64Range(-3, 3)).Draw(t, "int"))
	case KindFloat:
		return FloatValue(rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, math.Copysign(0, -1),
			math.Inf(1)})).Draw(t, "float"))
	case KindSingle:
		return FloatValue(float64(rapid.Float32().Draw(t, "single")))
	case KindString:
		return StringValue(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "a", "b", "μ"})).Draw(t, "string"))
	}
	return IntValue(int64(rapid.IntRange(0, 300).Draw(t, "class")))
}

var columnKinds = []Kind{KindBool, KindInt, KindFloat, KindSingle, KindString, KindClass}

func TestColumnBlockRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom(columnKinds).Draw(t, "kind")
		count := rapid.IntRange(0, 40).Draw(t, "count")
		constant := rapid.Bool().Draw(t, "constant")
		want := make([]Value, count)
		for i := range want {
			if i > 0 && constant {
				want[i] = want[0]
			} else {
				want[i] = drawCell(t, kind)
			}
		}
		var block Column
		encoded := AppendColumn(nil, kind, want)
		if err := block.Parse(kind, encoded); err != nil {
			t.Fatalf("%s block of %v: %v", kind, want, err)
		}
		for i := range want {
			if got := block.Cell(i); got != want[i] {
				t.Fatalf("%s block of %v, row %d: got %v, want %v", kind, want, i, got, want[i])
			}
		}
		for size := range encoded {
			if err := block.Parse(kind, encoded[:size]); !errors.Is(err, record.ErrCorrupt) {
				t.Fatalf("%s block of %v cut to %d of %d bytes: got %v, want ErrCorrupt", kind, want, size, len(encoded), err)
			}
		}
	})
}

func TestColumnBlockSizes(t *testing.T) {
	for _, test := range []struct {
		name string
		kind Kind
		cell func(i int) Value
		most int // bytes
	}{
		{"all null", KindFloat, func(int) Value { return Value{} }, 4},
		{"few classes", KindClass, func(i int) Value { return IntValue(int64(i % 40)) }, ColumnRows + 8},
		{"large ints of small range", KindInt, func(i int) Value { return IntValue(1<<40 + int64(i)) }, 2*ColumnRows + 20},
		{"few strings", KindString, func(i int) Value { return StringValue([]string{"train", "test"}[i%2]) },
			ColumnRows + 24},
		{"singles", KindSingle, func(i int) Value { return FloatValue(float64(float32(i) / 3)) }, 4*ColumnRows + 24},
	} {
		cells := make([]Value, ColumnRows)
		for i := range cells {
			cells[i] = test.cell(i)
		}
		if got := len(AppendColumn(nil, test.kind, cells)); got > test.most {
			t.Errorf("%s: got %d bytes, want at most %d", test.name, got, test.most)
		}
	}
}

func FuzzParseColumnBlock(f *testing.F) {
	for i, kind := range columnKinds {
		cells := make([]Value, 10)
		for row := range 9 {
			cell := IntValue(int64(row % 2))
			switch kind {
			case KindFloat, KindSingle:
				cell = FloatValue(float64(row))
			case KindString:
				cell = StringValue(strings.Repeat("x", row))
			}
			cells[row] = cell
		}
		f.Add(byte(i), AppendColumn(nil, kind, cells))
	}
	f.Add(byte(4), binary.AppendUvarint(nil, ColumnRows))
	f.Fuzz(func(t *testing.T, k byte, b []byte) {
		kind := columnKinds[int(k)%len(columnKinds)]
		var block Column
		if err := block.Parse(kind, b); err != nil {
			if !errors.Is(err, record.ErrCorrupt) {
				t.Fatalf("got %v, want ErrCorrupt", err)
			}
			return
		}
		for i := range block.Count {
			block.Cell(i) // must not panic
		}
		block.ReadCodes(make([]uint32, block.Count), nil)
	})
}

func TestValueBytesRoundTrip(t *testing.T) {
	values := []Value{{}, BoolValue(true), BoolValue(false), IntValue(math.MinInt64), IntValue(0), FloatValue(-0.5),
		StringValue(""), StringValue("Ж")}
	for _, v := range values {
		got, err := ParseValue(v.Append(nil))
		if err != nil || got != v {
			t.Errorf("%s %q: got %v, %v", v.Kind(), v, got, err)
		}
	}
	for _, bad := range [][]byte{{}, {0, 0}, {1, 4}, {2}, {3, 1}, {4, 0}, {9}} {
		if _, err := ParseValue(bad); !errors.Is(err, record.ErrCorrupt) {
			t.Errorf("% x: got %v, want ErrCorrupt", bad, err)
		}
	}
	if !slices.IsSortedFunc([]Value{IntValue(-1), IntValue(2)}, Value.Compare) {
		t.Error("-1 does not come before 2")
	}
}
