package kv

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/graphcleaner/graphcleaner/internal/spill"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A rewriter writes what a snapshot has again, under new generations of a Bulk, with the changes since folded in.
type rewriter struct {
	tx       *Tx
	bulk     *Bulk
	progress Progress

	// lose is called with each part that damage took, which is left out. If lose is nil, damage is an error.
	lose func(loss Loss, where, what, done string, args ...any) error
}

// An ahead is a sequence of which the next element is known.
type ahead[T any] struct {
	now  T // the next, if there are more
	more bool
	next func() (T, error, bool)
	stop func()
}

// lookAhead must be followed by stop, also after an error.
func lookAhead[T any](all iter.Seq2[T, error]) (*ahead[T], error) {
	a := new(ahead[T])
	a.next, a.stop = iter.Pull2(all)
	return a, a.advance()
}

func (a *ahead[T]) advance() (err error) {
	a.now, err, a.more = a.next()
	return err
}

// A stretch is consecutive nodes, or places of nodes, that the same damage took. It is one report.
type stretch struct {
	Range
	damage string
	tell   func(s *stretch) error
}

// add adds a node that damage took, and reports the nodes before it if it does not follow them. It returns any other
// error, and without a stretch every error.
func (s *stretch) add(v NodeID, err error) error {
	if s == nil || !errors.Is(err, ErrCorrupt) {
		return err
	}
	if v != s.End || err.Error() != s.damage {
		if err := s.flush(); err != nil {
			return err
		}
		s.Range, s.damage = Range{First: v, End: v}, err.Error()
	}
	s.End = v + 1
	return nil
}

// flush reports the nodes that were added, if there are any.
func (s *stretch) flush() error {
	if s == nil || s.Len() == 0 {
		return nil
	}
	err := s.tell(s)
	s.Range = Range{}
	return err
}

// lost is for values of a kind, some of which may have been null; nil if damage is an error.
func (w *rewriter) lost(kind, where, done string) *stretch {
	if w.lose == nil {
		return nil
	}
	return &stretch{tell: func(s *stretch) error {
		loss := Loss{Kind: kind, Count: int64(s.Len()), AtMost: true}
		return w.lose(loss, fmt.Sprintf("%s, node numbers %d to %d", where, s.First, s.End-1), s.damage, "%s", done)
	}}
}

// A property is a column or a matrix of a snapshot.
type property struct {
	where      string // such as "column label"
	generation record.Generation
	rows       uint32
	deltas     bool
	check      func(c *checker, ctx context.Context) error
	rewrite    func(w *rewriter, ctx context.Context) error
}

func (tx *Tx) properties() (list []property) {
	for _, column := range tx.Columns() {
		e := tx.cat.Columns[column.Name]
		list = append(list, property{
			"column " + column.Name, e.Generation, e.Rows, e.Deltas,
			func(c *checker, ctx context.Context) error { return c.column(ctx, column.Name) },
			func(w *rewriter, ctx context.Context) error {
				out, err := w.bulk.Column(column.Name, column.Kind)
				if err != nil {
					return err
				}
				return w.column(ctx, column, none[nodeValue], out.Put)
			},
		})
	}
	for _, name := range tx.Matrices() {
		e := tx.cat.Matrices[name]
		list = append(list, property{
			"matrix " + name, e.Generation, e.Rows, e.Deltas,
			func(c *checker, ctx context.Context) error { return c.matrix(ctx, name) },
			func(w *rewriter, ctx context.Context) error { return w.matrix(ctx, name, none[spill.Record]) },
		})
	}
	return list
}

// markIndexes marks the columns of a snapshot in the catalogue that has them written again: their values are the same,
// and so are the entries of the indexes.
func markIndexes(columns []Column) func(tx *Tx) error {
	return func(tx *Tx) error {
		for _, column := range columns {
			if err := tx.SetIndexed(column.Name, column.Indexed); err != nil {
				return err
			}
		}
		return nil
	}
}
