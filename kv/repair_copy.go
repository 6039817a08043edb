package kv

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/dgraph-io/badger/v4"

	"github.com/graphcleaner/graphcleaner/kv/internal/journal"
)

// copies puts back what spaces that are kept twice have lost and their copy has. It comes before what is damaged is
// removed. A damaged copy is made again later, from what can be read of it and the tables.
func (r *repair) copies(ctx context.Context) error {
	cat, err := r.catalog()
	if errors.Is(err, ErrCorrupt) {
		return nil // which is told of when the catalogue is needed
	}
	if err != nil {
		return err
	}
	c, err := r.s.readCopy(true)
	if err != nil {
		return err
	}
	if cat, err = r.adopt(c, cat); err != nil || len(cat.Twice) == 0 {
		return err
	}
	base := r.s.commits
	if r.s.journal != nil {
		base = r.s.journal.Segments()[0].Base
	}
	damage := r.s.fitsCopy(c, cat, base, r.s.commits)
	if damage != nil && !errors.Is(damage, ErrCorrupt) {
		return damage
	}
	r.copyDamage = damage
	// Of generations that were replaced since, the copy knows nothing.
	if !c.known || string(c.kept) != string(cat.keptTwice()) {
		return nil
	}
	return r.putBack(ctx, c, cat)
}

// adopt returns the catalogue with the spaces that a sound copy has, where the catalogue does not have them or has earlier
// generations of them: then a later catalogue is lost.
func (r *repair) adopt(c *copyState, cat *catalog) (*catalog, error) {
	if !c.known || len(c.Damage) > 0 || c.commit > r.s.commits {
		return cat, nil
	}
	kept, err := parseKeptTwice(c.kept)
	if err != nil {
		return cat, nil //nolint:nilerr // a copy that does not say this adds nothing
	}
	later := map[string]generation{}
	for name, g := range kept {
		if g > 0 && g > cat.Spaces[name] {
			later[name] = g
		}
	}
	if len(later) == 0 {
		return cat, nil
	}
	err = r.s.update(func(tx *Tx) error {
		cat, err = tx.change()
		if err != nil {
			return err
		}
		for name, g := range later {
			cat.Spaces[name], cat.Twice[name] = g, c.commit
			cat.Next = max(cat.Next, g+1)
		}
		return nil
	})
	for _, name := range slices.Sorted(maps.Keys(later)) {
		if err == nil {
			err = r.done("catalogue", "it does not have the space "+name+" as its second copy has: a later catalogue is lost", "the space is named again")
		}
	}
	return cat, err
}

// putBack puts back the entries that a space lacks, or has otherwise than its copy. Of a copy that is damaged only those
// count of which the space has a record that cannot be read: what it lacks may have been deleted later.
func (r *repair) putBack(ctx context.Context, c *copyState, cat *catalog) error {
	txn := r.s.db.NewTransaction(false)
	defer txn.Discard()
	// each calls use with the entries of the copy, in order.
	each := func(use func(name string, key, body []byte) error) error {
		count := 0
		counted := func(name string, key, body []byte) error {
			if count++; count%contextEvery == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			if g, twice := cat.Spaces[name], cat.Twice[name]; g == 0 || twice == 0 {
				return nil
			}
			return use(name, key, body)
		}
		if err := c.each(r.dir, counted); err != nil {
			return err
		}
		return eachCopied(r.dir, cat, c.commit, r.s.commits, counted)
	}
	lost := map[keySum]bool{}
	err := each(func(name string, key, body []byte) error {
		full := spaceKey(cat.Spaces[name], key)
		same, err := sameEntry(txn, cat, name, key, body)
		if err != nil {
			return err
		}
		if !same && r.copyDamage != nil {
			value, err := rawRecord(txn, full)
			if err != nil {
				return err
			}
			_, damage := decode(full, value)
			same = value == nil || damage == nil
		}
		if delete(lost, sumKey(full)); !same {
			lost[sumKey(full)] = true
		}
		return nil
	})
	if err != nil || len(lost) == 0 {
		return err
	}
	b := newBatch(r.s)
	defer b.wb.Cancel()
	told := map[string]int{}
	err = each(func(name string, key, body []byte) error {
		full := spaceKey(cat.Spaces[name], key)
		first, is := lost[sumKey(full)]
		if !is {
			return nil
		}
		if first {
			lost[sumKey(full)] = false
			told[name]++
			value, err := rawRecord(txn, full)
			if err == nil && value != nil {
				err = r.kept.keepRecord(full, value)
			}
			if err != nil {
				return err
			}
		}
		if body == nil {
			return b.write(full, nil)
		}
		return b.write(full, encode(full, body))
	})
	if err != nil {
		return err
	}
	if err := b.flush(); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(told)) {
		err := r.done("space "+name, fmt.Sprintf("%d of its entries are missing or damaged", told[name]), "put back from its second copy")
		if err != nil {
			return err
		}
	}
	return nil
}

// rawRecord is the record under a key as it is; nil where there is none, or none that can be read.
func rawRecord(txn *badger.Txn, key []byte) (value []byte, err error) {
	err = guard(key, func() error {
		item, err := txn.Get(key)
		if err != nil {
			return err
		}
		value, err = item.ValueCopy(nil)
		return err
	})
	if errors.Is(err, badger.ErrKeyNotFound) || errors.Is(err, ErrCorrupt) {
		return nil, nil
	}
	return value, wrapBadger(err)
}

// remakeCopy makes a damaged copy again.
func (r *repair) remakeCopy(context.Context) error {
	if r.copyDamage == nil {
		return nil
	}
	files, err := journal.Files(r.dir, copyName)
	if err != nil {
		return err
	}
	if err := r.s.remakeCopy(); err != nil {
		return err
	}
	name := copyName
	if len(files) > 0 {
		name = filepath.Base(files[len(files)-1])
	}
	return r.done(name, r.copyDamage.Error(), "made again from the tables")
}
