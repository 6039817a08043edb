package kv

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv/internal/journal"
	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// copies puts back what spaces that are kept twice have lost and their copy has. It comes before what is damaged is
// removed. A copy that is damaged, or not of the commit after which the journal begins, is rebuilt later, from what can be
// read of it and the tables.
func (r *repair) copies(ctx context.Context) error {
	cat, err := r.catalog()
	if errors.Is(err, ErrCorrupt) {
		return nil // reported when the catalogue is needed
	}
	if err != nil {
		return err
	}
	c, err := r.s.readCopy(true)
	if err != nil {
		return err
	}
	last := r.s.commits
	foreign := r.s.foreignCopy(c) != nil
	if !foreign {
		adopted, err := r.adopt(c, cat)
		if err != nil {
			return err
		}
		cat = adopted
	}
	if len(cat.Twice) == 0 {
		return nil
	}
	base := last
	switch {
	case r.s.journal != nil:
		base = r.s.journal.Segments()[0].Base
	case c.known:
		base = min(base, c.commit) // the journal is rebuilt: the copy need not go as far
	}
	damage := r.s.fitsCopy(c, cat, base, last)
	if damage != nil && !errors.Is(damage, ErrCorrupt) {
		return damage
	}
	r.copyDamage = damage
	r.copyDue = damage != nil || r.remade
	if !c.known || foreign {
		return nil //nolint:nilerr // of a copy of another store, opening and check tell
	}
	intact, err := parseKeptTwice(c.kept)
	if err != nil {
		return nil //nolint:nilerr // a copy that does not say this adds nothing
	}
	// Of generations that were replaced since, the copy knows nothing.
	maps.DeleteFunc(intact, func(name string, g record.Generation) bool {
		return g == 0 || cat.Spaces[name] != g || cat.Twice[name] == 0
	})
	p := putBack{repair: r, copied: c, cat: cat, intact: intact, last: last}
	switch follows, err := r.follows(c.commit, last); {
	case err != nil:
		return err
	case len(c.Damage) > 0 && c.commit <= last:
		p.rule = putUnreadable
	case len(c.Damage) > 0 || !follows:
		p.rule = putMissing
	}
	if c.commit > last {
		r.copyAhead, r.copyLast = c.commit-last, c.commit
	}
	return p.run(ctx)
}

// follows says whether the journal, as far as it can be read, has every commit after one up to another.
func (r *repair) follows(after, last uint64) (bool, error) {
	if after >= last {
		return true, nil
	}
	n := uint64(0)
	if r.foreignJournal {
		return false, nil
	}
	_, err := journal.Scan(r.dir, journalName, func(f journal.Frame) error {
		if f.Kind == journal.Commit && f.Number > after && f.Number <= last {
			n++
		}
		return nil
	})
	return n == last-after, err
}

// adopt returns the catalogue with the spaces that a sound copy has, if the catalogue does not have them, has earlier
// generations of them, or does not say that they are kept twice: then a later catalogue is lost.
func (r *repair) adopt(c *copyState, cat *catalog) (*catalog, error) {
	if !c.known || len(c.Damage) > 0 {
		return cat, nil
	}
	kept, err := parseKeptTwice(c.kept)
	if err != nil {
		return cat, nil //nolint:nilerr // a copy that does not say this adds nothing
	}
	later := map[string]record.Generation{}
	for name, g := range kept {
		if g > 0 && (g > cat.Spaces[name] || g == cat.Spaces[name] && cat.Twice[name] == 0) {
			later[name] = g
		}
	}
	if len(later) == 0 {
		return cat, nil
	}
	if err := r.s.View(func(*Tx) error { return nil }); errors.Is(err, ErrCorrupt) {
		return cat, nil // the counts are to be rebuilt first
	}
	since := min(c.commit, r.s.commits)
	told := len(r.lost) > 0 || c.commit > r.s.commits // of the latter remakeCopy tells
	err = r.s.update(func(tx *Tx) error {
		cat, err = tx.change()
		if err != nil {
			return err
		}
		for name, g := range later {
			cat.Spaces[name], cat.Twice[name] = g, since
			cat.Next = max(cat.Next, g+1)
		}
		return nil
	})
	for _, name := range slices.Sorted(maps.Keys(later)) {
		m := Correction{Where: "catalogue", What: "it does not have the space " + name + " as its second copy has: a later catalogue is lost", Done: "the space is named again"}
		if !told {
			m.Lost, told = Losses{{Kind: "commit", Count: UnknownCount}}, true
		}
		if err == nil {
			err = r.tell(m)
		}
	}
	return cat, err
}

// A putRule says which entries of the copy are put back.
type putRule int

const (
	// putDiffering is for a copy that, with the journal, has every commit: what a space has otherwise, or lacks.
	putDiffering putRule = iota

	// putMissing is for a whole copy after which commits are unknown, and for a damaged one that is later than the store: what
	// a space lacks, without a sign that it was deleted, and what cannot be read. What can be read may be later than the copy.
	putMissing

	// putUnreadable is for any other damaged copy: what cannot be read. What a space lacks may have been deleted.
	putUnreadable
)

// A putBack puts back the entries of spaces from their copy.
type putBack struct {
	*repair
	copied *copyState
	cat    *catalog
	intact map[string]record.Generation // the spaces of which the copy has the present generation
	last   uint64                       // the last commit of the store
	rule   putRule
}

// each calls use with the entries of the copy, and of the journal after it, in order.
func (p *putBack) each(ctx context.Context, use func(name string, key, body []byte) error) error {
	count := 0
	counted := func(name string, key, body []byte) error {
		if count++; count%contextEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if p.intact[name] == 0 {
			return nil
		}
		return use(name, key, body)
	}
	err := p.copied.each(p.dir, counted)
	if err != nil || p.foreignJournal {
		return err
	}
	return eachCopied(p.dir, p.cat, p.copied.commit, p.last, counted)
}

// has says whether a space needs nothing of an entry of the copy.
func (p *putBack) has(txn *lsm.Txn, name string, key, body []byte) (bool, error) {
	same, err := sameEntry(txn, p.cat, name, key, body)
	if same || err != nil || p.rule == putDiffering {
		return same, err
	}
	full := spaceKey(p.cat.Spaces[name], key)
	value, err := rawRecord(txn, full)
	if err != nil {
		return false, err
	}
	if value == nil {
		_, deleted, err := txn.Last(full)
		return p.rule == putUnreadable || err == nil && deleted, nil
	}
	_, damage := record.Decode(full, value)
	return damage == nil, nil
}

func (p *putBack) run(ctx context.Context) error {
	txn := p.s.db.Begin(false)
	defer txn.Discard()
	lost := map[keySum]bool{}
	err := p.each(ctx, func(name string, key, body []byte) error {
		full := spaceKey(p.cat.Spaces[name], key)
		has, err := p.has(txn, name, key, body)
		if delete(lost, sumKey(full)); !has {
			lost[sumKey(full)] = true
		}
		return err
	})
	if err != nil || len(lost) == 0 {
		return err
	}
	b := newBatch(p.s)
	defer b.to.Cancel()
	lacking, other := map[string]int{}, map[string]int{}
	unexplained := false // an entry is not damaged, and not the last that was written
	err = p.each(ctx, func(name string, key, body []byte) error {
		full := spaceKey(p.cat.Spaces[name], key)
		first, is := lost[sumKey(full)]
		if !is {
			return nil
		}
		if first {
			lost[sumKey(full)] = false
			value, err := rawRecord(txn, full)
			if err == nil {
				_, damage := record.Decode(full, value)
				unexplained = unexplained || value == nil || damage == nil
			}
			if _, damage := record.Decode(full, value); damage == nil {
				other[name]++
			} else {
				lacking[name]++
			}
			if err != nil {
				return err
			}
		}
		if body == nil {
			return b.write(full, nil)
		}
		return b.write(full, record.Encode(full, body))
	})
	if err != nil {
		return err
	}
	if err := b.Flush(); err != nil {
		return err
	}
	var lose Losses
	if unexplained && p.rule == putDiffering && len(p.lost) == 0 && p.copyAhead == 0 {
		lose = Losses{{Kind: "record of tables", Count: UnknownCount}} // what took these may have taken others
	}
	tell := func(name, what, done string) error {
		m := Correction{Where: "space " + name, What: what, Done: done, Lost: lose}
		lose = nil
		return p.tell(m)
	}
	for _, name := range slices.Sorted(maps.Keys(lacking)) {
		what := fmt.Sprintf("%d of its entries are missing or damaged", lacking[name])
		if err := tell(name, what, "put back from its second copy"); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(other)) {
		what := fmt.Sprintf("%d of its entries are whole, and other than in its second copy", other[name])
		done := "those of the second copy are taken; the former ones are in the store as it was"
		if err := tell(name, what, done); err != nil {
			return err
		}
	}
	return nil
}

// rawRecord is the record under a key as it is; nil if there is none, or none that can be read.
func rawRecord(txn *lsm.Txn, key []byte) (value []byte, err error) {
	value, err = txn.Get(key)
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrCorrupt) {
		return nil, nil
	}
	return value, err
}

// remakeCopy rebuilds the copy if it is damaged, or if the journal after it is rebuilt.
func (r *repair) remakeCopy(context.Context) error {
	if !r.copyDue {
		return nil
	}
	files, err := journal.Files(r.dir, copyName)
	if err != nil {
		return err
	}
	if err := r.s.remakeCopy(); err != nil || r.copyDamage == nil {
		return err
	}
	name := copyName
	if len(files) > 0 {
		name = filepath.Base(files[len(files)-1])
	}
	m := Correction{Where: name, What: r.copyDamage.Error(), Done: "rebuilt from the tables"}
	if r.copyAhead > 0 {
		m.Done += "; " + commits(r.copyLast-r.copyAhead+1, r.copyLast) + " lost, but for the entries that it has"
		m.Lost = Losses{{Kind: "commit", Count: int64(r.copyAhead), AtMost: true}}
	}
	return r.tell(m)
}
