package kv

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// Work lends the directory inside the store in which one long job at a time keeps what it has finished, so that it can go
// on after it was interrupted or killed. What is in it is the job's alone. It is no part of the store, and may be
// deleted while no process has the store open.
//
// Work waits until the job before is done, or returns the error of a context that ends first; ErrReadOnly if the store
// was opened so: other processes may be reading it. done, which is called once, lets the next job in. It removes an empty
// directory, other files stay.
func (s *Store) Work(ctx context.Context) (dir *scratch.Dir, done func() error, err error) {
	if s.opt.ReadOnly {
		return nil, nil, fmt.Errorf("%s: %w", s.name, ErrReadOnly)
	}
	if err := s.worker.LockContext(ctx); err != nil {
		return nil, nil, err
	}
	path := filepath.Join(s.dir, storedir.WorkName)
	if err = cmp.Or(s.checkOpen(), s.db.Failed()); err == nil {
		dir, err = scratch.Open(path)
	}
	if err != nil {
		s.worker.Unlock()
		return nil, nil, err
	}
	return dir, func() error {
		defer s.worker.Unlock()
		entries, err := os.ReadDir(path)
		if err != nil || len(entries) > 0 {
			return err
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}, nil
}

// Scratch returns a directory for temporary arrays, which disappear with the process. It is in the directory of the
// store, or, if the store was opened read-only, in that of the system's temporary files. On a file system in memory, a
// tmpfs, the arrays take memory: TMPDIR names another directory.
func (s *Store) Scratch() *scratch.Dir {
	if s.opt.ReadOnly {
		return scratch.Temporary(os.TempDir())
	}
	return scratch.Temporary(s.dir)
}

// Finished is the directory that Work lends, for reading what jobs have kept there; nil if there is none.
func (s *Store) Finished() (*scratch.Dir, error) {
	path := filepath.Join(s.dir, storedir.WorkName)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return scratch.Existing(path), nil
}
