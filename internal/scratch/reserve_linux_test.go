package scratch

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestHolesAreFilled copies an array sparsely and maps the copy.
func TestHolesAreFilled(t *testing.T) {
	const length = 1 << 20
	holes := func(path string) bool {
		var info unix.Stat_t
		if err := unix.Stat(path, &info); err != nil {
			t.Fatal(err)
		}
		return info.Blocks*512 < info.Size
	}
	for name, fill := range map[string]func(f *os.File, size int64) error{"reserve": reserve, "rewrite": rewrite} {
		d, err := Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(d.Path(), "a")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteAt([]byte{1, 0, 0, 0}, 4*(length/2)); err != nil {
			t.Fatal(err)
		}
		if err := f.Truncate(4 * length); err != nil {
			t.Fatal(err)
		}
		if !holes(path) {
			t.Skip("this file system makes no holes")
		}
		if err := fill(f, 4*length); err != nil {
			t.Fatal(err)
		}
		if holes(path) {
			t.Errorf("%s: the file still has holes", name)
		}
		a, err := KeepToRead[uint32](d, "a", length)
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range a.Data {
			if (x == 1) != (i == length/2) || x > 1 {
				t.Fatalf("%s: number %d is %d", name, i, x)
			}
		}
		if err := a.Detach(); err != nil {
			t.Fatal(err)
		}
	}
	d, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(d.Path(), "b")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 4*length); err != nil {
		t.Fatal(err)
	}
	a, err := Keep[uint32](d, "b", length)
	if err != nil {
		t.Fatal(err)
	}
	if holes(path) {
		t.Error("Keep: the file still has holes")
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
}
