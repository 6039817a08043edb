package kv

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// columns writes damaged columns again, with null for what cannot be read.
func (r *repair) columns(ctx context.Context, found damagedRecords) error {
	for _, column := range r.tx.Columns() {
		damaged := found.generations[r.tx.cat.Columns[column.Name].Generation]
		if !damaged {
			var err error
			damaged, err = r.broken(ctx, newChecker(r.tx, nil, nil), func(c *checker, ctx context.Context) error { return c.column(ctx, column.Name) })
			if err != nil {
				return err
			}
		}
		if !damaged {
			continue
		}
		if err := r.column(ctx, column); err != nil {
			return fmt.Errorf("column %s: %w", column.Name, err)
		}
	}
	return nil
}

// A stretch is consecutive nodes whose values are lost, to be told of at once.
type stretch struct {
	Range
	what string
}

// nulls tells of a stretch of lost values of a kind, where there is one, and begins another. Some may have been null.
func (r *repair) nulls(kind, where, now string, s *stretch, next stretch) error {
	if s.Len() > 0 && (next.Len() == 0 || next.First != s.End || next.what != s.what) {
		lost := Loss{Kind: kind, Count: int64(s.Len()), AtMost: true}
		if err := r.lose(lost, fmt.Sprintf("%s, node numbers %d to %d", where, s.First, s.End-1), s.what, "%s", now); err != nil {
			return err
		}
		*s = next
		return nil
	}
	if s.Len() == 0 {
		*s = next
	} else {
		s.End = next.End
	}
	return nil
}

func (r *repair) column(ctx context.Context, column Column) error {
	bulk, err := r.write()
	if err != nil {
		return err
	}
	w, err := bulk.Column(column.Name, column.Kind)
	if err != nil {
		return err
	}
	entry := r.tx.cat.Columns[column.Name]
	where, kind := "column "+column.Name, "value of "+column.Name
	if column.Name == LabelColumn {
		kind = "label"
	}
	var lost stretch
	null := func(first, end NodeID, damage error) error {
		return r.nulls(kind, where, "set to null", &lost, stretch{Range{first, end}, damage.Error()})
	}
	var block codec.Column
	for first := NodeID(0); int(first) < r.tx.NumNodes(); first += codec.ColumnRows {
		if err := ctx.Err(); err != nil {
			return err
		}
		r.progress(where, int64(first), int64(r.tx.NumNodes()))
		end := NodeID(min(int(first)+codec.ColumnRows, r.tx.NumNodes()))
		changes, err := r.columnChanges(ctx, entry, Range{first, end})
		if err != nil {
			return err
		}
		put := func() error {
			for v := first; v < end; v++ {
				value, damage := r.columnValue(entry, &block, changes, v, int(v-first))
				if damage != nil {
					if err := null(v, v+1, damage); err != nil {
						return err
					}
					continue
				}
				if err := w.Put(v, value); err != nil {
					return err
				}
			}
			return nil
		}
		block.Clear()
		if uint32(first) >= entry.Rows {
			if err := put(); err != nil {
				return err
			}
			continue
		}
		used := false
		damage := getFunc(r.tx.get).columnBlock(entry, uint32(first)/codec.ColumnRows, &block, func() error {
			used = true
			return put()
		})
		switch {
		case damage == nil:
		case used || !errors.Is(damage, ErrCorrupt):
			return damage
		default:
			// Of the block nothing is known; what was changed since is.
			for v := first; v < end; v++ {
				change, there := changes[v]
				if !there || change.damage != nil {
					if err := null(v, v+1, damage); err != nil {
						return err
					}
					continue
				}
				value, wrong := r.tx.fromCell(entry.Kind, change.cell)
				if wrong != nil {
					if err := null(v, v+1, wrong); err != nil {
						return err
					}
				} else if err := w.Put(v, value); err != nil {
					return err
				}
			}
		}
	}
	return r.nulls(kind, where, "set to null", &lost, stretch{})
}

// A columnChange is a delta of a column, or what is wrong with it.
type columnChange struct {
	cell   Value
	damage error
}

// columnChanges are the deltas of a range.
func (r *repair) columnChanges(ctx context.Context, entry columnEntry, rng Range) (map[NodeID]columnChange, error) {
	changes := map[NodeID]columnChange{}
	if !entry.Deltas {
		return changes, nil
	}
	prefix := record.Prefix(record.KindColumnDelta, entry.Generation)
	from := columnDeltaKey(entry.Generation, rng.First)
	err := eachRecord(ctx, r.s.db, prefix, from, func(rec record.Record, _ []byte, damage error) error {
		node, ok := record.NumberOf(rec.Key, 0)
		switch {
		case !ok:
			return nil // no reader finds it
		case NodeID(node) >= rng.End:
			return errEnough
		}
		change := columnChange{damage: damage}
		if damage == nil {
			change.cell, change.damage = codec.ParseValue(rec.Body)
		}
		changes[NodeID(node)] = change
		return nil
	})
	return changes, err
}

// columnValue is the value of a row of a sound block, or of the change in its place.
func (r *repair) columnValue(
	entry columnEntry, block *codec.Column, changes map[NodeID]columnChange, v NodeID, row int,
) (Value, error) {
	change, there := changes[v]
	switch {
	case there && change.damage != nil:
		return Value{}, change.damage
	case there:
		return r.tx.fromCell(entry.Kind, change.cell)
	case row >= block.Count:
		return Value{}, nil
	}
	return r.tx.fromCell(entry.Kind, block.Cell(row, entry.Kind))
}

// matrices writes damaged matrices again, with NaN for the rows that cannot be read.
func (r *repair) matrices(ctx context.Context, found damagedRecords) error {
	for _, name := range r.tx.Matrices() {
		damaged := found.generations[r.tx.cat.Matrices[name].Generation]
		if !damaged {
			var err error
			damaged, err = r.broken(ctx, newChecker(r.tx, nil, nil), func(c *checker, ctx context.Context) error { return c.matrix(ctx, name) })
			if err != nil {
				return err
			}
		}
		if !damaged {
			continue
		}
		if err := r.matrix(ctx, name); err != nil {
			return fmt.Errorf("matrix %s: %w", name, err)
		}
	}
	return nil
}

func (r *repair) matrix(ctx context.Context, name string) error {
	bulk, err := r.write()
	if err != nil {
		return err
	}
	m, err := r.tx.Matrix(name)
	if err != nil {
		return err
	}
	w, err := bulk.EncodedMatrix(name, m.Columns(), m.Encoding())
	if err != nil {
		return err
	}
	entry := r.tx.cat.Matrices[name]
	where := "matrix " + name
	height := int(entry.BlockRows)
	if height == 0 {
		return record.Corrupt(record.Prefix(record.KindMatrix, entry.Generation), "its blocks have no rows")
	}
	blocks := entry
	blocks.Deltas = false
	next, stop := r.rowChanges(ctx, entry)
	defer stop()
	change, err, more := next()
	if err != nil {
		return err
	}
	var lost stretch
	rows := make([]float32, height*m.Width())
	for first := 0; first < r.tx.NumNodes(); first += height {
		if err := ctx.Err(); err != nil {
			return err
		}
		r.progress(where, int64(first), int64(r.tx.NumNodes()))
		rng := Range{NodeID(first), NodeID(min(first+height, r.tx.NumNodes()))}
		block := rows[:rng.Len()*m.Width()]
		damage := m.read(r.tx.get, blocks, rng, 0, m.Width(), codec.Window{Values: block, Stride: m.Width()})
		if damage != nil && !errors.Is(damage, ErrCorrupt) {
			return damage
		}
		for v := rng.First; v < rng.End; v++ {
			row := block[int(v-rng.First)*m.Width():][:m.Width()]
			broken := damage
			for ; more && err == nil && change.node <= v; change, err, more = next() {
				if change.node == v {
					broken = change.row(row)
				}
			}
			if err != nil {
				return err
			}
			if broken != nil {
				if err := r.nulls("row of "+where, where, "set to NaN", &lost, stretch{Range{v, v + 1}, broken.Error()}); err != nil {
					return err
				}
				codec.FillWith(row, float32(math.NaN()))
			}
			if isUnwritten(row) {
				continue
			}
			if err := w.Put(v, row); err != nil {
				return err
			}
		}
	}
	return r.nulls("row of "+where, where, "set to NaN", &lost, stretch{})
}

// A rowChange is a delta of a matrix, or what is wrong with it.
type rowChange struct {
	node   NodeID
	body   []byte
	damage error
}

// row decodes the change.
func (c rowChange) row(dst []float32) error {
	if c.damage != nil {
		return c.damage
	}
	_, err := codec.DecodeTile(c.body, 1, len(dst), codec.TilePart{RowLo: 0, RowHi: 1, Lo: 0, Hi: len(dst)}, codec.Window{Values: dst, Stride: len(dst)})
	return err
}

// rowChanges are the deltas of a matrix, ascending by node; more is false behind the last.
func (r *repair) rowChanges(ctx context.Context, entry matrixEntry) (next func() (rowChange, error, bool), stop func()) {
	return iter.Pull2(func(yield func(rowChange, error) bool) {
		prefix := record.Prefix(record.KindRowDelta, entry.Generation)
		err := eachChain(ctx, r.s.db, prefix, func(key []byte, _ [][]byte, body []byte, damage error) error {
			v, ok := record.NumberOf(key, 0)
			if !ok {
				return nil // no reader finds it
			}
			if !yield(rowChange{NodeID(v), body, damage}, nil) {
				return errEnough
			}
			return nil
		})
		if err != nil {
			yield(rowChange{}, err)
		}
	})
}
