package kv

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/dgraph-io/badger/v4"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// TestLockBesideChildren opens a store again at once after it was closed, while the process starts others: these have
// its files open until they run their programs.
func TestLockBesideChildren(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("true")
	if err != nil {
		t.Skip("there is no program that ends at once")
	}
	s := newStore(t, Options{})
	dir := s.Dir()
	closeStore(t, s)
	ended := make(chan struct{})
	var starting sync.WaitGroup
	for range 2 {
		starting.Go(func() {
			for {
				select {
				case <-ended:
					return
				default:
				}
				if err := exec.Command(program).Run(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	defer starting.Wait()
	defer close(ended)
	for i := range 20 {
		s, err := Open(dir, Options{MemoryBudget: minMemoryBudget})
		if err != nil {
			t.Fatalf("opened the %dth time: got %v", i+1, err)
		}
		must.Do(t, s.Close())
	}
}

// TestLockIsThatOfBadger makes sure that a store is not open at once here and in a program that leaves the lock to
// Badger, as earlier versions of this one do. It does not run beside tests that start processes: Badger gives its
// lock back by closing the file alone, and a process that was just started has that file open until it runs its
// program.
func TestLockIsThatOfBadger(t *testing.T) {
	s := newStore(t, Options{})
	dir := s.Dir()
	lockFile := filepath.Join(dir, storedir.LockFile)
	if text, err := os.ReadFile(lockFile); err != nil || string(text) != fmt.Sprintf("%d\n", os.Getpid()) {
		t.Errorf("open: LOCK has %q, %v, want the number of this process", text, err)
	}
	other := badger.DefaultOptions(dir).WithLogger(nil)
	if db, err := badger.Open(other); err == nil {
		t.Errorf("Badger opens what is open here: %v", db.Close())
	}
	closeStore(t, s)
	if _, err := os.Stat(lockFile); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("closed: LOCK: got %v, want fs.ErrNotExist", err)
	}
	db := must.Get(badger.Open(other))(t)
	for _, opt := range []Options{{}, {ReadOnly: true}} {
		opt.MemoryBudget = minMemoryBudget
		if s, err := Open(dir, opt); !errors.Is(err, ErrLocked) {
			t.Errorf("open in Badger: got %v, %v, want ErrLocked", s, err)
		}
	}
	must.Do(t, db.Close())
	opt := Options{MemoryBudget: minMemoryBudget, ReadOnly: true}
	readers := [2]*Store{openStore(t, dir, opt), openStore(t, dir, opt)}
	if s, err := Open(dir, Options{MemoryBudget: minMemoryBudget}); !errors.Is(err, ErrLocked) {
		t.Errorf("open for reading twice: got %v, %v, want ErrLocked for a writer", s, err)
	}
	closeStore(t, readers[0])
	closeStore(t, readers[1])
}
