package cleaner

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/graphcleaner/graphcleaner/kv"
)

func closeStore(t *testing.T, s *rowStore) {
	t.Cleanup(func() {
		if err := s.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
			t.Errorf("closing: %v", err)
		}
	})
}

// TestRowStoreKeepsItsValues writes column tiles of ranges of rows concurrently and reads windows back, in memory and
// in a file.
func TestRowStoreKeepsItsValues(t *testing.T) {
	const rows, width = 53, 11
	r := rand.New(rand.NewPCG(1, 0))
	want := make([]float32, rows*width)
	for i := range want {
		want[i] = math.Float32frombits(r.Uint32()) // NaNs with payloads, infinities and −0 among them
	}
	dir := t.TempDir()
	for name, limit := range map[string]int64{"memory": 4 * rows * width, "file": 4*rows*width - 1} {
		t.Run(name, func(t *testing.T) {
			s, err := newRowStore(dir, rows, width, limit)
			if err != nil {
				t.Fatal(err)
			}
			closeStore(t, s)
			if got, wantFile := s.file != nil, name == "file"; got != wantFile {
				t.Fatalf("limit of %d bytes: in a file: %v, want %v", limit, got, wantFile)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
				t.Errorf("directory: got %v and error %v, want it empty", left, err)
			}
			if s.Width() != width {
				t.Errorf("width: got %d, want %d", s.Width(), width)
			}
			zeros := []float32{1, 1, 1}
			if err := s.Read(kv.Range{First: 9, End: 10}, 4, 7, zeros); err != nil || zeros[0] != 0 || zeros[2] != 0 {
				t.Errorf("before any write: got %v and error %v, want zeros", zeros, err)
			}

			var writing sync.WaitGroup
			for lo := 0; lo < width; lo += 4 {
				for first := 0; first < rows; first += 20 {
					hi, end := min(lo+4, width), min(first+20, rows)
					var tile []float32
					for v := first; v < end; v++ {
						tile = append(tile, want[v*width+lo:v*width+hi]...)
					}
					writing.Go(func() {
						if err := s.write(kv.Range{First: kv.NodeID(first), End: kv.NodeID(end)}, lo, hi-lo, tile); err != nil {
							t.Errorf("writing rows %d to %d, columns %d to %d: %v", first, end, lo, hi, err)
						}
					})
				}
			}
			writing.Wait()
			for range 100 {
				first, lo := r.IntN(rows+1), r.IntN(width+1)
				end, hi := first+r.IntN(rows-first+1), lo+r.IntN(width-lo+1)
				got := make([]float32, (end-first)*(hi-lo))
				if err := s.Read(kv.Range{First: kv.NodeID(first), End: kv.NodeID(end)}, lo, hi, got); err != nil {
					t.Fatalf("reading rows %d to %d, columns %d to %d: %v", first, end, lo, hi, err)
				}
				for i, value := range got {
					v, j := first+i/(hi-lo), lo+i%(hi-lo)
					if math.Float32bits(value) != math.Float32bits(want[v*width+j]) {
						t.Fatalf("row %d, column %d: got bits %x, want %x", v, j, math.Float32bits(value), math.Float32bits(want[v*width+j]))
					}
				}
			}
		})
	}
}

// TestRowStoreGathersRows reads rows out of order and twice, of a file of more rows than one read takes.
func TestRowStoreGathersRows(t *testing.T) {
	const rows, width = 3000, 50
	values := make([]float32, rows*width)
	for i := range values {
		values[i] = float32(i)
	}
	for _, limit := range []int64{0, 1 << 30} {
		s, err := newRowStore(t.TempDir(), rows, width, limit)
		if err != nil {
			t.Fatal(err)
		}
		closeStore(t, s)
		if want := int64(4*rows*width) * min(limit, 1); s.inMemory() != want {
			t.Errorf("limit of %d bytes: %d bytes in memory, want %d", limit, s.inMemory(), want)
		}
		if err := s.write(kv.Range{End: rows}, 0, width, values); err != nil {
			t.Fatal(err)
		}
		nodes := []kv.NodeID{2999, 0, 17, 2999, 16}
		got := make([]float32, len(nodes)*width)
		if err := s.gather(nodes, got); err != nil {
			t.Fatal(err)
		}
		for i, v := range nodes {
			if want := values[int(v)*width:][:width]; !slices.Equal(got[i*width:][:width], want) {
				t.Errorf("limit of %d bytes, row %d of node %d: got %v, want %v", limit, i, v, got[i*width:][:width], want)
			}
		}
	}
}

// TestRowStoreKeepsTheNameItMust closes a file that the system would not let go of while it was open.
func TestRowStoreKeepsTheNameItMust(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "rows")
	if err != nil {
		t.Fatal(err)
	}
	s := &rowStore{width: 1, file: file, name: file.Name()}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file.Name()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after Close: got %v, want the file gone", err)
	}
}

func TestRowStoreOfNothing(t *testing.T) {
	for _, size := range [][2]int{{0, 5}, {5, 0}, {0, 0}} {
		s, err := newRowStore(t.TempDir(), size[0], size[1], 0)
		if err != nil {
			t.Fatalf("%d rows of %d columns: %v", size[0], size[1], err)
		}
		all := kv.Range{End: kv.NodeID(size[0])}
		if err := errors.Join(s.write(all, 0, size[1], nil), s.Read(all, 0, size[1], nil), s.Close()); err != nil {
			t.Errorf("%d rows of %d columns: %v", size[0], size[1], err)
		}
	}
}

func TestRowStoreErrors(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	if _, err := newRowStore(missing, 10, 3, 0); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "10 rows of 3 columns") {
		t.Errorf("a directory that is not there: got %v, want os.ErrNotExist for 10 rows of 3 columns", err)
	}
	s, err := newRowStore(t.TempDir(), 10, 3, 0)
	if err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	beyond := kv.Range{First: 10, End: 11}
	if err := s.Read(beyond, 0, 3, make([]float32, 3)); err == nil || !strings.Contains(err.Error(), "temporary file") {
		t.Errorf("reading beyond the end of the file: got %v, want an error that names the temporary file", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	one := kv.Range{First: 0, End: 1}
	if err := s.write(one, 0, 3, make([]float32, 3)); !errors.Is(err, os.ErrClosed) || !strings.Contains(err.Error(), "temporary file") {
		t.Errorf("writing after Close: got %v, want os.ErrClosed", err)
	}
	if err := s.Read(one, 0, 3, make([]float32, 3)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("reading after Close: got %v, want os.ErrClosed", err)
	}
	for _, cause := range []error{nil, errors.New("cause")} {
		s, err := newRowStore(t.TempDir(), 2, 2, 0)
		if err != nil {
			t.Fatal(err)
		}
		closeStore(t, s)
		if got, err := s.orClose(cause); !errors.Is(err, cause) || (got == nil) != (cause != nil) {
			t.Errorf("orClose(%v): got store %v and error %v", cause, got, err)
		}
	}
}
