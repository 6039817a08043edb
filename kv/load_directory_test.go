package kv

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

func TestLoadTarget(t *testing.T) {
	parent := t.TempDir()
	full, file, empty := filepath.Join(parent, "full"), filepath.Join(parent, "file"), filepath.Join(parent, "empty")
	for _, err := range []error{
		os.MkdirAll(filepath.Join(full, "x"), 0o755), os.WriteFile(file, nil, 0o644), os.Mkdir(empty, 0o755),
	} {
		must.Do(t, err)
	}
	for _, dir := range []string{full, file} {
		if _, err := NewLoader(t.Context(), dir, LoadOptions{}); !errors.Is(err, ErrExists) {
			t.Errorf("NewLoader(%s): got %v, want ErrExists", dir, err)
		}
	}
	l := must.Get(NewLoader(t.Context(), empty, LoadOptions{}))(t)
	ran := false
	if _, err := l.Commit(t.Context(), func(s *Store) error { ran = true; return nil }); err != nil || !ran {
		t.Fatalf("load into an empty directory: got %v, finish ran: %v", err, ran)
	}
	if n := openTest(t, empty).Begin(); n.NumNodes() != 0 {
		t.Errorf("got %d nodes, want 0", n.NumNodes())
	}
	if _, err := NewLoader(t.Context(), empty, LoadOptions{}); !errors.Is(err, ErrExists) {
		t.Errorf("NewLoader over a store: got %v, want ErrExists", err)
	}
}

// TestAbortLeavesTheEmptyDirectory has the directory itself there after a load that was given up, not one like it.
func TestAbortLeavesTheEmptyDirectory(t *testing.T) {
	dir := t.TempDir()
	before := must.Get(os.Stat(dir))(t)
	l := must.Get(NewLoader(t.Context(), dir, LoadOptions{}))(t)
	must.Do(t, l.Abort())
	if after, err := os.Stat(dir); err != nil || !os.SameFile(before, after) {
		t.Errorf("got %v, want the directory that was there", err)
	}
}

func TestLeftoversOfDeadLoadsAreRemoved(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "graph")
	dead, other := filepath.Join(dir+loadMark, "store", "x"), dir+".notes"
	for _, path := range []string{dead, other} {
		must.Do(t, os.MkdirAll(path, 0o755))
	}
	l := must.Get(NewLoader(t.Context(), dir, LoadOptions{}))(t)
	for path, want := range map[string]bool{dead: false, other: true, l.work.path: true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: got %v, want it there: %v", path, err, want)
		}
	}
	must.Get(l.Commit(t.Context(), nil))(t)
}

// TestOneLoadAtATime begins loads of one target at once: one of them goes on, and the others say which.
func TestOneLoadAtATime(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "graph")
	for range 20 {
		loaders, errs := make([]*Loader, 4), make([]error, 4)
		var wg sync.WaitGroup
		for i := range loaders {
			wg.Go(func() { loaders[i], errs[i] = NewLoader(t.Context(), dir, LoadOptions{}) })
		}
		wg.Wait()
		begun := 0
		for i, l := range loaders {
			if l != nil {
				begun++
				continue
			}
			if !errors.Is(errs[i], ErrLocked) {
				t.Errorf("another load: got %v, want ErrLocked", errs[i])
			}
		}
		if begun != 1 {
			t.Fatalf("%d loads into one target began, want one", begun)
		}
		_, err := NewLoader(t.Context(), dir, LoadOptions{})
		if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), "by this process") {
			t.Errorf("while a load is under way: got %v, want an ErrLocked of this process", err)
		}
		for _, l := range loaders {
			if l != nil {
				must.Do(t, l.Abort())
			}
		}
		emptyAfter(t, filepath.Dir(dir), "Abort")
	}
}
