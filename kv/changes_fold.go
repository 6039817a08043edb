package kv

import (
	"cmp"
	"context"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv/internal/changes"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/snapshot"
)

// foldedBytes is about the size of a record of many commits.
const foldedBytes = record.PartSize / 2

// changes writes the records of changes again: few large ones, which have of each node in each kind its last change alone. Every
// mark gets the same answer as before. Nobody may take a generation of the Bulk afterwards, because that may commit.
func (w *rewriter) changes(ctx context.Context) error {
	t := w.bulk.draft.Tracking
	if t == nil {
		return nil
	}
	g, err := w.bulk.newGeneration()
	if err != nil {
		return err
	}
	f := &fold{rewriter: w, generation: g, later: t.newSets()}
	if err := w.bulk.s.View(func(tx *Tx) error { return f.run(ctx, tx, t) }); err != nil {
		return err
	}
	t.Generation = g
	return nil
}

// A fold reads the commits from the last to the first.
type fold struct {
	*rewriter
	generation record.Generation
	later      kindSets       // what the commits that were read touched
	record     changes.Record // that is being made; its commits descend
	size       int            // about that of its body
}

func (f *fold) run(ctx context.Context, tx *Tx, t *tracking) error {
	last, err := tx.LastCommit()
	if err != nil {
		return err
	}
	var ends []uint64
	for r, err := range tx.changesAfter(t, t.Since, last) {
		if err := cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
		ends = append(ends, r.Last)
	}
	f.record = changes.Record{First: last + 1, Last: last}
	for i, end := range slices.Backward(ends) {
		if err := ctx.Err(); err != nil {
			return err
		}
		f.progress("changes", int64(len(ends)-i), int64(len(ends)))
		key := changesKey(t.Generation, end)
		err := snapshot.Chain(tx.records(), key, func(body []byte) error {
			r, err := tx.parseChanges(record.Record{Key: key, Body: body}, last)
			if err != nil {
				return err
			}
			return f.add(r, max(r.First, t.Since+1))
		})
		if err != nil {
			return err
		}
	}
	return f.flush()
}

// add adds the commits of a record from one on.
func (f *fold) add(r changes.Record, first uint64) error {
	for _, c := range slices.Backward(r.Commits) {
		if c.Number < first {
			break
		}
		rest := changes.Commit{Number: c.Number, Added: c.Added}
		for _, l := range c.Lists {
			if l = f.later.add(l); l.All || len(l.Nodes) > 0 {
				rest.Lists = append(rest.Lists, l)
				f.size += 3 * len(l.Nodes)
			}
		}
		if rest.Added > 0 || len(rest.Lists) > 0 {
			f.record.Commits = append(f.record.Commits, rest)
			f.size += 4 * (1 + len(rest.Lists))
		}
	}
	f.record.First = first
	if f.size < foldedBytes {
		return nil
	}
	return f.flush()
}

// flush writes the record that is being made, if it has any commit.
func (f *fold) flush() error {
	r := f.record
	if r.First > r.Last {
		return nil
	}
	slices.Reverse(r.Commits)
	f.record, f.size = changes.Record{First: r.First, Last: r.First - 1}, 0
	_, err := record.PutParts(f.bulk.batch.Put, changesKey(f.generation, r.Last), r.Append(nil))
	return err
}
