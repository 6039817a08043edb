package kv

import (
	"errors"
	"fmt"
)

// A Bulk writes whole columns, matrices and spaces beside the live data. Commit makes them all visible in one
// transaction, in place of those of the same name; readers meanwhile see the old ones, and a crash leaves them. A Bulk
// and its writers are for one goroutine, and must end in Commit or Abort: other writers wait for it.
type Bulk struct {
	s     *Store
	tx    *Tx      // the store as it was
	draft *catalog // as it will be
	limit generation
	batch *batch

	columns  map[string]*ColumnWriter
	matrices map[string]*MatrixWriter
	spaces   map[string]*SpaceWriter
	done     bool
}

// maxBulkWriters is the number of generations reserved by a Bulk.
const maxBulkWriters = 1024

// Bulk begins a bulk write, once the Update or Bulk that is running has ended.
func (s *Store) Bulk() (*Bulk, error) {
	s.writer.Lock()
	b, err := s.beginBulk()
	if err != nil {
		s.writer.Unlock()
		return nil, err
	}
	return b, nil
}

func (s *Store) beginBulk() (*Bulk, error) {
	if s.unswept != nil {
		if err := s.sweep(); err != nil {
			return nil, err
		}
		s.unswept = nil
	}
	// Generations are reserved on disk first: should this Bulk leave garbage, the next one does not write into it.
	var first generation
	err := s.update(func(tx *Tx) error {
		c, err := tx.change()
		if err != nil {
			return err
		}
		first = c.Next
		c.Next += maxBulkWriters
		return nil
	})
	if err != nil {
		return nil, err
	}
	tx := s.Begin()
	if tx.err != nil {
		return nil, tx.err
	}
	draft := tx.cat.clone()
	draft.Next = first
	return &Bulk{
		s: s, tx: tx, draft: draft, limit: first + maxBulkWriters, batch: newBatch(s.db),
		columns: map[string]*ColumnWriter{}, matrices: map[string]*MatrixWriter{}, spaces: map[string]*SpaceWriter{},
	}, nil
}

// check returns ErrClosed after Commit or Abort.
func (b *Bulk) check() error {
	if b.done {
		return fmt.Errorf("bulk: %w", ErrClosed)
	}
	return nil
}

// Tx is a read view of the store as it was when the Bulk began. It ends with the Bulk.
func (b *Bulk) Tx() *Tx { return b.tx }

// newWriter checks what every writer of a Bulk begins with.
func (b *Bulk) newWriter(what, name string, taken bool) error {
	switch {
	case b.done:
		return b.check()
	case taken:
		return fmt.Errorf("%s %s: %w: it is being written already", what, name, ErrExists)
	case b.draft.Next >= b.limit:
		return fmt.Errorf("%s %s: kv: a Bulk has at most %d writers", what, name, maxBulkWriters)
	}
	return validateName(what, name)
}

// Column begins a column, in place of one of the same name, of any kind. Its index mark is lost unless Commit's final
// sets it.
func (b *Bulk) Column(name string, kind Kind) (*ColumnWriter, error) {
	_, taken := b.columns[name]
	if err := b.newWriter("column", name, taken); err != nil {
		return nil, err
	}
	if err := checkColumn(name, kind); err != nil {
		return nil, err
	}
	w := newColumnWriter(b, name, kind)
	b.columns[name] = w
	return w, nil
}

// Matrix begins a matrix [n×len(columns)], in place of one of the same name.
func (b *Bulk) Matrix(name string, columns []string) (*MatrixWriter, error) {
	_, taken := b.matrices[name]
	if err := b.newWriter("matrix", name, taken); err != nil {
		return nil, err
	}
	w := newMatrixWriter(b, name, columns)
	b.matrices[name] = w
	return w, nil
}

// Space begins a space, in place of one of the same name.
func (b *Bulk) Space(name string) (*SpaceWriter, error) {
	_, taken := b.spaces[name]
	if err := b.newWriter("space", name, taken); err != nil {
		return nil, err
	}
	w := &SpaceWriter{b: b, name: name, generation: b.draft.newGeneration()}
	b.spaces[name] = w
	return w, nil
}

// DropColumn removes a column at Commit; ErrNoColumn when there is none.
func (b *Bulk) DropColumn(name string) error {
	if err := b.check(); err != nil {
		return err
	}
	if name == LabelColumn {
		return fmt.Errorf("%w: column %s cannot be dropped", ErrInvalidName, name)
	}
	if _, ok := b.draft.Columns[name]; !ok {
		return noColumn(name)
	}
	delete(b.draft.Columns, name)
	return nil
}

// DropMatrix removes a matrix at Commit; ErrNotFound when there is none.
func (b *Bulk) DropMatrix(name string) error {
	if err := b.check(); err != nil {
		return err
	}
	if _, ok := b.draft.Matrices[name]; !ok {
		return fmt.Errorf("matrix %s: %w", name, ErrNotFound)
	}
	delete(b.draft.Matrices, name)
	return nil
}

// Commit makes all that was written visible at once, together with what final, if not nil, writes in the same
// transaction, which sees it. It is on disk when Commit returns. After an error nothing has changed, and Abort must
// follow; only when the error says "committed" has the commit happened.
func (b *Bulk) Commit(final func(tx *Tx) error) error {
	if err := b.check(); err != nil {
		return err
	}
	if err := b.finish(); err != nil {
		return err
	}
	tx := b.s.begin(true)
	defer tx.end()
	if tx.err != nil {
		return tx.err
	}
	// Nobody else could write since the draft was made, so it is the catalogue with this Bulk's changes.
	tx.cat = b.draft.clone()
	tx.cat.Next = b.limit
	tx.changed = true
	if final != nil {
		if err := final(tx); err != nil {
			return err
		}
	}
	if err := tx.commit(); err != nil {
		return err
	}
	return b.end(true)
}

// finish writes what the writers buffer and enters them in the draft.
func (b *Bulk) finish() error {
	for _, name := range sortedNames(b.columns) {
		entry, err := b.columns[name].finish()
		if err != nil {
			return fmt.Errorf("column %s: %w", name, err)
		}
		b.draft.Columns[name] = entry
	}
	for _, name := range sortedNames(b.matrices) {
		entry, err := b.matrices[name].finish()
		if err != nil {
			return fmt.Errorf("matrix %s: %w", name, err)
		}
		b.draft.Matrices[name] = entry
	}
	for name, w := range b.spaces {
		b.draft.Spaces[name] = w.generation
	}
	return b.batch.flush()
}

// Abort gives up what was written; also after a failed Commit. After one that succeeded it does nothing. Should
// cleaning up fail, the next Bulk or Open does it, or says why it cannot.
func (b *Bulk) Abort() {
	if !b.done {
		b.s.unswept = b.end(false)
	}
}

// Dir is the directory of the store, for temporary files. Those named spill-*.tmp are removed when it is next opened.
func (b *Bulk) Dir() string { return b.s.dir }

// end releases everything, and deletes what no catalogue names.
func (b *Bulk) end(committed bool) error {
	b.done = true
	defer b.s.writer.Unlock()
	b.batch.cancel()
	b.tx.end()
	err := b.s.sweep()
	for _, w := range b.columns {
		err = errors.Join(err, w.close())
	}
	for _, w := range b.matrices {
		err = errors.Join(err, w.close())
	}
	if err != nil && committed {
		return fmt.Errorf("committed, but removing what was replaced: %w", err)
	}
	return err
}

// readBack runs fn on a view of what the Bulk has written so far.
func (b *Bulk) readBack(fn func(tx *Tx) error) error {
	if err := b.batch.flush(); err != nil {
		return err
	}
	b.batch = newBatch(b.s.db)
	return b.s.View(fn)
}

// sortLimit is the memory that a writer's sorter may take, in bytes.
func (b *Bulk) sortLimit() int64 { return b.s.opt.MemoryBudget / 16 }
