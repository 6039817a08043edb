package kv

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/graphcleaner/graphcleaner/kv/internal/decisions"
	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// openLog reads decisions.log, and brings the store to its last commit.
func (r *repair) openLog(context.Context) (err error) {
	if r.log, err = decisions.Read(r.dir); err != nil {
		return r.renewDue(err)
	}
	found, err := r.log.Scan(nil)
	if err != nil {
		return err
	}
	own := found.Store
	if err := r.s.readHeader(); err == nil {
		own = r.s.identity()
	} else if found.Known {
		r.identity = own
	}
	if err := r.renewDue(found.Corrupt(own)); err != nil {
		return err
	}
	if found.Known && found.Store != own {
		return nil // nothing of it is of this store
	}
	r.found = found
	return r.later()
}

// renewDue notes that decisions.log is to be written anew, as it is damaged. It returns any other error.
func (r *repair) renewDue(damage error) error {
	if damage != nil && !errors.Is(damage, ErrCorrupt) {
		return damage
	}
	r.logDamage = damage
	return nil
}

// later brings the store to the commits that the file has beyond its own, as Open does, and reports those that are
// lost.
func (r *repair) later() error {
	held, last := r.s.commits, r.found.Last
	if last <= held {
		return nil
	}
	if r.logDamage == nil {
		l, err := decisions.OpenToRead(r.dir, r.found.Store)
		if err != nil {
			return err
		}
		frames, err := l.After(held)
		if err := errors.Join(err, l.Close()); err != nil {
			return err
		}
		if err := r.s.replayDecisions(following(frames, held)); err != nil {
			return err
		}
		held = r.s.commits
	}
	if last <= held {
		return nil
	}
	r.s.commits = last // no commit has the number of one that is lost
	if err := r.s.setRecord(decidedKey(), nil); err != nil {
		return err
	}
	what := fmt.Sprintf("it has decisions of commit %d, and the store has come to %d", last, held)
	return r.lose(Loss{Kind: "commit", Count: int64(last - held), AtMost: true}, decisions.FileName, what,
		"%s lost, but for their decisions", commits(held+1, last))
}

// A decisionRepair puts back what spaces that are kept twice have lost and decisions.log has. It comes before what is
// damaged is removed.
type decisionRepair struct {
	*repair
	cat         *catalog
	lastDecided uint64
}

// decisions takes every decision from decisions.log.
func (r *repair) decisions(ctx context.Context) error {
	if r.found == nil {
		return nil
	}
	cat, err := r.catalog()
	if errors.Is(err, ErrCorrupt) {
		return nil // reported when the catalogue is needed
	}
	if err != nil {
		return err
	}
	last, err := r.s.lastDecided()
	if err != nil {
		return err
	}
	if r.logDamage == nil && r.found.Last < last {
		r.logDamage = record.CorruptFile(r.found.Path, "it ends with commit %d, and the store has decisions of commit %d", r.found.Last, last)
	}
	d := &decisionRepair{r, cat, last}
	return d.putBack(ctx)
}

// each calls use with the decisions of the file, in order. One is sure if nothing that is missing or damaged in the
// file comes after it.
func (d *decisionRepair) each(ctx context.Context, use func(e decisions.Entry, sure bool) error) error {
	damaged := int64(-1)
	if n := len(d.found.Damage); n > 0 {
		damaged = d.found.Damage[n-1].At
	}
	ends := d.found.Last >= d.lastDecided
	_, err := d.log.Scan(func(f decisions.Frame) error {
		for e, err := range f.Entries() {
			if err != nil {
				return err
			}
			if e.Name == "" || !d.cat.Twice[e.Name] || d.cat.Spaces[e.Name] != record.GenerationOf(e.Key) {
				continue // of generations that were replaced since, the file knows nothing
			}
			if err := use(e, ends && f.At > damaged); err != nil {
				return err
			}
		}
		return ctx.Err()
	})
	return err
}

// has says whether the store needs nothing of a decision. If that is not sure, it needs only what cannot be read.
func (d *decisionRepair) has(txn *lsm.Txn, e decisions.Entry, sure bool) (bool, error) {
	if same, err := holds(txn, e.Key, e.Value); same || sure || err != nil {
		return same, err
	}
	value, err := txn.Get(e.Key)
	switch {
	case errors.Is(err, ErrNotFound):
		return true, nil
	case errors.Is(err, ErrCorrupt):
		return false, nil
	case err != nil:
		return false, err
	}
	_, damage := record.Decode(e.Key, value)
	return damage == nil, nil
}

// putBack puts back the decisions that the store lacks.
func (d *decisionRepair) putBack(ctx context.Context) error {
	txn := d.s.db.Begin(false)
	defer txn.Discard()
	lost := map[keySum]bool{}
	err := d.each(ctx, func(e decisions.Entry, sure bool) error {
		has, err := d.has(txn, e, sure)
		if delete(lost, sumKey(e.Key)); !has {
			lost[sumKey(e.Key)] = true
		}
		return err
	})
	if err != nil || len(lost) == 0 {
		return err
	}
	b := d.s.db.Batch(d.s.commits)
	defer b.Cancel()
	lacking, other := map[string]int{}, map[string]int{}
	unexplained := false // an entry is not damaged, and not the last that was written
	err = d.each(ctx, func(e decisions.Entry, _ bool) error {
		first, is := lost[sumKey(e.Key)]
		if !is {
			return nil
		}
		if first {
			lost[sumKey(e.Key)] = false
			value, err := rawRecord(txn, e.Key)
			if err != nil {
				return err
			}
			_, damage := record.Decode(e.Key, value)
			if unexplained = unexplained || value == nil || damage == nil; damage == nil {
				other[e.Name]++
			} else {
				lacking[e.Name]++
			}
		}
		return b.Set(bytes.Clone(e.Key), bytes.Clone(e.Value))
	})
	if err == nil {
		err = b.Flush()
	}
	if err != nil {
		return err
	}
	var lose Losses
	if unexplained && len(d.lost) == 0 && d.logDamage == nil {
		lose = Losses{{Kind: "record of tables", Count: UnknownCount}} // what took these may have taken others
	}
	tell := func(name string, entries map[string]int, what, done string) error {
		if entries[name] == 0 {
			return nil
		}
		m := Correction{Where: "space " + name, What: fmt.Sprintf(what, entries[name]), Done: done, Lost: lose}
		lose = nil
		return d.tell(m)
	}
	for _, name := range sortedNames(d.cat.Twice) {
		err := errors.Join(
			tell(name, lacking, "%d of its entries are missing or damaged", "put back from "+decisions.FileName),
			tell(name, other, "%d of its entries are whole, and other than in "+decisions.FileName,
				"those of the file are taken; the former ones are in the store as it was"))
		if err != nil {
			return err
		}
	}
	return nil
}

// holds says whether Badger has a value, nil for none, under a key.
func holds(txn *lsm.Txn, key, want []byte) (same bool, err error) {
	value, err := txn.Get(key)
	switch {
	case errors.Is(err, ErrNotFound):
		return want == nil, nil
	case errors.Is(err, ErrCorrupt):
		return false, nil
	case err != nil:
		return false, err
	}
	return want != nil && bytes.Equal(value, want), nil
}

// A keySum stands for a key.
type keySum [sha256.Size]byte

func sumKey(key []byte) keySum { return sha256.Sum256(key) }

// rawRecord is the record under a key as it is; nil if there is none, or none that can be read.
func rawRecord(txn *lsm.Txn, key []byte) (value []byte, err error) {
	value, err = txn.Get(key)
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrCorrupt) {
		return nil, nil
	}
	return value, err
}

// renewLog writes decisions.log anew. It is told of if the file was damaged.
func (r *repair) renewLog(context.Context) error {
	if !r.changed && r.logDamage == nil {
		return nil
	}
	if err := r.s.createDecisions(); err != nil || r.logDamage == nil {
		return err
	}
	return r.tell(Correction{Where: decisions.FileName, What: r.logDamage.Error(), Done: "written anew from the tables"})
}
