package npy

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// integersFile returns an .npy file of a type, in C or Fortran order, with rows drawn at random, and its values.
func integersFile(r *rand.Rand, descr string, fortran bool, rows, cols int) (content []byte, values []int64) {
	order := "False"
	if fortran {
		order = "True"
	}
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': (%d, %d), }\n", descr, order, rows, cols)
	content = append([]byte("\x93NUMPY\x01\x00"), byte(len(header)), 0)
	content = append(content, header...)
	values = make([]int64, rows*cols)
	begin, size := len(content), int(descr[2]-'0')
	content = append(content, make([]byte, size*len(values))...)
	for i := range values {
		bits := r.Uint64()
		place := i
		if fortran {
			place = i%cols*rows + i/cols
		}
		at := content[begin+place*size:]
		switch descr[1:] {
		case "i1":
			at[0], values[i] = byte(bits), int64(int8(bits))
		case "u2":
			binary.BigEndian.PutUint16(at, uint16(bits))
			values[i] = int64(uint16(bits))
		case "i4":
			binary.LittleEndian.PutUint32(at, uint32(bits))
			values[i] = int64(int32(bits))
		default:
			binary.LittleEndian.PutUint64(at, bits)
			values[i] = int64(bits)
		}
	}
	return content, values
}

func TestIntegers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.npy")
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 0))
		descr := []string{"|i1", ">u2", "<i4", "<i8", "<u8"}[seed%5]
		rows, cols := r.IntN(20), 2
		content, want := integersFile(r, descr, seed%2 == 0, rows, cols)
		must.Do(t, os.WriteFile(path, content, 0o600))
		m, err := OpenIntegers(t.Context(), path)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if m.NumRows != int64(rows) || m.Unsigned() != (descr[1] == 'u') || m.RowBytes() != int64(cols)*int64(descr[2]-'0') {
			t.Errorf("seed %d, %s: got %d rows of %d bytes, unsigned %t", seed, descr, m.NumRows, m.RowBytes(), m.Unsigned())
		}
		var got []int64
		var raw []byte
		for row := 0; row < rows; {
			part := make([]int64, cols*min(1+r.IntN(7), rows-row))
			if raw, err = m.Read(int64(row), part, raw); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			got = append(got, part...)
			row += len(part) / cols
		}
		if !slices.Equal(got, want) {
			t.Errorf("seed %d, %s: got %v, want %v", seed, descr, got, want)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A matrix with as many rows as there should be columns is read as its transpose.
func TestIntegersTransposed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.npy")
	for seed := range uint64(20) {
		edges := 3 + int(seed)
		content, values := integersFile(rand.New(rand.NewPCG(seed, 0)), "<i8", seed%2 == 0, 2, edges)
		must.Do(t, os.WriteFile(path, content, 0o600))
		m := must.Get(OpenIntegers(t.Context(), path))(t)
		got := make([]int64, 2*edges)
		must.Get(m.Read(0, got, nil))(t)
		var want []int64
		for i := range edges {
			want = append(want, values[i], values[edges+i])
		}
		if m.NumRows != int64(edges) || !slices.Equal(got, want) {
			t.Errorf("seed %d: got %d rows %v, want %d rows %v", seed, m.NumRows, got, edges, want)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestIntegersErrors(t *testing.T) {
	header := func(text string, values int) []byte {
		return append([]byte("\x93NUMPY\x01\x00\x50\x00"), fmt.Sprintf("%-80s%s", text, make([]byte, values))...)
	}
	for _, c := range []struct {
		content []byte
		want    string
	}{
		{header("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }", 8), `holds values of type "<f4", want integers`},
		{header("{'descr': '|b1', 'fortran_order': False, 'shape': (1, 2), }", 2), `holds values of type "|b1", want integers`},
		{header("{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }", 16), "has shape [2], want 2 columns, or 2 rows"},
		{header("{'descr': '<i8', 'fortran_order': False, 'shape': (3, 7), }", 168), "has shape [3×7], want 2 columns, or 2 rows"},
		{header(fmt.Sprintf("{'descr': '<i8', 'fortran_order': False, 'shape': (%d, 2), }", int64(math.MaxInt64)), 0), "want at most"},
	} {
		path := filepath.Join(t.TempDir(), "a.npy")
		must.Do(t, os.WriteFile(path, c.content, 0o600))
		if _, err := OpenIntegers(t.Context(), path); err == nil || !strings.HasPrefix(err.Error(), path+": ") ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want an error with %s", err, c.want)
		}
	}
	if _, err := OpenIntegers(t.Context(), t.TempDir()); err == nil ||
		!strings.Contains(err.Error(), "is a directory") {
		t.Errorf("a directory: got %v", err)
	}
}
