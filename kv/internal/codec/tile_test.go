package codec

import (
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

func TestTileRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, columns := rapid.IntRange(1, 9).Draw(t, "rows"), rapid.IntRange(0, 9).Draw(t, "columns")
		zeros := rapid.IntRange(0, 10).Draw(t, "zeros in ten")
		value := rapid.OneOf(rapid.Just(float32(1)), rapid.Float32(), rapid.Just(float32(math.Copysign(0, -1))))
		values := make([]float32, rows*columns)
		for i := range rows {
			row := values[i*columns : (i+1)*columns]
			if rapid.IntRange(0, 5).Draw(t, "unwritten") == 0 {
				FillWith(row, float32(math.NaN()))
				continue
			}
			for j := range row {
				if rapid.IntRange(1, 10).Draw(t, "zero") > zeros {
					row[j] = value.Draw(t, "value")
				}
			}
		}
		encoded := AppendTile(nil, Window{values, columns}, rows, 0, columns)

		part := TilePart{}
		part.RowLo = rapid.IntRange(0, rows).Draw(t, "first row")
		part.RowHi = rapid.IntRange(part.RowLo, rows).Draw(t, "end row")
		part.Lo = rapid.IntRange(0, columns).Draw(t, "first column")
		part.Hi = rapid.IntRange(part.Lo, columns).Draw(t, "end column")
		width := part.Hi - part.Lo
		check := func(decode func(dst Window) error) {
			dst := make([]float32, (part.RowHi-part.RowLo)*width)
			for i := range dst {
				dst[i] = 77 // every cell must be written
			}
			must.Do(t, decode(Window{dst, width}))
			for i := part.RowLo; i < part.RowHi; i++ {
				for j := part.Lo; j < part.Hi; j++ {
					got, want := dst[(i-part.RowLo)*width+j-part.Lo], values[i*columns+j]
					if math.Float32bits(got) != math.Float32bits(want) {
						t.Fatalf("cell %d,%d: got %v, want %v", i, j, got, want)
					}
				}
			}
		}
		check(func(dst Window) error {
			err := DecodeTile(encoded, rows, columns, part, dst)
			return err
		})
		tile := must.Get(NewTile(encoded, rows, columns))(t)
		for range 2 {
			check(func(dst Window) error { return tile.Read(part, dst) })
		}
		for size := range encoded {
			if err := DecodeTile(encoded[:size], rows, columns, TilePart{}, Window{}); !errors.Is(err, record.ErrCorrupt) {
				t.Fatalf("cut to %d of %d bytes: got %v, want ErrCorrupt", size, len(encoded), err)
			}
			if _, err := NewTile(encoded[:size], rows, columns); !errors.Is(err, record.ErrCorrupt) {
				t.Fatalf("cut to %d of %d bytes: got %v of NewTile, want ErrCorrupt", size, len(encoded), err)
			}
		}
	})
}

func TestTileSizes(t *testing.T) {
	const rows, columns = 512, 32
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
		if got := len(AppendTile(nil, Window{values, columns}, rows, 0, columns)); got > test.most {
			t.Errorf("%s: got %d bytes, want at most %d", test.name, got, test.most)
		}
	}
}

func FuzzDecodeTile(f *testing.F) {
	const rows, columns = 4, 3
	full := TilePart{0, rows, 0, columns}
	f.Add(AppendTile(nil, Window{make([]float32, rows*columns), columns}, rows, 0, columns))
	f.Add(AppendTile(nil, Window{[]float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3}, columns}, rows, 0,
		columns))
	f.Add(AppendTile(nil, Window{[]float32{0, 2, 0, 0, 0, 2, 0, 0, 0, 0, 2, 0}, columns}, rows, 0, columns))
	f.Add(binary.AppendUvarint([]byte{tileSparse}, math.MaxUint32))
	f.Fuzz(func(t *testing.T, b []byte) {
		dst := make([]float32, rows*columns)
		if err := DecodeTile(b, rows, columns, full, Window{dst, columns}); err != nil && !errors.Is(err, record.ErrCorrupt) {
			t.Fatalf("got %v, want ErrCorrupt", err)
		}
		tile, err := NewTile(b, rows, columns)
		if err == nil {
			err = tile.Read(TilePart{rows - 1, rows, 0, columns}, Window{dst, columns})
		}
		if err != nil && !errors.Is(err, record.ErrCorrupt) {
			t.Fatalf("got %v of a row, want ErrCorrupt", err)
		}
	})
}
