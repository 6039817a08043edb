package scratch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestArraysOutliveTheirProcessUntilClosed(t *testing.T) {
	d, err := Open(filepath.Join(t.TempDir(), "work"))
	if err != nil {
		t.Fatal(err)
	}
	a, err := New[float64](d, "a", 1000)
	if err != nil {
		t.Fatal(err)
	}
	for i := range a.Data {
		if a.Data[i] != 0 {
			t.Fatalf("entry %d of a new array is %v, want 0", i, a.Data[i])
		}
		a.Data[i] = float64(i) / 3
	}
	if err := errors.Join(a.Sync(), a.Detach()); err != nil {
		t.Fatal(err)
	}
	if _, err := Keep[float64](d, "a", 999); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Keep with another length: got %v, want fs.ErrNotExist", err)
	}
	kept, err := Keep[float64](d, "a", 1000)
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range kept.Data {
		if x != float64(i)/3 {
			t.Fatalf("entry %d of the kept array is %v, want %v", i, x, float64(i)/3)
		}
	}
	if err := errors.Join(kept.Close(), kept.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(d.Path(), "a")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file of a closed array: got %v, want fs.ErrNotExist", err)
	}
}

func TestNilDirIsMemory(t *testing.T) {
	a, err := New[uint32](nil, "a", 10)
	if err != nil || len(a.Data) != 10 {
		t.Fatalf("got %v, %v, want ten numbers", a, err)
	}
	if err := errors.Join(a.Sync(), a.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestNoRoom(t *testing.T) {
	d, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New[uint64](d, "huge", 1<<50); err == nil {
		t.Fatal("an array of 8 PiB was made")
	}
	entries, err := os.ReadDir(d.Path())
	if err != nil || len(entries) > 0 {
		t.Errorf("got %v, %v, want nothing left", entries, err)
	}
}
