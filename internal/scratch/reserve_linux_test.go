package scratch

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// TestHolesAreFilled copies an array sparsely and maps the copy.
func TestHolesAreFilled(t *testing.T) {
	const length = 1 << 20
	holes := func(path string) bool {
		var info unix.Stat_t
		must.Do(t, unix.Stat(path, &info))
		return info.Blocks*512 < info.Size
	}
	for name, fill := range map[string]func(f *os.File, size int64) error{"reserve": reserve, "rewrite": rewrite} {
		d := must.Get(Open(t.TempDir()))(t)
		path := filepath.Join(d.Path(), "a")
		f := must.Get(os.Create(path))(t)
		defer f.Close()
		must.Get(f.WriteAt([]byte{1, 0, 0, 0}, 4*(length/2)))(t)
		must.Do(t, f.Truncate(4*length))
		if !holes(path) {
			t.Skip("this file system makes no holes")
		}
		must.Do(t, fill(f, 4*length))
		if holes(path) {
			t.Errorf("%s: the file still has holes", name)
		}
		a := must.Get(Keep[uint32](d, "a", length, false))(t)
		for i, x := range a.Data {
			if (x == 1) != (i == length/2) || x > 1 {
				t.Fatalf("%s: number %d is %d", name, i, x)
			}
		}
		must.Do(t, a.Detach())
	}
	d := must.Get(Open(t.TempDir()))(t)
	path := filepath.Join(d.Path(), "b")
	must.Do(t, os.WriteFile(path, nil, 0o600))
	must.Do(t, os.Truncate(path, 4*length))
	a := must.Get(Keep[uint32](d, "b", length, true))(t)
	if holes(path) {
		t.Error("Keep: the file still has holes")
	}
	must.Do(t, a.Close())
}
