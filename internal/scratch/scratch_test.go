package scratch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

func TestArraysOutliveTheirProcessUntilClosed(t *testing.T) {
	d := must.Get(Open(filepath.Join(t.TempDir(), "work")))(t)
	a := must.Get(New[float64](d, "a", 1000))(t)
	for i := range a.Data {
		if a.Data[i] != 0 {
			t.Fatalf("entry %d of a new array is %v, want 0", i, a.Data[i])
		}
		a.Data[i] = float64(i) / 3
	}
	must.Do(t, errors.Join(a.Sync(), a.Detach()))
	if _, err := Keep[float64](d, "a", 999, true); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Keep with another length: got %v, want fs.ErrNotExist", err)
	}
	kept := must.Get(Keep[float64](d, "a", 1000, true))(t)
	for i, x := range kept.Data {
		if x != float64(i)/3 {
			t.Fatalf("entry %d of the kept array is %v, want %v", i, x, float64(i)/3)
		}
	}
	must.Do(t, errors.Join(kept.Close(), kept.Close()))
	if _, err := os.Stat(filepath.Join(d.Path(), "a")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file of a closed array: got %v, want fs.ErrNotExist", err)
	}
}

func TestNilDirIsMemory(t *testing.T) {
	a, err := New[uint32](nil, "a", 10)
	if err != nil || len(a.Data) != 10 {
		t.Fatalf("got %v, %v, want ten numbers", a, err)
	}
	must.Do(t, errors.Join(a.Sync(), a.Close()))
}

func TestNoRoom(t *testing.T) {
	d := must.Get(Open(t.TempDir()))(t)
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
		a := must.Get(New[uint16](d, "same", 5000))(t)
		arrays = append(arrays, a)
	}
	arrays[0].Data[4999], arrays[1].Data[4999] = 1, 2
	if got := arrays[0].Data[4999]; got != 1 {
		t.Errorf("two arrays of one name: got %d in the first, want 1", got)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("while they are open: got %v, %v, want no file", entries, err)
	}
	if _, err := Keep[uint16](d, "same", 5000, true); !errors.Is(err, fs.ErrNotExist) {
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
	d := must.Get(Open(t.TempDir()))(t)
	if _, err := d.Get("a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing put: got %v, want fs.ErrNotExist", err)
	}
	for _, body := range []string{"first", "", "last"} {
		must.Do(t, d.Put("a", []byte(body)))
		if got, err := d.Get("a"); err != nil || string(got) != body {
			t.Errorf("got %q, %v, want %q", got, err, body)
		}
	}
	path := filepath.Join(d.Path(), "a")
	whole := must.Get(os.ReadFile(path))(t)
	for i := range whole {
		damaged := append([]byte(nil), whole...)
		damaged[i] ^= 1
		for _, text := range [][]byte{damaged, whole[:i]} {
			must.Do(t, os.WriteFile(path, text, 0o666))
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
	a := must.Get(New[uint32](d, name, length))(t)
	for i := range a.Data {
		a.Data[i] = uint32(i + 1)
	}
	must.Do(t, errors.Join(a.Sync(), a.Detach()))
}

func TestKeepToWriteAndToRead(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("nothing outlives a process here")
	}
	d := must.Get(Open(t.TempDir()))(t)
	const length = 100000
	keptOf(t, d, "a", length)
	written := must.Get(Keep[uint32](d, "a", length, true))(t)
	written.Data[7] = 70
	read, err := Keep[uint32](Existing(d.Path()), "a", length, false)
	must.Do(t, err)
	if read.Data[7] != 70 || read.Data[length-1] != length {
		t.Errorf("got %d and %d, want 70 and %d", read.Data[7], read.Data[length-1], length)
	}
	must.Do(t, errors.Join(written.Detach(), read.Detach()))
	if _, err := Keep[uint32](d, "a", length-1, false); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Keep to read with another length: got %v, want fs.ErrNotExist", err)
	}
	if os.Geteuid() == 0 {
		return // who may do everything
	}
	path := filepath.Join(d.Path(), "a")
	must.Do(t, os.Chmod(path, 0o400))
	if _, err := Keep[uint32](d, "a", length, true); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Keep of a file that may only be read: got %v, want fs.ErrNotExist", err)
	}
	if read, err = Keep[uint32](d, "a", length, false); err != nil {
		t.Fatal(err)
	}
	must.Do(t, errors.Join(read.Detach(), os.Chmod(path, 0)))
	if _, err := Keep[uint32](d, "a", length, false); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Keep to read of a file that may not be read: got %v, want fs.ErrNotExist", err)
	}
}

func TestExistingMakesNoDirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "missing")
	d := Existing(path)
	if _, err := d.Get("a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Get: got %v, want fs.ErrNotExist", err)
	}
	if _, err := Keep[uint32](d, "a", 1, false); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Keep: got %v, want fs.ErrNotExist", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory: got %v, want fs.ErrNotExist", err)
	}
}

// TestWillRead asks for any part of an array of any kind, whose numbers stay.
func TestWillRead(t *testing.T) {
	const length = 5000
	for name, dir := range map[string]*Dir{
		"memory": nil, "file": Existing(t.TempDir()), "temporary": Temporary(t.TempDir()),
	} {
		a := must.Get(New[float32](dir, "a", length))(t)
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
