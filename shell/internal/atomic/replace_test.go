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

// A replacement that runs keeps others out, and has the new store at its place in the end, also behind a link. What a
// killed one left is gone then.
func TestReplace(t *testing.T) {
	t.Chdir(t.TempDir())
	makeDir(t, "g")
	must.Do(t, os.Symlink("g", "link"))
	makeDir(t, "g.replacing/store")
	made := ""
	must.Do(t, Replace("link", func(dir string) error {
		for _, db := range []string{"g", "link"} {
			if err := Replace(db, nil); err == nil {
				t.Errorf("a second replacement of %s at once: got no error", db)
			}
		}
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: got %v, want nothing there", dir, err)
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

// Where a system cannot exchange two directories at once, they are renamed.
func TestExchangeByRenames(t *testing.T) {
	t.Chdir(t.TempDir())
	makeDir(t, "g")
	for name, exchange := range map[string]func(a, b string) error{"at once": exchange, "by renames": exchangeByRenames} {
		makeDir(t, "new")
		must.Do(t, exchange("new", "g"))
		is, was := must.Get(os.ReadFile("g/is"))(t), must.Get(os.ReadFile("new/is"))(t)
		if names := listDir(t); string(is) != "new" || string(was) == "new" || !slices.Equal(names, []string{"g", "new"}) {
			t.Errorf("%s: got %q, %q and %v, want g and new to be exchanged", name, is, was, names)
		}
		must.Do(t, os.RemoveAll("new"))
		makeDir(t, "g")
		if err := exchange("new", "g"); err == nil {
			t.Errorf("%s: got no error where nothing is made", name)
		}
		if is := must.Get(os.ReadFile("g/is"))(t); string(is) != "g" {
			t.Errorf("%s: after an error: got %q at g", name, is)
		}
	}
}

// After a failure the old store is at its place.
func TestReplaceFails(t *testing.T) {
	t.Chdir(t.TempDir())
	makeDir(t, "g")
	failure := errors.New("failure")
	for name, fail := range map[string]func() error{
		"nothing is made": func() error { return Replace("g", func(string) error { return nil }) },
		"making it fails": func() error {
			return Replace("g", func(dir string) error { return errors.Join(os.Mkdir(dir, 0o700), failure) })
		},
	} {
		if err := fail(); err == nil {
			t.Errorf("%s: got no error", name)
		}
		if is, err := os.ReadFile("g/is"); err != nil || string(is) != "g" {
			t.Errorf("%s: at g: got %q, %v, want the old store", name, is, err)
		}
		if names := listDir(t); !slices.Equal(names, []string{"g"}) {
			t.Errorf("%s: left behind: %v, want g", name, names)
		}
	}
}
