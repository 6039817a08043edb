package kv

import (
	"context"
	"errors"
	"sync"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/table"
)

// A record that is damaged is found when it is read, since its checksum is over its key and its body. But it may be the
// version or the mark beside them that is damaged, or the key, so that the record is not found at all; only the checksum
// of the block it lies in tells. Badger, when it merges tables, would write a new block without it, and a right checksum.
// So a table is not merged before its blocks were compared with their checksums, once while the store is open. That
// reads what the merge would read.

// verifiedTables are those of a store that need no more comparing.
type verifiedTables struct {
	mu sync.Mutex

	// newest is the number of the last table there was when the store was opened: later ones have come out of this
	// process.
	newest uint64
	done   map[uint64]bool
	all    bool
}

func newVerifiedTables(db *badger.DB) *verifiedTables {
	v := &verifiedTables{done: map[uint64]bool{}}
	for _, info := range db.Tables() {
		v.newest = max(v.newest, info.ID)
	}
	return v
}

// verifyTables compares the checksums of all tables that were there when the store was opened, each once. It is to be
// called before tables may be merged.
func (s *Store) verifyTables() error {
	v := s.verified
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.all {
		return nil
	}
	err := s.holdTables(func(tables []uint64) error {
		for _, id := range tables {
			if id > v.newest || v.done[id] {
				continue
			}
			if err := verifyTable(table.NewFilename(id, s.dir)); err != nil {
				return err
			}
			v.done[id] = true
		}
		return nil
	})
	v.all = err == nil
	return err
}

// holdTables calls use with the numbers of the tables there are, which Badger, when it has merged them, leaves until use
// returns. Those that it makes at this moment are not among them.
func (s *Store) holdTables(use func(tables []uint64) error) error {
	return s.db.View(func(txn *badger.Txn) error {
		before := map[uint64]bool{}
		for _, info := range s.db.Tables() {
			before[info.ID] = true
		}
		it := txn.NewIterator(badger.IteratorOptions{}) // which keeps its tables
		defer it.Close()
		var held []uint64
		for _, info := range s.db.Tables() {
			if before[info.ID] {
				held = append(held, info.ID)
			}
		}
		return use(held)
	})
}

// verifyDue is verifyTables where Badger is about to merge levels.
func (s *Store) verifyDue() error {
	if s.opt.ReadOnly || s.mergeRoom(0, false) == 0 {
		return nil
	}
	return s.verifyTables()
}

// verifyToOpen compares the checksums of tables where Badger, once it is opened, would merge level 0 at once.
func verifyToOpen(tables []tableFile, opt badger.Options) error {
	first := 0
	for _, t := range tables {
		first += counted(t.level == 0)
	}
	if first < opt.NumLevelZeroTables {
		return nil
	}
	for _, t := range tables {
		if err := verifyTable(t.path); err != nil {
			return err
		}
	}
	return nil
}

// verifyTable returns the first damage to a table as an ErrCorrupt.
func verifyTable(path string) error {
	var damage error
	err := findDamage(context.Background(), path, func(found error) bool {
		damage = found
		return false
	})
	return errors.Join(damage, err)
}

// findDamage compares the checksums of a table's index and blocks. Each that does not match is given to found, as an
// ErrCorrupt, which says whether to go on. The table must stay while it runs.
func findDamage(ctx context.Context, path string, found func(damage error) bool) (err error) {
	t, err := openTableReader(path)
	if errors.Is(err, ErrCorrupt) {
		found(err)
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	for i := range t.blocks() {
		if i%contextEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		damage := t.verify(i)
		if damage != nil && !errors.Is(damage, ErrCorrupt) {
			return damage
		}
		if damage != nil && !found(damage) {
			return nil
		}
	}
	return nil
}
