package kv

import (
	"errors"
	"fmt"
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
	dead := dir + loadMark + "2147483646-1"
	earlier := fmt.Sprintf("%s%s%d-1", dir, loadMark, os.Getpid())
	living := dir + loadMark + "1-1"
	other := dir + loadMark + "notes"
	for _, path := range []string{dead, earlier, living, other} {
		if err := os.MkdirAll(filepath.Join(path, "store"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	first, err := NewLoader(dir, LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	second, err := NewLoader(dir, LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{dead: false, earlier: false, living: true, other: true, first.work.path: true} {
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
