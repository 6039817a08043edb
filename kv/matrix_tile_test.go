package kv

import (
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestTileRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, columns := rapid.IntRange(1, 9).Draw(t, "rows"), rapid.IntRange(0, 9).Draw(t, "columns")
		zeros := rapid.IntRange(0, 10).Draw(t, "zeros in ten")
		value := rapid.OneOf(rapid.Just(float32(1)), rapid.Float32(), rapid.Just(float32(math.Copysign(0, -1))))
		values := make([]float32, rows*columns)
		for i := range values {
			if rapid.IntRange(1, 10).Draw(t, "zero") > zeros {
				values[i] = value.Draw(t, "value")
			}
		}
		present := make([]bool, rows)
		for i := range present {
			present[i] = rapid.IntRange(0, 5).Draw(t, "absent") > 0
		}
		e, fills := MatrixEncoding{Half: rapid.Bool().Draw(t, "half")}, []float32(nil)
		if rapid.Bool().Draw(t, "shared") {
			fills = rapid.SliceOfN(value, rows, rows).Draw(t, "fills")
			for i, x := range values {
				if x == 0 {
					values[i] = fills[i/columns]
				}
			}
		}
		for i := range rows * min(columns, 1) {
			fill := float32(0)
			if fills != nil {
				fill = fills[i]
			}
			e.round(values[i*columns:(i+1)*columns], fill)
		}
		encoded := e.appendTile(nil, window{values, columns}, present, fills, 0, columns)

		part := tilePart{}
		part.rowLo = rapid.IntRange(0, rows).Draw(t, "first row")
		part.rowHi = rapid.IntRange(part.rowLo, rows).Draw(t, "end row")
		part.lo = rapid.IntRange(0, columns).Draw(t, "first column")
		part.hi = rapid.IntRange(part.lo, columns).Draw(t, "end column")
		width := part.hi - part.lo
		dst := make([]float32, (part.rowHi-part.rowLo)*width)
		for i := range dst {
			dst[i] = 77 // every cell must be written
		}
		if _, err := decodeTile(encoded, rows, columns, part, window{dst, width}); err != nil {
			t.Fatal(err)
		}
		for i := part.rowLo; i < part.rowHi; i++ {
			for j := part.lo; j < part.hi; j++ {
				got, want := dst[(i-part.rowLo)*width+j-part.lo], values[i*columns+j]
				if !present[i] {
					want = float32(math.NaN())
				}
				if math.Float32bits(got) != math.Float32bits(want) {
					t.Fatalf("cell %d,%d: got %v, want %v", i, j, got, want)
				}
			}
		}
		for size := range encoded {
			if _, err := decodeTile(encoded[:size], rows, columns, tilePart{}, window{}); !errors.Is(err, ErrCorrupt) {
				t.Fatalf("cut to %d of %d bytes: got %v, want ErrCorrupt", size, len(encoded), err)
			}
		}
	})
}

func TestTileSizes(t *testing.T) {
	const rows, columns = 512, 32
	present := make([]bool, rows)
	for i := range present {
		present[i] = true
	}
	for _, test := range []struct {
		name string
		cell func(i int) float32
		most int
	}{
		{"zero", func(int) float32 { return 0 }, rows + 10},
		{"one in a hundred set", func(i int) float32 { return float32((i % 100) / 99) }, 2*rows + rows*columns/100},
		{"dense", func(i int) float32 { return float32(i) + 0.5 }, 4*rows*columns + 10},
	} {
		values := make([]float32, rows*columns)
		for i := range values {
			values[i] = test.cell(i)
		}
		if got := len(MatrixEncoding{}.appendTile(nil, window{values, columns}, present, nil, 0, columns)); got > test.most {
			t.Errorf("%s: got %d bytes, want at most %d", test.name, got, test.most)
		}
	}
}

func FuzzDecodeTile(f *testing.F) {
	const rows, columns = 4, 3
	full := tilePart{0, rows, 0, columns}
	present := []bool{true, false, true, true}
	f.Add(MatrixEncoding{}.appendTile(nil, window{make([]float32, rows*columns), columns}, present, nil, 0, columns))
	f.Add(MatrixEncoding{}.appendTile(nil, window{[]float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3}, columns}, present, nil, 0, columns))
	f.Add(MatrixEncoding{Half: true}.appendTile(nil, window{[]float32{1, 2, 2, 4, 4, 6, 7, 7, 7, 1, 2, 1}, columns}, present,
		[]float32{2, 4, 7, 1}, 0, columns))
	f.Add(binary.AppendUvarint([]byte{tileSparse}, math.MaxUint32))
	f.Fuzz(func(t *testing.T, b []byte) {
		dst := make([]float32, rows*columns)
		if _, err := decodeTile(b, rows, columns, full, window{dst, columns}); err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatalf("got %v, want ErrCorrupt", err)
		}
	})
}
