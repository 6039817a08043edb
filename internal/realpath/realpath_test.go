package realpath

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// TestOf works in a directory that is reached by a link, as a shell does that has followed one.
func TestOf(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights there, and .. goes up from a link")
	}
	root := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	must.Do(t, errors.Join(
		os.MkdirAll(filepath.Join(root, "real/deep/g"), 0o700),
		os.MkdirAll(filepath.Join(root, "short"), 0o700),
		os.Symlink("../real/deep", filepath.Join(root, "short/link")),
		os.Symlink("../real/away", filepath.Join(root, "short/dangling")),
		os.Symlink("loop", filepath.Join(root, "short/loop")),
		os.WriteFile(filepath.Join(root, "short/file"), nil, 0o600),
	))
	t.Chdir(filepath.Join(root, "short/link")) // which sets PWD to the path with the link
	for path, want := range map[string]string{
		".":                       "real/deep",
		"g/":                      "real/deep/g",
		"..":                      "real",
		"../new":                  "real/new",
		"../new/below":            "real/new/below",
		root + "/short/link/../n": "real/n",
		root + "/short/dangling":  "real/away",
		root + "/short/file":      "short/file",
		root + "/short/./link//g": "real/deep/g",
	} {
		if got, err := Of(path); err != nil || got != filepath.Join(root, want) {
			t.Errorf("%s: got %s, %v; want %s", path, got, err, filepath.Join(root, want))
		}
	}
	for _, path := range []string{"nowhere/..", "nowhere/../g"} {
		if got, err := Of(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: got %s, %v; want fs.ErrNotExist, as the system says", path, got, err)
		}
	}
	for _, path := range []string{root + "/short/loop", root + "/short/file/g"} {
		if got, err := Of(path); err == nil {
			t.Errorf("%s: got %s, want an error", path, got)
		}
	}
}
