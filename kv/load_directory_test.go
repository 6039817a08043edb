package kv

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestLoadTarget(t *testing.T) {
	parent := t.TempDir()
	full, file, empty := filepath.Join(parent, "full"), filepath.Join(parent, "file"), filepath.Join(parent, "empty")
	for _, err := range []error{
		os.MkdirAll(filepath.Join(full, "x"), 0o755), os.WriteFile(file, nil, 0o644), os.Mkdir(empty, 0o755),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{full, file} {
		if _, err := NewLoader(dir, LoadOptions{}); !errors.Is(err, ErrExists) {
			t.Errorf("NewLoader(%s): got %v, want ErrExists", dir, err)
		}
	}
	l, err := NewLoader(empty, LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ran := false
	if _, err := l.Commit(t.Context(), func(s *Store) error { ran = true; return nil }); err != nil || !ran {
		t.Fatalf("load into an empty directory: got %v, finish ran: %v", err, ran)
	}
	if n := openTest(t, empty).Begin(); n.NumNodes() != 0 {
		t.Errorf("got %d nodes, want 0", n.NumNodes())
	}
	if _, err := NewLoader(empty, LoadOptions{}); !errors.Is(err, ErrExists) {
		t.Errorf("NewLoader over a store: got %v, want ErrExists", err)
	}
}

func TestLeftoversOfDeadLoadsAreRemoved(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "graph")
	dead := dir + loadMark + "dead"
	living := dir + loadMark + "living"
	other := dir + ".notes"
	for _, path := range []string{dead, living, other} {
		if err := os.MkdirAll(filepath.Join(path, "store"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	unlock, err := lockDirectory(living, false)
	if err != nil {
		t.Fatal(err)
	}
	if unlock == nil {
		t.Skip("directories have no locks here")
	}
	defer func() {
		if err := unlock(); err != nil {
			t.Error(err)
		}
	}()
	first, err := NewLoader(dir, LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	second, err := NewLoader(dir, LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{dead: false, living: true, other: true, first.work.path: true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: got %v, want it there: %v", path, err, want)
		}
	}
	if _, err := first.Commit(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Commit(t.Context(), nil); !errors.Is(err, ErrExists) {
		t.Errorf("the second of two loads: got %v, want ErrExists", err)
	}
}

func TestLoadDirectoriesFollowTheUmask(t *testing.T) {
	parent := t.TempDir()
	made := filepath.Join(parent, "made")
	if err := os.Mkdir(made, 0o777); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(made)
	if err != nil {
		t.Fatal(err)
	}
	want := info.Mode()
	dir := filepath.Join(parent, "graph")
	l, err := NewLoader(dir, LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	check := func(path string) {
		t.Helper()
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: got mode %v, %v; want %v", path, info.Mode(), err, want)
		}
	}
	check(l.work.path)
	if _, err := l.Commit(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	check(dir)
}
