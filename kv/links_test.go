//go:build linux || darwin

package kv

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/decisions"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// linked moves a file or directory, and puts a symbolic link in its place.
func linked(t *testing.T, path string) {
	t.Helper()
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	must.Do(t, errors.Join(os.Rename(path, elsewhere), os.Symlink(elsewhere, path)))
}

// TestRepairBehindALink repairs a store that is reached by a symbolic link: what it was stays where the link leads. A
// file that is not the store's is told of, and stays there too.
func TestRepairBehindALink(t *testing.T) {
	t.Parallel()
	dir := everyKind(t, 50)
	flipTable(t, dir)
	must.Do(t, os.WriteFile(filepath.Join(dir, "notes"), nil, 0o600))
	before := bytesOf(t, dir)
	linked(t, dir)
	if done := fmt.Sprint(repaired(t, dir)); !strings.Contains(done, "notes: it is no file of a store: left in ") {
		t.Errorf("did %s, want the notes told of", done)
	}
	checkClean(t, openStore(t, copyStore(t, dir), Options{}))
	target := must.Get(os.Readlink(dir))(t)
	if !maps.Equal(bytesOf(t, target+BeforeRepair), before) {
		t.Error("the files are not beside the store as they were")
	}
}

// TestModesBehindALink opens a store that is reached by a symbolic link: its files get its mode.
func TestModesBehindALink(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	dir := s.Dir()
	closeStore(t, s)
	linked(t, dir)
	table := filepath.Join(dir, "MANIFEST")
	must.Do(t, os.Chmod(table, 0o666))
	closeStore(t, openStore(t, dir, Options{}))
	info, err := os.Stat(table)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got mode %v (%v), want 0600", info.Mode(), err)
	}
}

// TestUpFromALink names directories as link/../g, which is not g beside the link but g beside the directory that the
// link leads to. Every way to a store goes there.
func TestUpFromALink(t *testing.T) {
	original := everyKind(t, 50)
	root := t.TempDir()
	real, short := filepath.Join(root, "real"), filepath.Join(root, "short")
	link := filepath.Join(short, "link")
	must.Do(t, errors.Join(os.MkdirAll(filepath.Join(real, "deep"), 0o700), os.Mkdir(short, 0o700),
		os.Symlink("../real/deep", link),
		os.CopyFS(filepath.Join(real, "g"), os.DirFS(original)), os.CopyFS(filepath.Join(short, "g"), os.DirFS(original))))
	untouched := bytesOf(t, filepath.Join(short, "g"))
	named := func(name string) string { return link + "/../" + name }

	s := openStore(t, named("g"), Options{})
	if want, err := filepath.EvalSymlinks(filepath.Join(real, "g")); err != nil || s.Dir() != want {
		t.Errorf("Dir: got %s, want %s (%v)", s.Dir(), want, err)
	}
	if _, err := Open(filepath.Join(real, "g"), Options{MemoryBudget: minMemoryBudget}); !errors.Is(err, ErrLocked) {
		t.Errorf("opened by the other path as well: got %v, want ErrLocked", err)
	}
	update(t, s, func(tx *Tx) error { return tx.Documents("documents").Put("last", "written") })
	file, _ := backupOf(t, s, nil)
	closeStore(t, s)
	if _, err := s.Begin().Reader(LabelColumn); !errors.Is(err, ErrClosed) || !strings.HasPrefix(err.Error(), named("g")) {
		t.Errorf("got %v, want ErrClosed that names the store as it was given", err)
	}
	flipTable(t, filepath.Join(real, "g"))
	if len(repaired(t, named("g"))) == 0 {
		t.Error("nothing was repaired")
	}

	for name, make := range map[string]func(dir string) error{
		"created": func(dir string) error {
			s, err := Create(dir, Options{MemoryBudget: minMemoryBudget})
			if err != nil {
				return err
			}
			return s.Close()
		},
		"loaded": func(dir string) error {
			l, err := NewLoader(t.Context(), dir, LoadOptions{MemoryBudget: minMemoryBudget})
			if err != nil {
				return err
			}
			_, err = l.Commit(t.Context(), nil)
			return err
		},
		"restored": func(dir string) error {
			_, err := Restore(t.Context(), dir, []io.Reader{bytes.NewReader(file)},
				Options{MemoryBudget: minMemoryBudget}, nil)
			return err
		},
	} {
		if err := make(named(name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !isStore(filepath.Join(real, name)) {
			t.Errorf("%s: it is not where the link leads", name)
		}
		if around, err := StoreAround(named(name) + "/file"); err != nil || filepath.Base(around) != name {
			t.Errorf("%s: StoreAround: got %q, %v", name, around, err)
		}
	}
	if names, err := os.ReadDir(short); err != nil || len(names) != 2 {
		t.Errorf("beside the link: got %v, %v, want g and the link", names, err)
	}
	if !maps.Equal(bytesOf(t, filepath.Join(short, "g")), untouched) {
		t.Error("the store beside the link has changed")
	}
}

// TestChdir opens a store by a relative path in a program that then works in another directory, where another store has
// that path.
func TestChdir(t *testing.T) {
	original := everyKind(t, 50)
	a, b := t.TempDir(), t.TempDir()
	for _, at := range []string{a, b} {
		must.Do(t, os.CopyFS(filepath.Join(at, "g"), os.DirFS(original)))
	}
	untouched := bytesOf(t, filepath.Join(b, "g"))
	t.Chdir(a)
	s := openStore(t, "g", Options{})
	t.Chdir(b)
	update(t, s, func(tx *Tx) error { return tx.Documents("documents").Put("last", "written") })
	if err := s.Compact(t.Context(), nil); err != nil {
		t.Error(err)
	}
	update(t, s, func(tx *Tx) error {
		_, err := tx.AddNode(Node{ID: "after"})
		return err
	})
	work, done, err := s.Work(t.Context())
	must.Do(t, err)
	if err := errors.Join(work.Put("kept", nil), done()); err != nil {
		t.Error(err)
	}
	closeStore(t, s)
	if !maps.Equal(bytesOf(t, "g"), untouched) {
		t.Error("the store that has the path now has changed")
	}
	t.Chdir(a)
	view(t, openStore(t, "g", Options{}), func(tx *Tx) error {
		_, err := tx.Node("after")
		return err
	})
}

// TestForeignFiles puts links, named pipes and the like under names that a store uses, or does not use. Nothing opens
// the store, and what the links lead to stays as it is.
func TestForeignFiles(t *testing.T) {
	t.Parallel()
	original := everyKind(t, 50)
	victim := filepath.Join(t.TempDir(), "victim")
	names := []string{
		storedir.LockFile, storedir.DraftName, "MANIFEST", "KEYREGISTRY", "DISCARD",
		"000001.vlog", "00001.mem",
		"MANIFEST-REWRITE", "000099.sst", decisions.FileName, "of nobody", storedir.WorkName,
		storedir.HolderName,
		"work/run-1/diagonal-1", "holder/address",
	}
	for kind, place := range map[string]func(path string) error{
		"a symbolic link": func(path string) error { return os.Symlink(victim, path) },
		"a named pipe":    func(path string) error { return syscall.Mkfifo(path, 0o600) },
	} {
		for _, name := range names {
			must.Do(t, errors.Join(os.RemoveAll(victim), os.Mkdir(victim, 0o700)))
			if filepath.Ext(name) != "" || strings.ToUpper(name) == name { // the store has files of such names
				must.Do(t, errors.Join(os.Remove(victim), os.WriteFile(victim, []byte("precious"), 0o600)))
			}
			before := statOf(t, victim)
			dir := copyStore(t, original)
			path := filepath.Join(dir, name)
			must.Do(t, errors.Join(os.RemoveAll(path), os.MkdirAll(filepath.Dir(path), 0o700), place(path)))
			opt := Options{MemoryBudget: minMemoryBudget}
			_, opening := Open(dir, opt)
			_, reading := Open(dir, Options{MemoryBudget: minMemoryBudget, ReadOnly: true})
			_, repairing := Repair(t.Context(), dir, opt, nil, func(Correction) {})
			for job, err := range map[string]error{
				"Open": opening, "Open to read": reading, "Repair": repairing,
			} {
				if !errors.Is(err, ErrForeignFile) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), kind) {
					t.Errorf("%s, %s: %s: got %v, want ErrForeignFile that names it", name, kind, job, err)
				}
			}
			if after := statOf(t, victim); after != before {
				t.Errorf("%s, %s: the victim was %s and is %s", name, kind, before, after)
			}
		}
	}
}

// statOf tells whether a file, or what is in a directory, was changed.
func statOf(t *testing.T, path string) string {
	t.Helper()
	info := must.Get(os.Stat(path))(t)
	return info.Mode().String() + info.ModTime().String()
}

// TestHardLinks opens a store one file of which has another name too, as all have after cp -al: it is only read, and
// what the other name leads to stays as it is.
func TestHardLinks(t *testing.T) {
	t.Parallel()
	original := everyKind(t, 50)
	files := fileNames(t, original, "*")
	for _, name := range files {
		dir := copyStore(t, original)
		path, other := filepath.Join(dir, name), filepath.Join(filepath.Dir(dir), "other")
		must.Do(t, os.Link(path, other))
		before := statOf(t, other)
		opt := Options{MemoryBudget: minMemoryBudget}
		_, opening := Open(dir, opt)
		_, repairing := Repair(t.Context(), dir, opt, nil, func(Correction) {})
		for job, err := range map[string]error{"Open": opening, "Repair": repairing} {
			if !errors.Is(err, ErrForeignFile) || !strings.Contains(err.Error(), path) ||
				!strings.Contains(err.Error(), "cp -a") {
				t.Errorf("%s: %s: got %v, want ErrForeignFile that names it and cp -a", name, job, err)
			}
		}
		closeStore(t, openStore(t, dir, Options{ReadOnly: true}))
		if after := statOf(t, other); after != before {
			t.Errorf("%s: the other file was %s and is %s", name, before, after)
		}
	}
}

// TestForeignFilesBesideAStore puts a link where a load works.
func TestForeignFilesBesideAStore(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", storedir.LockFile, "sort/run"} {
		victim := filepath.Join(t.TempDir(), "victim")
		kept := filepath.Join(victim, "precious")
		must.Do(t, errors.Join(os.Mkdir(victim, 0o700), os.WriteFile(kept, []byte("{}"), 0o600)))
		dir := filepath.Join(t.TempDir(), "g")
		link := filepath.Join(dir+loadMark, name)
		must.Do(t, errors.Join(os.MkdirAll(filepath.Dir(link), 0o700), os.Symlink(victim, link)))
		if _, err := NewLoader(t.Context(), dir, LoadOptions{MemoryBudget: minMemoryBudget}); err == nil ||
			!strings.Contains(err.Error(), link) {
			t.Errorf("%q: NewLoader: got %v, want an error that names the link", name, err)
		}
		if names, err := os.ReadDir(victim); err != nil || len(names) != 1 {
			t.Errorf("%q: the victim has %v, %v, want %s", name, names, err, kept)
		}
	}
}
