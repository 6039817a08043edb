package pack

import (
	"cmp"
	"errors"
	"math"

	"github.com/dgraph-io/badger/v4/y"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// Tables are read together. They are runs of tables in the order of their keys, none of which overlap. Of two runs
// that hold the same version of a key, the first counts.
type Tables [][]*Table

// Cursors are one for each run. They may be used for many keys, by one goroutine.
type Cursors []*Cursor

// Cursors are new ones.
func (r Tables) Cursors() Cursors {
	all := make(Cursors, len(r))
	for i, run := range r {
		all[i] = &Cursor{run: run}
	}
	return all
}

// Get returns the newest value under a key, mapped, and its version; record.ErrNotFound if there is none.
func (cursors Cursors) Get(key []byte) (newest []byte, version uint64, err error) {
	seek, hash := y.KeyWithTs(key, math.MaxUint64), y.Hash(key)
	for _, c := range cursors {
		if !c.found { // else it probably has this one too
			if may, err := c.mayHave(key, seek, hash); err != nil {
				return nil, 0, err
			} else if !may {
				continue
			}
		}
		if err := c.Seek(seek); err != nil {
			return nil, 0, err
		}
		c.found = c.Valid() && y.SameKey(seek, c.key)
		if c.found && y.ParseTs(c.key) > version {
			version, newest = y.ParseTs(c.key), c.Holds()
		}
	}
	if version == 0 || record.IsDeletion(key, newest) {
		return nil, 0, record.ErrNotFound
	}
	return newest, version, nil
}

// Lack returns an error unless no table has the key, by blocks whose checksums match. The cursors are new.
func (cursors Cursors) Lack(key []byte) error {
	if _, _, err := cursors.Get(key); !errors.Is(err, record.ErrNotFound) {
		return cmp.Or(err, record.ErrExists)
	}
	for _, c := range cursors {
		if c.of == nil { // the filter was enough
			continue
		}
		at, block, err := c.locate(y.KeyWithTs(key, math.MaxUint64))
		if err == nil {
			err = cmp.Or(c.run[at].reader.Verify(block), c.of.reader.Verify(c.block))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
