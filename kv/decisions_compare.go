package kv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/graphcleaner/graphcleaner/internal/spill"
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/decisions"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A lostDecision is an entry that a space does not have as decisions.log has it. All is borrowed.
type lostDecision struct {
	key   []byte
	is    entryState
	known bool   // the file says what became of the entry
	value []byte // as the file has it; nil if it was deleted, or is not known
}

// An entryState is what the space has.
type entryState uint8

const (
	isMissing entryState = iota
	isDamaged
	isOther // whole, and not as in the file
)

// differences calls use with each entry of a space that the transaction sees and decisions.log has otherwise, in order.
// It leaves out what is damaged in the file, and what was committed later.
func (tx *Tx) differences(
	ctx context.Context, log *decisions.Log, space string, use func(d lostDecision) error,
) (err error) {
	prefix := record.Prefix(record.KindSpace, tx.cat.Spaces[space])
	logged := spill.New(tx.s.Scratch().Path(), tx.s.opt.MemoryBudget/16)
	defer func() { err = errors.Join(err, logged.Close()) }()
	err = log.Scan(func(f decisions.Frame) error {
		for e, err := range f.Entries() {
			if err == nil && f.Last <= tx.last && e.Name == space && bytes.HasPrefix(e.Key, prefix) {
				err = logged.Add(e.Key, e.Value) // no record is empty: a deletion is
			}
			if err != nil {
				return err
			}
		}
		return ctx.Err()
	})
	if err != nil && !errors.Is(err, ErrCorrupt) {
		return err
	}
	want, err := lookAhead(lastOfEach(logged.Records(ctx)))
	defer want.stop()
	if err != nil {
		return err
	}
	missingBefore := func(end []byte) (err error) {
		for err == nil && want.more && (end == nil || bytes.Compare(want.now.Key, end) < 0) {
			if len(want.now.Value) > 0 {
				err = use(lostDecision{key: want.now.Key, known: true, value: want.now.Value})
			}
			if err == nil {
				err = want.advance()
			}
		}
		return err
	}
	err = eachRecord(ctx, tx.txn, prefix, func(r record.Record, damage error) error {
		if err := missingBefore(r.Key); err != nil {
			return err
		}
		d := lostDecision{key: r.Key, is: isOther, known: want.more && bytes.Equal(want.now.Key, r.Key)}
		if d.known && len(want.now.Value) > 0 {
			d.value = want.now.Value
		}
		if damage != nil {
			d.is = isDamaged
		}
		if damage != nil || d.value == nil || !bytes.Equal(d.value, record.Encode(r.Key, r.Body)) {
			if err := use(d); err != nil {
				return err
			}
		}
		if d.known {
			return want.advance()
		}
		return nil
	})
	if err != nil {
		return err
	}
	return missingBefore(nil)
}

// lastOfEach yields the last record of each key, borrowed.
func lastOfEach(all iter.Seq2[spill.Record, error]) iter.Seq2[spill.Record, error] {
	return func(yield func(spill.Record, error) bool) {
		var last spill.Record
		for r, err := range all {
			if err != nil {
				yield(r, err)
				return
			}
			if last.Key != nil && !bytes.Equal(r.Key, last.Key) && !yield(last, nil) {
				return
			}
			last = spill.Record{Key: append(last.Key[:0], r.Key...), Value: append(last.Value[:0], r.Value...)}
		}
		if last.Key != nil {
			yield(last, nil)
		}
	}
}

// eachTwice calls use with each space that is kept twice.
func (c *catalog) eachTwice(use func(space string) error) error {
	for _, space := range sortedNames(c.Twice) {
		if _, there := c.Spaces[space]; there {
			if err := use(space); err != nil {
				return err
			}
		}
	}
	return nil
}

// decisions compares the spaces that are kept twice with decisions.log, as it was when the check began.
func (c *checker) decisions(ctx context.Context) error {
	if c.decided == nil {
		return nil
	}
	if err := c.decided.Scan(func(decisions.Frame) error { return ctx.Err() }); err != nil {
		return err
	}
	return c.tx.cat.eachTwice(func(space string) error {
		return c.tx.differences(ctx, c.decided, space, func(d lostDecision) error {
			entry := d.key[len(record.Prefix(record.KindSpace, 0)):]
			if d.known {
				c.problem("space "+space, "the entry %q is missing, or not as %s has it", entry, decisions.FileName)
			} else {
				c.problem("space "+space, "%s lacks the entry %q", decisions.FileName, entry)
			}
			return nil
		})
	})
}

// openLog brings the store to the last commit of decisions.log, and reports the commits that are lost.
func (r *repair) openLog(ctx context.Context) error {
	log, err := decisions.Open(r.place.target, r.s.identity(), true)
	var lacking []decisions.Frame
	if err == nil {
		r.log = log
		lacking, err = r.s.lacking(log)
	}
	last := uint64(0)
	if r.log != nil && (err == nil || errors.Is(err, ErrCorrupt)) {
		last = log.Last()
		err = log.Scan(func(f decisions.Frame) error {
			last = max(last, f.Last)
			return ctx.Err()
		})
	}
	if err != nil && !errors.Is(err, ErrCorrupt) {
		return err
	}
	if r.logDamage = err; errors.Is(err, decisions.ErrTorn) && r.salvaged.Crashed {
		r.logDamage = nil
	}
	if err := r.s.replayDecisions(lacking); err != nil { // they are whole, and nothing is missing before them
		return err
	}
	held := r.s.commits
	if last <= held {
		return nil
	}
	r.s.commits = last // no commit has the number of one that is lost
	if err := r.s.setRecord(decidedKey(), nil); err != nil {
		return err
	}
	what := fmt.Sprintf("it has decisions of commit %d, and the store has come to %d", last, held)
	return r.lose(Loss{Kind: "commit", Count: int64(last - held), AtMost: true}, decisions.FileName, what,
		"%s lost, but for the decisions that the file has", commits(held+1, last))
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
	return tx.cat.eachTwice(func(space string) error { return r.putBack(ctx, tx, space) })
}

// putBack is decisions for one space.
func (r *repair) putBack(ctx context.Context, tx *Tx, space string) error {
	b := r.s.db.Batch(r.s.commits)
	defer b.Cancel()
	var found [isOther + 1]int
	unknown := 0
	err := tx.differences(ctx, r.log, space, func(d lostDecision) error {
		switch {
		case !d.known:
			unknown += codec.Bit(d.is == isOther)
			return nil
		case r.logDamage != nil && (d.is == isOther || len(r.lost) == 0):
			return nil
		}
		found[d.is]++
		return b.Set(bytes.Clone(d.key), bytes.Clone(d.value))
	})
	if err == nil {
		err = b.Flush()
	}
	if err != nil {
		return err
	}
	var lost Losses
	if found[isMissing]+found[isOther] > 0 && len(r.lost) == 0 {
		lost = Losses{{Kind: "record of tables", Count: UnknownCount}} // what took these may have taken others
	}
	where := "space " + space
	if lacking := found[isMissing] + found[isDamaged]; lacking > 0 {
		err = r.tell(Correction{Where: where, What: fmt.Sprintf("%d of its entries are missing or damaged", lacking),
			Done: "put back from " + decisions.FileName, Lost: lost})
		lost = nil
	}
	if other := found[isOther]; other > 0 {
		err = errors.Join(err, r.tell(Correction{
			Where: where, What: fmt.Sprintf("%d of its entries are whole, and other than in %s", other, decisions.FileName),
			Done: "those of the file are taken; the former ones are in the store as it was", Lost: lost,
		}))
	}
	if unknown > 0 && r.logDamage == nil {
		r.logDamage = record.CorruptFile(r.log.Path(), "it lacks %d entries of %s", unknown, where)
	}
	return err
}

// renewLog writes decisions.log anew. It is told of if the file was damaged.
func (r *repair) renewLog(context.Context) error {
	if err := r.s.createDecisions(); err != nil || r.logDamage == nil {
		return err
	}
	return r.tell(Correction{Where: decisions.FileName, What: r.logDamage.Error(), Done: "written anew from the tables"})
}
