//go:build linux || darwin

package kv

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// faultyStore is an open store of one large table that is cut short below it, with a snapshot that began before.
func faultyStore(t *testing.T, size int64) (*Store, *Tx) {
	t.Helper()
	dir := copyStore(t, everyKind(t, 50))
	damagedStores.Store(dir, true)
	s := openStore(t, dir, Options{})
	tx := s.Begin()
	t.Cleanup(tx.Close)
	tables := append(fileNames(t, dir, "*.sst"), fileNames(t, dir, "*.pack")...)
	if len(tables) < 2 {
		t.Fatal("the store has no tables")
	}
	for _, name := range tables {
		must.Do(t, os.Truncate(filepath.Join(dir, name), size))
	}
	return s, tx
}

// TestTablesCutShortBelowAStore cuts the tables of an open store short, so that what is mapped of them is no more:
// reading them is an ErrCorrupt that names a table, whatever reads, and never the end of the process.
func TestTablesCutShortBelowAStore(t *testing.T) {
	for name, read := range map[string]func(s *Store, tx *Tx) error{
		"a document": func(_ *Store, tx *Tx) error {
			var v any
			return tx.Documents("none").Get("of this name", &v)
		},
		"edges": func(_ *Store, tx *Tx) error {
			for _, err := range allEdges(tx) {
				if err != nil {
					return err
				}
			}
			return nil
		},
		"ids": func(_ *Store, tx *Tx) error {
			for _, err := range tx.records().Scan([]byte{}, nil) {
				if err != nil {
					return err
				}
			}
			return nil
		},
		"entries": func(_ *Store, tx *Tx) error {
			for _, err := range tx.iterate([]byte{}, nil, true) {
				if err != nil {
					return err
				}
			}
			return nil
		},
		"an update": func(s *Store, _ *Tx) error {
			return s.Update(func(tx *Tx) error {
				for _, err := range tx.records().Scan([]byte{}, nil) {
					if err != nil {
						return err
					}
				}
				return nil
			})
		},
		"backup": func(s *Store, _ *Tx) error {
			_, err := s.Backup(t.Context(), io.Discard, BackupOptions{})
			return err
		},
		"check": func(s *Store, _ *Tx) error {
			found := []error{}
			err := s.Check(t.Context(), nil, func(p Problem) { found = append(found, errors.New(p.String())) })
			if len(found) > 0 {
				err = errors.Join(append(found, err, ErrCorrupt)...)
			}
			return err
		},
		"compact": func(s *Store, _ *Tx) error { return s.Compact(t.Context(), nil) },
	} {
		s, tx := faultyStore(t, 0)
		err := read(s, tx)
		if !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: got %v, want ErrCorrupt", name, err)
		} else if runtime.GOOS == "linux" && !strings.Contains(err.Error(), ".sst") &&
			!strings.Contains(err.Error(), ".pack") {
			t.Errorf("%s: got %v, want an error that names a table", name, err)
		}
		tx.Close()
		if err := s.Close(); err != nil && !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: Close: %v", name, err)
		}
	}
}
