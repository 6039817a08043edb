package npy

import (
	"fmt"
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
	stored := make([]any, rows*cols)
	for i := range stored {
		bits, place := r.Uint64(), i
		if fortran {
			place = i%cols*rows + i/cols
		}
		var value int64
		switch descr[1:] {
		case "i1":
			value, stored[place] = int64(int8(bits)), int8(bits)
		case "u2":
			value, stored[place] = int64(uint16(bits)), uint16(bits)
		case "i4":
			value, stored[place] = int64(int32(bits)), int32(bits)
		default:
			value, stored[place] = int64(bits), bits
		}
		values = append(values, value)
	}
	return arrayFile(descr, fortran, fmt.Sprintf("(%d, %d)", rows, cols), stored...), values
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
		if m.NumRows != int64(rows) || m.Unsigned() != (descr[1] == 'u') {
			t.Errorf("seed %d, %s: got %d rows, unsigned %t", seed, descr, m.NumRows, m.Unsigned())
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
		must.Do(t, m.Close())
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
		must.Do(t, m.Close())
	}
}

func TestIntegersErrors(t *testing.T) {
	for _, c := range []struct {
		content []byte
		want    string
	}{
		{arrayFile("<f4", false, "(1, 2)", string(make([]byte, 8))), `holds values of type "<f4", want integers`},
		{arrayFile("|b1", false, "(1, 2)", string(make([]byte, 2))), `holds values of type "|b1", want integers`},
		{arrayFile("<i8", false, "(2,)", string(make([]byte, 16))), "has shape [2], want 2 columns, or 2 rows"},
		{arrayFile("<i8", false, "(3, 7)", string(make([]byte, 168))), "has shape [3×7], want 2 columns, or 2 rows"},
		{arrayFile("<i8", false, "(9223372036854775807, 2)"), "want at most"},
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
