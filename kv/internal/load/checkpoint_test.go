package load

import (
	"encoding/binary"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/offheap"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

func TestKeptNumbers(t *testing.T) {
	name := filepath.Join(t.TempDir(), "numbers")
	write := func(numbers ...uint32) uint32 {
		sum, err := writeNumbers(name, numbers)
		must.Do(t, err)
		return sum
	}
	sum := write(2, 0, 1)
	numbers, err := readNumbers(t.Context(), name, 3, sum)
	if err != nil || !slices.Equal(numbers.Data, []uint32{2, 0, 1}) {
		t.Fatalf("got %v, %v, want 2, 0, 1", numbers.Data, err)
	}
	must.Do(t, numbers.Free())
	for what, read := range map[string]func() (offheap.Array[uint32], error){
		"another checksum": func() (offheap.Array[uint32], error) { return readNumbers(t.Context(), name, 3, sum+1) },
		"another length":   func() (offheap.Array[uint32], error) { return readNumbers(t.Context(), name, 2, sum) },
		"a number twice":   func() (offheap.Array[uint32], error) { return readNumbers(t.Context(), name, 3, write(1, 0, 1)) },
		"a large number":   func() (offheap.Array[uint32], error) { return readNumbers(t.Context(), name, 3, write(3, 0, 1)) },
	} {
		write(2, 0, 1)
		if numbers, err := read(); !errors.Is(err, errNoCheckpoint) || numbers.Data != nil {
			t.Errorf("%s: got %v, %v, want errNoCheckpoint alone", what, numbers.Data, err)
		}
	}
}

// TestDamagedRows damages the file of rows behind the back of a load.
func TestDamagedRows(t *testing.T) {
	s, err := newRowSpool(t.TempDir())
	must.Do(t, err)
	defer func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	}()
	must.Do(t, errors.Join(s.append("a", 1, -1, nil), s.sync()))
	long := binary.AppendUvarint(nil, 1<<62)
	if _, err := s.file.WriteAt(long, 0); err != nil {
		t.Fatal(err)
	}
	s.size = int64(len(long)) + 3
	for row, err := range s.all(t.Context()) {
		if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), s.file.Name()) {
			t.Errorf("an id of 4 EiB: got %v, %v, want io.ErrUnexpectedEOF with the name of the file", row, err)
		}
	}
}
