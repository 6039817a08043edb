package atomic

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

func makeDir(t testing.TB, dir string) {
	t.Helper()
	must.Do(t, errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "is"), []byte(dir), 0o600)))
}

// A replacement that runs is not taken for one that was killed, and has the new store at its place in the end, also
// behind a link.
func TestReplace(t *testing.T) {
	t.Chdir(t.TempDir())
	makeDir(t, "g")
	must.Do(t, os.Symlink("g", "link"))
	made := ""
	must.Do(t, Replace("link", func(dir string) error {
		for _, db := range []string{"g", "link"} {
			if err := Recover(db); err != nil {
				t.Errorf("recovery of %s beside a running replacement: %v", db, err)
			}
			if err := Replace(db, nil); err == nil {
				t.Errorf("a second replacement of %s at once: got no error", db)
			}
		}
		made = dir
		makeDir(t, dir)
		return nil
	}))
	if is, err := os.ReadFile("link/is"); err != nil || string(is) != made {
		t.Errorf("at g: got %q, %v, want %q", is, err, made)
	}
	if names := listDir(t); !slices.Equal(names, []string{"g", "link"}) {
		t.Errorf("left behind: %v, want g and link", names)
	}
}

// After a failure, and after a kill between the two renames, the old store is at its place.
func TestReplaceFails(t *testing.T) {
	t.Chdir(t.TempDir())
	makeDir(t, "g")
	must.Do(t, os.Symlink("g", "link"))
	failure := errors.New("failure")
	for name, fail := range map[string]func() error{
		"nothing is made": func() error { return Replace("g", func(string) error { return nil }) },
		"making it fails": func() error {
			return Replace("g", func(dir string) error { return errors.Join(os.Mkdir(dir, 0o700), failure) })
		},
		"killed": func() error {
			return errors.Join(os.MkdirAll("g.replacing/new/store", 0o700), os.WriteFile("g.replacing/mark", nil, 0o600),
				os.Rename("g", "g.replacing/old"), Recover("link"), failure)
		},
	} {
		if err := fail(); err == nil {
			t.Errorf("%s: got no error", name)
		}
		if is, err := os.ReadFile("g/is"); err != nil || string(is) != "g" {
			t.Errorf("%s: at g: got %q, %v, want the old store", name, is, err)
		}
		if names := listDir(t); !slices.Equal(names, []string{"g", "link"}) {
			t.Errorf("%s: left behind: %v, want g and link", name, names)
		}
	}
}
