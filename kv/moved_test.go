//go:build linux || darwin

package kv

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// movedVariable says that the process is one that holds the store "store" in its working directory while the directory
// is moved as the value says.
const movedVariable = "GRAPHCLEANER_TEST_MOVED"

// moves are changes to the directory of a store that is held.
var moves = map[string]func() error{
	"replaced": func() error { return errors.Join(os.Rename("store", "moved"), os.Rename("other", "store")) },
	"renamed":  func() error { return os.Rename("store", "moved") },
	"deleted":  func() error { return os.RemoveAll("store") },
}

// TestMovedDirectories moves the directory of a store that is held, and has the holder write, compact and close. What
// is at the path then stays as it is, and the moved store has every commit. The holder is a process of its own, because
// Close leaves goroutines of a moved store.
func TestMovedDirectories(t *testing.T) {
	if how := os.Getenv(movedVariable); how != "" {
		holdMoved(t, moves[how])
		os.Exit(0)
	}
	t.Parallel()
	for how := range moves {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			parent := t.TempDir()
			dir, other := filepath.Join(parent, "store"), filepath.Join(parent, "other")
			s := must.Get(Create(dir, Options{MemoryBudget: minMemoryBudget}))(t)
			addNodes(t, s, 3)
			if err := os.CopyFS(other, os.DirFS(dir)); err != nil { // as after a crash: with logs of the same names
				t.Fatal(err)
			}
			closeStore(t, s)
			want := filesIn(t, other)
			child := exec.Command(os.Args[0], "-test.run=^TestMovedDirectories$", "-test.v")
			child.Dir, child.Env = parent, append(os.Environ(), movedVariable+"="+how)
			if out, err := child.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if how == "replaced" {
				if got := filesIn(t, dir); !maps.Equal(got, want) {
					t.Errorf("the other store has changed: got the files %v, want %v", slices.Sorted(maps.Keys(got)),
						slices.Sorted(maps.Keys(want)))
				}
			} else if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("something is at the path: %v", err)
			}
			if how == "deleted" {
				return
			}
			s = openStore(t, filepath.Join(parent, "moved"), Options{})
			view(t, s, func(tx *Tx) error {
				if got, err := tx.Value(1, "label"); err != nil || got.IsNull() || got.Str() != "acknowledged" {
					t.Errorf("got the label %v (%v), want the one that was committed", got, err)
				}
				return nil
			})
			checkClean(t, s)
			closeStore(t, s)
		})
	}
}

// filesIn are the files in a directory, with their contents.
func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	must.Do(t, fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		files[name] = string(text)
		return err
	}))
	return files
}

// holdMoved holds a store while its directory is moved.
func holdMoved(t *testing.T, move func() error) {
	s := must.Get(Open("store", Options{MemoryBudget: minMemoryBudget}))(t)
	label := func(name string) error {
		return s.Update(func(tx *Tx) error { return tx.SetValue(1, "label", ValueOf(name)) })
	}
	must.Do(t, errors.Join(label("acknowledged"), move()))
	work, _, working := s.Work(t.Context())
	if working == nil {
		t.Errorf("work in %s: got no error", work.Path())
	}
	found := ""
	checked := s.Check(t.Context(), nil, func(p Problem) { found = p.String() })
	if found != "" {
		t.Errorf("check: got %s, want an error", found)
	}
	for what, err := range map[string]error{
		"update": label("later"), "compact": s.Compact(t.Context(), nil), "work": working, "check": checked,
		"close": s.Close(),
	} {
		if !errors.Is(err, ErrMoved) || !strings.Contains(err.Error(), s.Dir()) {
			t.Errorf("%s: got %v, want ErrMoved with the path", what, err)
		}
	}
	if t.Failed() {
		os.Exit(1)
	}
}
