package scratch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
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

func TestTemporaryArraysLeaveNoName(t *testing.T) {
	dir := t.TempDir()
	d := Temporary(dir)
	var arrays []*Array[uint16]
	for range 2 {
		a, err := New[uint16](d, "same", 5000)
		if err != nil {
			t.Fatal(err)
		}
		arrays = append(arrays, a)
	}
	arrays[0].Data[4999], arrays[1].Data[4999] = 1, 2
	if got := arrays[0].Data[4999]; got != 1 {
		t.Errorf("two arrays of one name: got %d in the first, want 1", got)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("while they are open: got %v, %v, want no file", entries, err)
	}
	if _, err := Keep[uint16](d, "same", 5000); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Keep: got %v, want fs.ErrNotExist", err)
	}
	for _, a := range arrays {
		if err := errors.Join(a.Sync(), a.Close(), a.Close()); err != nil {
			t.Error(err)
		}
	}
	if _, err := New[uint16](Temporary(filepath.Join(dir, "missing")), "a", 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in a directory that is not there: got %v, want fs.ErrNotExist", err)
	}
}

func TestSmallFilesAreWholeOrNotThere(t *testing.T) {
	d, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Get("a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing put: got %v, want fs.ErrNotExist", err)
	}
	for _, body := range []string{"first", "", "last"} {
		if err := d.Put("a", []byte(body)); err != nil {
			t.Fatal(err)
		}
		if got, err := d.Get("a"); err != nil || string(got) != body {
			t.Errorf("got %q, %v, want %q", got, err, body)
		}
	}
	path := filepath.Join(d.Path(), "a")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		damaged := append([]byte(nil), whole...)
		damaged[i] ^= 1
		for _, text := range [][]byte{damaged, whole[:i]} {
			if err := os.WriteFile(path, text, 0o666); err != nil {
				t.Fatal(err)
			}
			if got, err := d.Get("a"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("byte %d changed or cut: got %q, %v, want fs.ErrNotExist", i, got, err)
			}
		}
	}
	if entries, err := os.ReadDir(d.Path()); err != nil || len(entries) != 1 {
		t.Errorf("got %v, %v, want one file", entries, err)
	}
}

// keptOf leaves an array of the numbers from 1 on.
func keptOf(t *testing.T, d *Dir, name string, length int) {
	t.Helper()
	a, err := New[uint32](d, name, length)
	if err != nil {
		t.Fatal(err)
	}
	for i := range a.Data {
		a.Data[i] = uint32(i + 1)
	}
	if err := errors.Join(a.Sync(), a.Detach()); err != nil {
		t.Fatal(err)
	}
}

func TestKeepWritesAndKeepToReadDoesNot(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("nothing outlives a process here")
	}
	d, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	const length = 100000
	keptOf(t, d, "a", length)
	written, err := Keep[uint32](d, "a", length)
	if err != nil {
		t.Fatal(err)
	}
	written.Data[7] = 70
	read, err := KeepToRead[uint32](Existing(d.Path()), "a", length)
	if err != nil {
		t.Fatal(err)
	}
	if read.Data[7] != 70 || read.Data[length-1] != length {
		t.Errorf("got %d and %d, want 70 and %d", read.Data[7], read.Data[length-1], length)
	}
	if err := errors.Join(written.Detach(), read.Detach()); err != nil {
		t.Fatal(err)
	}
	if _, err := KeepToRead[uint32](d, "a", length-1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("KeepToRead with another length: got %v, want fs.ErrNotExist", err)
	}
	if os.Geteuid() == 0 {
		return // who may do everything
	}
	path := filepath.Join(d.Path(), "a")
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	if _, err := Keep[uint32](d, "a", length); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Keep of a file that may only be read: got %v, want fs.ErrNotExist", err)
	}
	if read, err = KeepToRead[uint32](d, "a", length); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(read.Detach(), os.Chmod(path, 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := KeepToRead[uint32](d, "a", length); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("KeepToRead of a file that may not be read: got %v, want fs.ErrNotExist", err)
	}
}

func TestExistingMakesNoDirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "missing")
	d := Existing(path)
	if _, err := d.Get("a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Get: got %v, want fs.ErrNotExist", err)
	}
	if _, err := KeepToRead[uint32](d, "a", 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("KeepToRead: got %v, want fs.ErrNotExist", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory: got %v, want fs.ErrNotExist", err)
	}
}

// TestWillRead asks for any part of an array of any kind, whose numbers stay.
func TestWillRead(t *testing.T) {
	const length = 5000
	for name, dir := range map[string]*Dir{"memory": nil, "file": Existing(t.TempDir()), "temporary": Temporary(t.TempDir())} {
		a, err := New[float32](dir, "a", length)
		if err != nil {
			t.Fatal(err)
		}
		for i := range a.Data {
			a.Data[i] = float32(i)
		}
		for _, part := range [][2]int{{0, 0}, {0, length}, {length - 1, length}, {1500, 2500}} {
			a.WillRead(part[0], part[1])
		}
		for i, x := range a.Data {
			if x != float32(i) {
				t.Errorf("%s: number %d is %v", name, i, x)
				break
			}
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}
