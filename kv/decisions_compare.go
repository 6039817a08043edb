package kv

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/decisions"
	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A spaceDifference counts the entries of a space that is kept twice which it does not have as decisions.log has them.
type spaceDifference struct {
	space   string
	missing int // in the space
	other   int // in the space, or damaged
	unknown int // to the file
}

// differences compares the spaces that the transaction sees with decisions.log. It leaves out what was committed later,
// and what is damaged in the file, which is an ErrCorrupt in the end. It calls use with each entry that is missing or
// other: key and what the file has, empty if the entry was deleted, are borrowed.
func (tx *Tx) differences(
	ctx context.Context, log *decisions.Log, use func(missing bool, key, value []byte) error,
) (all []*spaceDifference, err error) {
	const inFile, inSpace = 0, 1 // what is before the value of an entry when both are sorted together
	sorted := tx.s.newSorter()
	defer func() { err = errors.Join(err, sorted.Close()) }()
	of := map[string]*spaceDifference{} // by what the keys of a space begin with
	prefixOf := func(key []byte) string { return string(key[:min(len(key), len(record.Prefix(record.KindSpace, 0)))]) }
	for _, space := range tx.cat.twice() {
		all = append(all, &spaceDifference{space: space})
		of[string(record.Prefix(record.KindSpace, tx.cat.Spaces[space]))] = all[len(all)-1]
	}
	damage := log.Scan(true, func(f decisions.Frame) error {
		for _, e := range f.Entries {
			if of[prefixOf(e.Key)] != nil && f.Last <= tx.last {
				if err := sorted.Add(e.Key, append([]byte{inFile}, e.Value...)); err != nil {
					return err
				}
			}
		}
		return ctx.Err()
	})
	if damage != nil && !errors.Is(damage, ErrCorrupt) {
		return nil, damage
	}
	for prefix := range of {
		err := tx.eachRecord(ctx, []byte(prefix), func(r record.Record, damage error) error {
			value := []byte("damaged") // as no record is
			if damage == nil {
				value = record.Encode(r.Key, r.Body)
			}
			return sorted.Add(r.Key, append([]byte{inSpace}, value...))
		})
		if err != nil {
			return nil, err
		}
	}
	var key, logged, stored []byte // nil: there is none
	compare := func() error {
		d := of[prefixOf(key)]
		missing := stored == nil
		switch {
		case bytes.Equal(logged, stored), missing && len(logged) == 0: // the same, or deleted
			return nil
		case logged == nil:
			d.unknown++
			return nil
		case missing:
			d.missing++
		default:
			d.other++
		}
		return use(missing, key, logged)
	}
	for r, err := range sorted.Records(ctx) {
		if err == nil && !bytes.Equal(r.Key, key) {
			err = compare()
			key, logged, stored = append(key[:0], r.Key...), nil, nil
		}
		if err != nil {
			return nil, err
		}
		if value := bytes.Clone(r.Value[1:]); r.Value[0] == inFile {
			logged = value // the last of a key counts
		} else {
			stored = value
		}
	}
	return all, cmp.Or(compare(), damage)
}

// decisions compares the spaces that are kept twice with decisions.log, as it was when the check began.
func (c *checker) decisions(ctx context.Context) error {
	if c.decided == nil {
		return nil
	}
	all, err := c.tx.differences(ctx, c.decided, func(bool, []byte, []byte) error { return nil })
	for _, d := range all {
		if n := d.missing + d.other; n > 0 {
			c.problem("space "+d.space, "%d entries are missing, or not as %s has them", n, decisions.FileName)
		}
		if d.unknown > 0 {
			c.problem("space "+d.space, "%s lacks %d entries", decisions.FileName, d.unknown)
		}
	}
	return err
}

// openLog brings the store to the last commit of decisions.log, and reports the commits that are lost.
func (r *repair) openLog(ctx context.Context) error {
	log, damage := decisions.Open(r.place.target, r.s.header.ID, true)
	var lacking []decisions.Frame
	if damage == nil {
		r.log = log
		lacking, damage = r.s.lacking(log)
	}
	if damage == nil {
		damage = log.Scan(true, func(decisions.Frame) error { return ctx.Err() })
	}
	switch {
	case damage != nil && !errors.Is(damage, ErrCorrupt):
		return damage
	case r.log == nil && r.salvaged.Crashed:
		damage = fmt.Errorf("%w; if a log of Badger is lost too, so are decisions of the last commits", damage)
	case errors.Is(damage, decisions.ErrTorn) && r.salvaged.Crashed:
		damage = nil
	}
	r.logDamage = damage
	if err := r.s.replayDecisions(lacking); err != nil { // they are whole, and nothing is missing before them
		return err
	}
	held := r.s.commits
	if r.log == nil || log.Last() <= held {
		return nil
	}
	r.s.commits = log.Last() // no commit has the number of one that is lost
	if err := r.s.setRecord(decidedKey(), nil); err != nil {
		return err
	}
	what := fmt.Sprintf("it has decisions of commit %d, and the store has come to %d", log.Last(), held)
	r.lose(lsm.Loss{Kind: "commit", Count: int64(log.Last() - held), AtMost: true}, decisions.FileName, what,
		"what was committed since is lost, but for the decisions that the file has")
	return nil
}

// decisions takes every decision from decisions.log. If that is damaged, or ends before the last decision of the store,
// it takes only what is missing in a store that has lost something: other entries may have been deleted since.
func (r *repair) decisions(ctx context.Context) error {
	if r.log == nil {
		return nil
	}
	last, err := r.s.lastDecided()
	if err != nil {
		return err
	}
	if r.logDamage == nil && r.log.Last() < last {
		r.logDamage = record.CorruptFile(r.log.Path(), "it ends with commit %d, and the store has decisions of commit %d",
			r.log.Last(), last)
	}
	tx := r.s.beginBare(false, nil)
	defer tx.end()
	if tx.cat, err = r.catalog(); errors.Is(err, ErrCorrupt) {
		return nil // reported when the catalogue is needed
	}
	if err != nil {
		return err
	}
	whole, explained := r.logDamage == nil, len(r.lost) > 0
	b := r.s.db.Batch(r.s.commits)
	defer b.Cancel()
	all, err := tx.differences(ctx, r.log, func(missing bool, key, value []byte) error {
		if whole || missing && explained {
			return b.Set(bytes.Clone(key), append([]byte(nil), value...)) // nil of an entry that was deleted
		}
		return nil
	})
	if r.logDamage != nil && errors.Is(err, ErrCorrupt) {
		err = nil // the damage is known
	}
	if err == nil {
		err = b.Flush()
	}
	lost := lsm.Loss{}
	if !explained {
		lost = lsm.Loss{Kind: "record of tables", Count: UnknownCount} // what took these may have taken others
	}
	for _, d := range all {
		where := "space " + d.space
		missing, other := d.missing*codec.Bit(whole || explained), d.other*codec.Bit(whole)
		if missing+other > 0 {
			what := fmt.Sprintf("of its entries %d are missing, and %d other than in %s", missing, other, decisions.FileName)
			r.lose(lost, where, what, "taken from %s; former ones are in the store as it was", decisions.FileName)
		}
		if d.unknown > 0 && r.logDamage == nil {
			r.logDamage = record.CorruptFile(r.log.Path(), "it lacks %d entries of %s", d.unknown, where)
		}
	}
	return err
}

// renewLog writes decisions.log anew. It is told of if the file was damaged.
func (r *repair) renewLog(context.Context) error {
	if r.logDamage != nil {
		r.done(decisions.FileName, r.logDamage.Error(), "written anew from the tables")
	}
	return r.s.renewDecisions()
}
