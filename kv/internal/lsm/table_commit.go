package lsm

import (
	"cmp"
	"errors"
	"slices"

	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"

	"github.com/graphcleaner/graphcleaner/kv/internal/pack"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// Every transaction writes its number under one key. So the tables alone say with which commit they end, and the logs which
// commits they hold. A part of the journal is removed once its commits are in tables, which the manifest names by then. So
// tables that end before the journal begins are older ones, or some of them are lost. That a log holds later commits does
// not say that those between are anywhere.

// A Commit is a commit with Badger's version of it.
type Commit struct{ Number, Version uint64 }

// LastCommit is the last commit that the tables hold which the manifest names; zero if there is none.
func LastCommit(dir string) (last Commit, err error) {
	err = guardFaults(func() error {
		last, err = lastInTables(dir)
		return err
	})
	return last, err
}

func lastInTables(dir string) (last Commit, err error) {
	manifest, _, err := readManifest(dir) //nolint:errcheck // where it is cut off is for others
	if err != nil {
		return last, err
	}
	for id := range manifest.Tables {
		c, err := lastInTable(table.NewFilename(id, dir), id)
		if err != nil {
			return last, err
		}
		if c.Number > last.Number {
			last = c
		}
	}
	return last, nil
}

func lastInTable(path string, id uint64) (last Commit, err error) {
	t, err := openCensusTable(path, id)
	if err != nil {
		return last, err
	}
	defer func() { err = errors.Join(err, t.reader.Close()) }()
	records, err := t.records(record.CommitKey())
	if err != nil || len(records) == 0 {
		return last, err
	}
	newest := slices.MaxFunc(records, func(a, b pack.Entry) int { return cmp.Compare(y.ParseTs(a.Key), y.ParseTs(b.Key)) })
	last.Version = y.ParseTs(newest.Key)
	if last.Number, err = record.CommitNumber(newest.Value.Value); err != nil {
		return last, record.CorruptFile(path, "%v", err)
	}
	return last, nil
}
