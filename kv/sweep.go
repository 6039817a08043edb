package kv

import (
	"bytes"
	"fmt"
	"time"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// sweep removes every pack and every record of a generation that the catalogue does not name: what a crash or an abort left of a bulk
// write, and what a commit replaced. The caller holds the writer's lock. Open snapshots go on seeing what they saw.
func (s *Store) sweep() (err error) {
	b, began, dropped := newBatch(s), time.Now(), int64(0)
	defer func() {
		if b.records > 0 || dropped > 0 || err != nil {
			s.observe(Event{Kind: EventSweep, Records: b.records, Bytes: b.bytes + dropped, Err: err}, began)
		}
	}()
	defer b.to.Cancel()
	for from := []byte{byte(record.FirstGenerational)}; from != nil; {
		var dead [][]byte
		err := s.View(func(tx *Tx) (err error) {
			dead, from, err = deadKeys(tx, from)
			return err
		})
		if err != nil {
			return err
		}
		// While nothing is being read: an iterator keeps the memtables that the deletions fill, and the log of each.
		for _, key := range dead {
			if err := b.remove(key); err != nil {
				return err
			}
		}
	}
	if err := b.Flush(); err != nil {
		return err
	}
	dropped, err = s.keepPacks()
	return err
}

// laterCatalogLost is for records of a generation that the catalogue did not give out: they were committed with a later
// one.
func laterCatalogLost(next, found record.Generation) error {
	return record.Corrupt(countsKey(), fmt.Sprintf("they end before generation %d, and there are records of %d: a later catalogue is lost, "+
		"and with it what was committed since; no record was removed. Restore a backup", next, found))
}

// mostDead is how many keys sweep holds at once.
const mostDead = 1 << 14

// deadKeys returns keys of records of generations that are not live, at most mostDead, and the key to go on from; nil
// if there are no more.
func deadKeys(tx *Tx, from []byte) (dead [][]byte, next []byte, err error) {
	last, err := tx.LastCommit()
	if err != nil {
		return nil, nil, err
	}
	live, kept := tx.cat.live(), tx.cat.changesFrom(last)
	it := tx.txn.Loose()
	defer it.Close()
	for err = it.Seek(from); err == nil && it.Valid(); {
		key := it.Key()
		if record.Kind(key[0]) >= record.EndGenerational {
			break
		}
		if len(key) < 5 {
			return nil, nil, record.Corrupt(key, "the key is too short")
		}
		g := record.GenerationOf(key)
		if g >= tx.cat.Next {
			return nil, nil, laterCatalogLost(tx.cat.Next, g)
		}
		if live[g] && !isOld(key, kept) {
			err = it.Seek(record.Prefix(record.Kind(key[0]), g+1))
			continue
		}
		if len(dead) == mostDead {
			return dead, bytes.Clone(key), nil
		}
		dead = append(dead, bytes.Clone(key))
		err = it.Next()
	}
	return dead, nil, err
}
