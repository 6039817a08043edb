package rowstore

import (
	"errors"
	"io/fs"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

func closeStore(t *testing.T, s *Store) {
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
}

// TestRowStoreKeepsItsValues writes column tiles of ranges of rows concurrently and reads windows back, in memory and
// in a file.
func TestRowStoreKeepsItsValues(t *testing.T) {
	const rows, width, tile = 53, 37, 7
	r := rand.New(rand.NewPCG(1, 0))
	want := make([]float32, rows*width)
	for i := range want {
		want[i] = math.Float32frombits(r.Uint32()) // NaNs with payloads, infinities and −0 among them
	}
	for name, dir := range map[string]*scratch.Dir{"memory": nil, "file": scratch.Temporary(t.TempDir())} {
		t.Run(name, func(t *testing.T) {
			s := must.Get(New(dir, rows, width))(t)
			closeStore(t, s)
			if s.Width() != width {
				t.Errorf("width: got %d, want %d", s.Width(), width)
			}
			zeros := []float32{1, 1, 1}
			if err := s.Read(kv.Range{First: 9, End: 10}, 15, 18, zeros); err != nil || zeros[0] != 0 || zeros[2] != 0 {
				t.Errorf("before any write: got %v and error %v, want zeros", zeros, err)
			}

			var writing sync.WaitGroup
			for lo := 0; lo < width; lo += tile {
				for first := 0; first < rows; first += 20 {
					hi, end := min(lo+tile, width), min(first+20, rows)
					var values []float32
					for v := first; v < end; v++ {
						values = append(values, want[v*width+lo:v*width+hi]...)
					}
					writing.Go(func() {
						if err := s.Write(kv.Range{First: kv.NodeID(first), End: kv.NodeID(end)}, lo, hi-lo, values); err != nil {
							t.Errorf("writing rows %d to %d, columns %d to %d: %v", first, end, lo, hi, err)
						}
					})
				}
			}
			writing.Wait()
			for range 200 {
				first, lo := r.IntN(rows+1), r.IntN(width+1)
				end, hi := first+r.IntN(rows-first+1), lo+r.IntN(width-lo+1)
				got := make([]float32, (end-first)*(hi-lo))
				if err := s.Read(kv.Range{First: kv.NodeID(first), End: kv.NodeID(end)}, lo, hi, got); err != nil {
					t.Fatalf("reading rows %d to %d, columns %d to %d: %v", first, end, lo, hi, err)
				}
				for i, value := range got {
					v, j := first+i/(hi-lo), lo+i%(hi-lo)
					if math.Float32bits(value) != math.Float32bits(want[v*width+j]) {
						t.Fatalf("row %d, column %d: got bits %x, want %x", v, j, math.Float32bits(value),
							math.Float32bits(want[v*width+j]))
					}
				}
			}
		})
	}
}

func TestRowStoreOfNothing(t *testing.T) {
	dir := scratch.Temporary(t.TempDir())
	for _, size := range [][2]int{{0, 5}, {5, 0}, {0, 0}} {
		s, err := New(dir, size[0], size[1])
		if err != nil {
			t.Fatalf("%d rows of %d columns: %v", size[0], size[1], err)
		}
		all := kv.Range{End: kv.NodeID(size[0])}
		if err := errors.Join(s.Write(all, 0, size[1], nil), s.Read(all, 0, size[1], nil), s.Close()); err != nil {
			t.Errorf("%d rows of %d columns: %v", size[0], size[1], err)
		}
	}
}

func TestRowStoreErrors(t *testing.T) {
	missing := scratch.Temporary(filepath.Join(t.TempDir(), "missing"))
	if _, err := New(missing, 10, 3); !errors.Is(err, fs.ErrNotExist) ||
		!strings.Contains(err.Error(), "10 rows of 3 columns") {
		t.Errorf("a directory that is not there: got %v, want fs.ErrNotExist for 10 rows of 3 columns", err)
	}
	for _, cause := range []error{nil, errors.New("cause")} {
		s := must.Get(New(nil, 10, 3))(t)
		closeStore(t, s)
		beyond := kv.Range{First: 10, End: 11}
		if err := s.Read(beyond, 0, 3, make([]float32, 3)); !errors.Is(err, ErrShape) {
			t.Errorf("reading beyond the last row: got %v, want errShape", err)
		}
		if err := s.Write(kv.Range{First: 0, End: 2}, 0, 3, make([]float32, 5)); !errors.Is(err, ErrShape) {
			t.Errorf("writing two rows of five values: got %v, want errShape", err)
		}
		if got, err := s.OrClose(cause); !errors.Is(err, cause) || (got == nil) != (cause != nil) {
			t.Errorf("orClose(%v): got store %v and error %v", cause, got, err)
		}
	}
}
