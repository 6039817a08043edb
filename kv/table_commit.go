package kv

import (
	"cmp"
	"errors"
	"slices"

	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"

	"github.com/graphcleaner/graphcleaner/kv/internal/journal"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// Every transaction writes its number under one key. So the tables alone say with which commit they end, and the logs which
// commits they hold. A part of the journal is removed once its commits are in tables, which the manifest names by then. So
// tables that end before the journal begins are older ones, or some of them are lost. That a log holds later commits does
// not say that those between are anywhere.

// A numberedCommit is a commit with Badger's version of it.
type numberedCommit struct{ number, version uint64 }

// lastInTables is the last commit that the tables hold which the manifest names; zero where there is none.
func lastInTables(dir string) (last numberedCommit, err error) {
	named, _, err := readManifest(dir) //nolint:errcheck // where it is cut off is for others
	if err != nil {
		return last, err
	}
	for id := range named.Tables {
		c, err := lastInTable(table.NewFilename(id, dir), id)
		if err != nil {
			return last, err
		}
		if c.number > last.number {
			last = c
		}
	}
	return last, nil
}

func lastInTable(path string, id uint64) (last numberedCommit, err error) {
	t, err := openCensusTable(path, id)
	if err != nil {
		return last, err
	}
	defer func() { err = errors.Join(err, t.reader.close()) }()
	records, err := t.records(record.CommitKey())
	if err != nil || len(records) == 0 {
		return last, err
	}
	newest := slices.MaxFunc(records, func(a, b tableEntry) int { return cmp.Compare(y.ParseTs(a.key), y.ParseTs(b.key)) })
	last.version = y.ParseTs(newest.key)
	if last.number, err = record.CommitNumber(newest.value.Value); err != nil {
		return last, corruptFile(path, "%v", err)
	}
	return last, nil
}

// checkTablesAge returns an ErrCorrupt where the tables of a store end before its journal begins. Where the record that says so
// cannot be read, others tell.
func checkTablesAge(dir string) error {
	c, err := journal.Scan(dir, journalName, nil)
	if err != nil || len(c.Segments) == 0 || c.Base() == 0 {
		return err
	}
	last, err := lastInTables(dir)
	if errors.Is(err, ErrCorrupt) {
		return nil
	}
	if err != nil {
		return err
	}
	return olderThanJournal(dir, last.number, c.Base())
}

// olderThanJournal returns an ErrCorrupt where tables end with a commit before that after which the journal begins.
func olderThanJournal(dir string, last, base uint64) error {
	if last >= base {
		return nil
	}
	return corruptFile(dir, "the tables end with commit %d, and the journal begins after %d: %s missing", last, base, commits(last+1, base))
}

// checkWithout returns an ErrCorrupt unless the tables that the manifest names and the journal have every commit.
func checkWithout(dir string) error {
	last, err := lastInTables(dir)
	if err != nil {
		return err
	}
	c, err := journal.Scan(dir, journalName, nil)
	if err != nil {
		return err
	}
	s := &Store{dir: dir}
	switch {
	case len(c.Segments) > 0:
		return s.fits(c, last.number, false)
	case last.number > 0:
		return s.missingJournal(last.number)
	}
	return nil // it is of a format without a journal, or without a commit
}
