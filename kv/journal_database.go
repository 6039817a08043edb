package kv

import (
	"errors"
	"path/filepath"

	"github.com/graphcleaner/graphcleaner/kv/internal/journal"
	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// checkTablesAge returns an ErrCorrupt if the tables of a store end before its journal begins. If the record that says so
// cannot be read, others tell.
func checkTablesAge(dir string) error {
	c, err := journal.Scan(dir, journalName, nil)
	if err != nil || len(c.Segments) == 0 || c.Base() == 0 {
		return err
	}
	last, err := lsm.LastCommit(dir)
	if errors.Is(err, ErrCorrupt) {
		return nil
	}
	if err != nil {
		return err
	}
	return olderThanJournal(dir, last, c.Base())
}

// olderThanJournal returns an ErrCorrupt if tables end with a commit before that after which the journal begins.
func olderThanJournal(dir string, last, base uint64) error {
	if last >= base {
		return nil
	}
	return record.CorruptFile(dir, "the tables end with commit %d, and the journal begins after %d: %s missing", last, base, commits(last+1, base))
}

// A journalOf is the journal in a directory, as the database beside it knows it.
type journalOf string

// Has is asked when the log of a memtable is damaged. It says whether the journal has all commits that such logs may hold.
func (dir journalOf) Has(log string) (bool, error) {
	c, err := journal.Scan(string(dir), journalName, nil)
	if err != nil || len(c.Segments) == 0 {
		return false, err
	}
	if len(c.Damage) > 0 {
		return false, record.CorruptFile(log, "its head is damaged, and so is the journal, %s: %s; commits after %d may be missing",
			filepath.Base(c.Damage[0].Path), c.Damage[0].What, c.Base())
	}
	return true, nil
}

// Completes returns an ErrCorrupt unless tables that end with a commit, zero for none, and the journal have every commit.
func (dir journalOf) Completes(tables uint64) error {
	c, err := journal.Scan(string(dir), journalName, nil)
	if err != nil {
		return err
	}
	s := &Store{dir: string(dir)}
	switch {
	case len(c.Segments) > 0:
		return s.fits(c, tables, false)
	case tables > 0:
		return s.missingJournal(tables)
	}
	return nil // it is of a format without a journal, or without a commit
}
