package kv

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/dgraph-io/badger/v4"

	"github.com/graphcleaner/graphcleaner/kv/internal/journal"
)

// heldCommits are the commits that Badger's files hold. They are read before Badger opens the files, as it then merges them.
type heldCommits struct {
	tables numberedCommit   // the last in tables, which have all before it
	logs   []numberedCommit // those in logs, ascending
	whole  bool             // nothing is lost of the tables that were found
	age    error            // ErrCorrupt where the tables end before the journal begins
}

// readHeld reads what the files hold, which are ones that Badger can open. Of tables of which something is lost nobody knows
// with which commit they ended.
func (r *repair) readHeld() (err error) {
	r.held.whole = len(r.lost) == 0
	if r.held.tables, err = lastInTables(r.dir); errors.Is(err, ErrCorrupt) {
		r.held.whole = false
	} else if err != nil {
		return err
	}
	logs, err := readLogs(r.dir)
	if err != nil {
		return err
	}
	r.held.logs = logs.commits
	if r.held.whole {
		r.held.age = checkTablesAge(r.dir)
	}
	if r.held.age != nil && !errors.Is(r.held.age, ErrCorrupt) {
		return r.held.age
	}
	return nil
}

// upTo is how many of the commits in logs come before or are of a number.
func (h *heldCommits) upTo(number uint64) int {
	n, _ := slices.BinarySearchFunc(h.logs, number, func(c numberedCommit, number uint64) int {
		if c.number <= number {
			return -1
		}
		return cmp.Compare(c.number, number)
	})
	return n
}

func (h *heldCommits) logged(number uint64) bool {
	n := h.upTo(number)
	return n > 0 && h.logs[n-1].number == number
}

// floor is the commit up to which Badger, which has come to one, has every commit.
func (h *heldCommits) floor(held uint64) uint64 {
	if !h.whole {
		return held // what of them is lost was told
	}
	return min(held, h.tables.number)
}

// outdated is for writing again a journal beside what Badger holds up to a commit. Behind the last damage of the journal an
// entry is the last of its key. One before it counts only where Badger has not come to its commit, or knows nothing of its
// key that is as late: a later one may be in what is damaged.
func (h *heldCommits) outdated(c *journal.Contents, held uint64) func(txn *badger.Txn, number uint64, key []byte) (bool, error) {
	damaged := uint64(0)
	for _, d := range c.Damage {
		if !d.Open {
			damaged = max(damaged, d.Last)
		}
	}
	return func(txn *badger.Txn, number uint64, key []byte) (bool, error) {
		if number > min(damaged, held) {
			return false, nil
		}
		version, err := lastVersion(txn, key)
		if err != nil {
			return false, err
		}
		if number <= h.tables.number {
			return version > 0 || h.whole, nil // a deletion leaves no sign in tables that were merged
		}
		since := h.tables.version
		if n := h.upTo(number); n > 0 {
			since = max(since, h.logs[n-1].version)
		}
		return version > since, nil
	}
}

// lastVersion is Badger's version of the last that it knows of a key, also a deletion; zero where it knows nothing.
func lastVersion(txn *badger.Txn, key []byte) (version uint64, err error) {
	err = guard(key, func() error {
		it := txn.NewKeyIterator(key, badger.IteratorOptions{AllVersions: true})
		defer it.Close()
		if it.Rewind(); it.Valid() {
			version = it.Item().Version()
		}
		return nil
	})
	if errors.Is(err, ErrCorrupt) {
		return math.MaxUint64, nil // something there cannot be read
	}
	return version, err
}
