package pack

import (
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

// Get returns the value under a key, mapped, and its version; record.ErrNotFound if there is none.
func (cursors Cursors) Get(key []byte) ([]byte, uint64, error) {
	version, value, err := cursors.last(key)
	if err == nil && (version == 0 || record.IsDeletion(key, value.Value)) {
		err = record.ErrNotFound
	}
	if err != nil {
		return nil, 0, err
	}
	body, err := valueIn(value)
	return body, version, err
}

// last returns the newest version of a key and what is under it then, mapped; version 0 if nothing is known of the key.
func (cursors Cursors) last(key []byte) (version uint64, value y.ValueStruct, err error) {
	seek, hash := y.KeyWithTs(key, math.MaxUint64), y.Hash(key)
	for _, c := range cursors {
		if !c.found { // else it probably has this one too
			if may, err := c.mayHave(key, seek, hash); err != nil {
				return 0, value, err
			} else if !may {
				continue
			}
		}
		if err := c.Seek(seek); err != nil {
			return 0, value, err
		}
		c.found = c.Valid() && y.SameKey(seek, c.key)
		if c.found && y.ParseTs(c.key) > version {
			version = y.ParseTs(c.key)
			value.Decode(c.value)
		}
	}
	return version, value, nil
}

// valueIn returns a value that is there, mapped.
func valueIn(value y.ValueStruct) ([]byte, error) {
	if value.Meta&markElsewhere != 0 {
		return nil, errors.New("its value is not in its table")
	}
	return value.Value, nil
}

// markElsewhere is the mark that Badger puts beside a value which is in the value log.
const markElsewhere = 1 << 1
