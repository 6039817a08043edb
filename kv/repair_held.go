package kv

import (
	"errors"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv/internal/journal"
	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
)

// heldCommits are the commits that Badger's files hold. They are read before Badger opens the files, as it then merges them.
type heldCommits struct {
	tables uint64   // the last in tables, which have all before it
	logs   []uint64 // those in logs, ascending
	whole  bool     // nothing is lost of the tables that were found
	age    error    // ErrCorrupt if the tables end before the journal begins
}

// readHeld reads what the files hold, which are ones that Badger can open. Of tables of which something is lost nobody knows
// with which commit they ended.
func (r *repair) readHeld() (err error) {
	r.held.whole = len(r.lost) == 0
	if r.held.tables, err = lsm.LastCommit(r.dir); errors.Is(err, ErrCorrupt) {
		r.held.whole = false
	} else if err != nil {
		return err
	}
	if r.held.logs, err = lsm.LoggedCommits(r.dir); err != nil {
		return err
	}
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
	n, _ := slices.BinarySearch(h.logs, number+1)
	return n
}

func (h *heldCommits) logged(number uint64) bool {
	n := h.upTo(number)
	return n > 0 && h.logs[n-1] == number
}

// floor is the commit up to which Badger, which has come to one, has every commit.
func (h *heldCommits) floor(held uint64) uint64 {
	if !h.whole {
		return held // their losses were reported
	}
	return min(held, h.tables)
}

// outdated is for writing again a journal beside what Badger holds up to a commit. Behind the last damage of the journal an
// entry is the last of its key. One before it counts only if Badger has not come to its commit, or knows nothing of its
// key that is as late: a later one may be in what is damaged.
func (h *heldCommits) outdated(c *journal.Contents, held uint64) func(txn *lsm.Txn, number uint64, key []byte) (bool, error) {
	damaged := uint64(0)
	for _, d := range c.Damage {
		if !d.Open {
			damaged = max(damaged, d.Last)
		}
	}
	return func(txn *lsm.Txn, number uint64, key []byte) (bool, error) {
		if number > min(damaged, held) {
			return false, nil
		}
		version, _, err := txn.Last(key)
		if errors.Is(err, ErrCorrupt) {
			version, err = math.MaxUint64, nil // something there cannot be read
		}
		if err != nil {
			return false, err
		}
		if number <= h.tables {
			return version > 0 || h.whole, nil // a deletion leaves no sign in tables that were merged
		}
		return version > number, nil
	}
}
