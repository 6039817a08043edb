package kv

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graphcleaner/graphcleaner/internal/spill"
	"github.com/graphcleaner/graphcleaner/kv/internal/changes"
	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A Bulk writes whole columns, matrices and spaces beside the live data. Commit makes them all visible in one
// transaction, in place of those of the same name. What is put for a removed node is dropped, since a long job may
// know of nodes that were removed after it began. Until then readers see the old data, and a crash keeps the old
// data. A Bulk and its writers are for one goroutine, and must end in Commit or Abort: other writers wait for it.
type Bulk struct {
	ctx   context.Context // bounds the sorting of rows
	s     *Store
	tx    *Tx      // the store as it was
	draft *catalog // as it will be

	removed NodeSet // rows put for these nodes are dropped

	batch *lsm.PackWriter

	writers map[string]bulkWriter // that were begun, by the names of their targets
	block   []byte                // scratch of columns
	done    bool
	failed  error // of the first row that was not written

	rewrites bool         // what it writes are the values that were there
	touched  changes.Sets // by what it writes, unless it rewrites
	renews   bool         // decisions.log is to be written anew

	began time.Time
}

// A bulkWriter is how a writer of a column, a matrix or a space ends.
type bulkWriter struct {
	finish func() error // writes what is buffered, and enters it in the draft
	close  func() error // removes spilled files
}

// Bulk begins a bulk write, after the running Update, Bulk or Compact has ended. If ctx ends before that, Bulk fails;
// if it ends before all rows are sorted, Commit does. While a Bulk is open, an Update, Bulk or Compact of the same
// goroutine waits for ever, and Close returns ErrBusy.
func (s *Store) Bulk(ctx context.Context) (*Bulk, error) {
	b, err := s.beginBulk(ctx)
	if err == nil {
		s.bulkOpen.Store(true)
	}
	return b, err
}

// beginBulk is Bulk, for one that its caller is sure to end.
func (s *Store) beginBulk(ctx context.Context) (*Bulk, error) {
	if s.opt.ReadOnly {
		return nil, fmt.Errorf("%s: %w", s.name, ErrReadOnly)
	}
	if err := s.lockWriter(ctx); err != nil {
		return nil, err
	}
	b := &Bulk{ctx: ctx, s: s, tx: s.Begin(), writers: map[string]bulkWriter{}, began: time.Now()}
	var err error
	if b.removed, err = b.tx.Removed(); err != nil {
		b.tx.end()
		s.writer.Unlock()
		return nil, err
	}
	b.draft = b.tx.cat.clone()
	b.draft.Next = max(b.draft.Next, s.unused)
	b.batch = s.db.NewPacks()
	return b, nil
}

// check returns ErrClosed after Commit or Abort.
func (b *Bulk) check() error {
	if b.done {
		return fmt.Errorf("bulk: %w", ErrClosed)
	}
	return nil
}

// fail keeps the first error of a row, with which Commit fails, and returns err.
func (b *Bulk) fail(err error) error {
	if b.failed == nil {
		b.failed = err
	}
	return err
}

// Context is the context that the Bulk was begun with.
func (b *Bulk) Context() context.Context { return b.ctx }

// Tx is a read view of the store as it was when the Bulk began. It ends with the Bulk.
func (b *Bulk) Tx() *Tx { return b.tx }

// newWriter makes the checks that every writer of a Bulk begins with, and returns its generation.
func (b *Bulk) newWriter(what, name string) (record.Generation, error) {
	if err := b.check(); err != nil {
		return 0, err
	}
	if _, taken := b.writers[what+" "+name]; taken {
		return 0, fmt.Errorf("%s %s: %w: it is being written already", what, name, ErrExists)
	}
	if err := validateName(what, name); err != nil {
		return 0, err
	}
	g, err := b.draft.newGeneration()
	if err != nil {
		return 0, fmt.Errorf("%s %s: %w", what, name, err)
	}
	return g, nil
}

// Column begins a column, in place of one of the same name, of any kind. Its index mark is lost unless Commit's final
// sets it.
func (b *Bulk) Column(name string, kind Kind) (*ColumnWriter, error) {
	if err := checkColumn(name, kind); err != nil {
		return nil, err
	}
	g, err := b.newWriter("column", name)
	if err != nil {
		return nil, err
	}
	w := newColumnWriter(b, name, kind, g)
	b.writers["column "+name] = bulkWriter{func() error {
		err := w.finish()
		w.entry.Sum = b.batch.Sums[g]
		w.entry.Indexed = b.rewrites && b.draft.Columns[name].Indexed // entries of the index are right for the same values
		b.draft.Columns[name] = w.entry
		return err
	}, w.close}
	return w, nil
}

// Matrix begins a matrix [n×len(columns)], in place of one of the same name.
func (b *Bulk) Matrix(name string, columns []string) (*MatrixWriter, error) {
	g, err := b.newWriter("matrix", name)
	if err != nil {
		return nil, err
	}
	w := newMatrixWriter(b, name, columns, g)
	b.writers["matrix "+name] = bulkWriter{func() error {
		err := w.finish()
		w.entry.Sum = b.batch.Sums[g]
		b.draft.Matrices[name] = w.entry
		return err
	}, w.close}
	return w, nil
}

// Space begins a space, in place of one of the same name. put writes an entry; it takes keys in ascending order, each
// once. Its caller may reuse key and value.
func (b *Bulk) Space(name string) (put func(key, value []byte) error, err error) {
	g, err := b.newWriter("space", name)
	if err != nil {
		return nil, err
	}
	b.writers["space "+name] = bulkWriter{func() error {
		b.draft.Spaces[name] = g
		b.renews = b.renews || b.draft.Twice[name]
		return nil
	}, func() error { return nil }}
	w := &spaceWriter{b: b, name: name, generation: g}
	return func(key, value []byte) error { return b.fail(w.put(key, value)) }, nil
}

// Commit makes all that was written visible at once, together with what final, if not nil, writes in the same
// transaction, which sees it. It is on disk when Commit returns. If a writer of the Bulk returned an error for a row,
// Commit returns that error too. If the error is an ErrCommitted, the commit has happened. After any other error
// nothing has changed. Abort must follow in both cases.
func (b *Bulk) Commit(final func(tx *Tx) error) error {
	if err := cmp.Or(b.check(), b.failed); err != nil {
		return err
	}
	err := b.finishWriters()
	if err == nil {
		err = b.switchOver(final)
	}
	b.s.log("bulk", b.began, err, "records", b.batch.Records, "bytes", b.batch.Bytes)
	if err != nil {
		return err
	}
	defer b.s.writer.Unlock()
	if err := b.release(); err != nil {
		return fmt.Errorf("%w, but %w", ErrCommitted, err)
	}
	return nil
}

// switchOver has the catalogue name the new generations.
func (b *Bulk) switchOver(final func(tx *Tx) error) error {
	if err := b.batch.Publish(); err != nil {
		return err
	}
	tx := b.s.begin(true)
	defer tx.end()
	if tx.err != nil {
		return tx.err
	}
	if b.draft.Graph != b.tx.cat.Graph {
		b.draft.GraphSum = b.batch.Sums[b.draft.Graph]
	}
	// Nobody else could write since the draft was made, so it is the catalogue with this Bulk's changes.
	tx.cat = b.draft.clone()
	tx.changed = true
	tx.renews = b.renews
	if !b.rewrites {
		tx.touched = b.touched
	}
	if final != nil {
		if err := final(tx); err != nil {
			return err
		}
	}
	return tx.commit()
}

// finishWriters ends all the writers that were begun, enters in the draft what they wrote, and forgets them.
func (b *Bulk) finishWriters() error {
	for _, name := range sortedNames(b.writers) {
		w := b.writers[name]
		delete(b.writers, name)
		if err := errors.Join(w.finish(), w.close()); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// Abort gives up what was written; also after a failed Commit. After a Commit that succeeded it does nothing. What it
// cannot remove, the next Open does.
func (b *Bulk) Abort() {
	if !b.done {
		defer b.s.writer.Unlock()
		b.release() //nolint:errcheck // see above
	}
}

// release gives everything back but the writer's lock, and removes what no catalogue names.
func (b *Bulk) release() error {
	b.done = true
	b.s.unused = max(b.s.unused, b.draft.Next)
	err := b.batch.Cancel()
	b.tx.end()
	err = errors.Join(err, b.s.sweep())
	for _, w := range b.writers {
		err = errors.Join(err, w.close())
	}
	b.s.bulkOpen.Store(false)
	return err
}

// preview is a snapshot of what was written so far, of which the draft knows.
func (b *Bulk) preview() (*Tx, error) {
	if err := b.batch.Publish(); err != nil {
		return nil, err
	}
	tx := b.s.Begin()
	if tx.err != nil {
		return nil, tx.err
	}
	tx.cat = b.draft.clone()
	tx.structures = &structures{tx.newGraph(), tx.newDict()}
	if tx.cat.Removed > 0 {
		tx.removed.Store(&removedSet{tx.cat.Removed, b.removed})
	}
	return tx, nil
}

// Sorter begins a sorter of records, such as the entries of a Space, which must be closed. It holds a sixteenth of
// the budget of the store, and sorts more in a temporary file of the store, which does not outlive a crash.
func (b *Bulk) Sorter() *spill.Sorter { return b.s.newSorter() }

// newSorter is Sorter, also of a store that is only read.
func (s *Store) newSorter() *spill.Sorter { return spill.New(s.Scratch().Path(), s.sortMemory()) }

// sortMemory is the number of bytes that one sorter may hold.
func (s *Store) sortMemory() int64 { return s.opt.MemoryBudget / 16 }
