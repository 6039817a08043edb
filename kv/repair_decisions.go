package kv

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv/internal/decisions"
	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// openLog reads decisions.log, and brings the store to its last commit.
func (r *repair) openLog(context.Context) (err error) {
	if r.log, err = decisions.Read(r.dir); err != nil {
		return r.renewDue(err)
	}
	var later []decisions.Frame
	found, err := r.log.Scan(func(f decisions.Frame) error {
		if f.Last > r.s.commits {
			later = append(later, f)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := r.renewDue(found.Corrupt(r.s.identity())); err != nil {
		return err
	}
	if found.Known && found.Store != r.s.identity() {
		return nil // nothing of it is of this store
	}
	r.found = found
	return r.later(later)
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
func (r *repair) later(frames []decisions.Frame) error {
	held, last := r.s.commits, r.found.Last
	if last <= held {
		return nil
	}
	if r.logDamage == nil {
		frames = slices.DeleteFunc(frames, func(f decisions.Frame) bool { return f.Last == r.found.Base })
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
		r.logDamage = record.CorruptFile(r.found.Path, "it ends with commit %d, and the store has decisions of commit %d",
			r.found.Last, last)
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

// A lostEntry is what the store has in the place of a decision.
type lostEntry struct {
	space string
	is    entryState
}

type entryState uint8

const (
	isSame entryState = iota
	isMissing
	isDamaged
	isOther // whole, and not as in the file
)

func stateOf(txn *lsm.Txn, e decisions.Entry) (entryState, error) {
	value, err := txn.Get(e.Key)
	switch {
	case errors.Is(err, ErrNotFound) && e.Value == nil:
		return isSame, nil
	case errors.Is(err, ErrNotFound):
		return isMissing, nil
	case errors.Is(err, ErrCorrupt):
		return isDamaged, nil
	case err != nil:
		return 0, err
	case e.Value != nil && bytes.Equal(value, e.Value):
		return isSame, nil
	}
	if _, damage := record.Decode(e.Key, value); damage == nil {
		return isOther, nil
	}
	return isDamaged, nil
}

// putBack puts back the decisions that the store lacks. Of those that are not sure, that is what cannot be read.
func (d *decisionRepair) putBack(ctx context.Context) error {
	txn := d.s.db.Begin(false)
	defer txn.Discard()
	lost := map[[sha256.Size]byte]lostEntry{} // by the sums of their keys
	err := d.each(ctx, func(e decisions.Entry, sure bool) error {
		is, err := stateOf(txn, e)
		if is == isSame || !sure && is != isDamaged {
			delete(lost, sha256.Sum256(e.Key))
		} else {
			lost[sha256.Sum256(e.Key)] = lostEntry{e.Name, is}
		}
		return err
	})
	if err != nil || len(lost) == 0 {
		return err
	}
	b := d.s.db.Batch(d.s.commits)
	defer b.Cancel()
	err = d.each(ctx, func(e decisions.Entry, _ bool) error {
		if _, is := lost[sha256.Sum256(e.Key)]; !is {
			return nil
		}
		return b.Set(bytes.Clone(e.Key), bytes.Clone(e.Value))
	})
	if err == nil {
		err = b.Flush()
	}
	if err != nil {
		return err
	}
	counts := map[lostEntry]int{}
	var lose Losses
	for _, l := range lost {
		counts[l]++
		if l.is != isDamaged && len(d.lost) == 0 && d.logDamage == nil {
			lose = Losses{{Kind: "record of tables", Count: UnknownCount}} // what took these may have taken others
		}
	}
	tell := func(space string, count int, what, done string) error {
		if count == 0 {
			return nil
		}
		m := Correction{Where: "space " + space, What: fmt.Sprintf(what, count), Done: done, Lost: lose}
		lose = nil
		return d.tell(m)
	}
	for _, space := range sortedNames(d.cat.Twice) {
		lacking, other := counts[lostEntry{space, isMissing}]+counts[lostEntry{space, isDamaged}], counts[lostEntry{space,
			isOther}]
		err := errors.Join(
			tell(space, lacking, "%d of its entries are missing or damaged", "put back from "+decisions.FileName),
			tell(space, other, "%d of its entries are whole, and other than in "+decisions.FileName,
				"those of the file are taken; the former ones are in the store as it was"))
		if err != nil {
			return err
		}
	}
	return nil
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
