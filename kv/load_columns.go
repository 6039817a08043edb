package kv

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/graphcleaner/graphcleaner/internal/offheap"
	"github.com/graphcleaner/graphcleaner/internal/spill"
	"github.com/graphcleaner/graphcleaner/kv/internal/dict"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// writeDictionary writes the ids in file order, and positions and NodeIDs by each other.
func (l *Loader) writeDictionary(ctx context.Context) (err error) {
	nodeAt := dict.NewNumberWriter(l.tables.Put, record.KindNodeAt, l.generation)
	position := dict.NewNumberWriter(l.tables.Put, record.KindPosition, l.generation)
	positions, err := offheap.New[uint32](len(l.nodeAt.Data))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, positions.Free()) }()
	for p, v := range l.nodeAt.Data {
		positions.Data[v] = uint32(p)
	}
	for i := range l.nodeAt.Data {
		if i%contextEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := errors.Join(nodeAt.Append(l.nodeAt.Data[i]), position.Append(positions.Data[i])); err != nil {
			return err
		}
	}
	if err := errors.Join(nodeAt.Close(), position.Close()); err != nil {
		return err
	}
	if l.denseIDs {
		return nil
	}
	ids := dict.NewIDWriter(l.tables.Put, l.generation, l.work.sort(), l.unit)
	defer func() {
		if closing := ids.Close(); err == nil {
			err = closing
		}
	}()
	for row, err := range l.rows.all(ctx) {
		if err != nil {
			return err
		}
		if err := ids.Append(viewText(row.id)); err != nil {
			return err
		}
		if row.position%contextEvery == 0 {
			l.progress(stageIDs, int64(row.position), l.stats.Nodes)
		}
	}
	return ids.Finish(ctx)
}

// writeCatalog makes the graph visible to who opens the store.
func (l *Loader) writeCatalog() error {
	return l.store.Update(func(tx *Tx) error {
		cat, err := tx.change()
		if err != nil {
			return err
		}
		cat.Graph = l.generation
		cat.Nodes, cat.LoadedNodes, cat.Edges = len(l.nodeAt.Data), len(l.nodeAt.Data), l.stats.Edges
		cat.Directed, cat.Weighted, cat.Arcs = l.opt.Directed, l.opt.Weighted, l.stats.Arcs
		cat.IntegerIDs = l.integerIDs
		cat.DenseIDs = l.denseIDs
		for _, name := range l.classes.sorted() {
			cat.class(name)
		}
		return nil
	})
}

// writeColumns writes label and properties.
func (l *Loader) writeColumns(ctx context.Context) (err error) {
	labels, err := offheap.New[uint32](len(l.nodeAt.Data)) // by NodeID: the label's number in the load plus one
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, labels.Free()) }()
	rows := spill.New(l.work.sort(), l.unit) // NodeID → the rest of its row, where there are properties
	defer func() { err = errors.Join(err, rows.Close()) }()
	for row, err := range l.rows.all(ctx) {
		if err != nil {
			return err
		}
		v := l.nodeAt.Data[row.position]
		number, n := binary.Uvarint(row.rest)
		if n <= 0 {
			return errRest
		}
		labels.Data[v] = uint32(number)
		if len(l.opt.Properties) == 0 {
			continue
		}
		if err := rows.AddUint64(uint64(v), row.rest); err != nil {
			return err
		}
	}
	bulk, err := l.store.Bulk()
	if err != nil {
		return err
	}
	defer bulk.Abort()
	if err := l.writeLabels(ctx, bulk, labels.Data); err != nil {
		return err
	}
	if err := l.writeProperties(ctx, bulk, rows); err != nil {
		return err
	}
	return bulk.Commit(nil)
}

func (l *Loader) writeLabels(ctx context.Context, bulk *Bulk, labels []uint32) error {
	column, err := bulk.ascendingColumn(LabelColumn, KindClass)
	if err != nil {
		return err
	}
	classes := make([]Class, 1+len(l.classes.names)) // by their numbers in the load plus one
	classes[0] = NoClass
	for class, name := range bulk.Tx().Classes() {
		classes[1+l.classes.numbers[name]] = Class(class)
	}
	var values []Class
	first := NodeID(0)
	for part := range slices.Chunk(labels, contextEvery) {
		if err := ctx.Err(); err != nil {
			return err
		}
		values = values[:0]
		for _, number := range part {
			if int(number) >= len(classes) {
				return errRest
			}
			values = append(values, classes[number])
		}
		if err := column.PutClasses(first, values); err != nil {
			return err
		}
		first += NodeID(len(part))
		l.progress(stageColumns, int64(first), l.stats.Nodes)
	}
	return nil
}

func (l *Loader) writeProperties(ctx context.Context, bulk *Bulk, rows *spill.Sorter) (err error) {
	columns := make([]*ColumnWriter, len(l.opt.Properties))
	for i, column := range l.opt.Properties {
		if columns[i], err = bulk.ascendingColumn(column.Name, column.Kind); err != nil {
			return err
		}
	}
	var values []Value
	done := int64(0)
	for r, err := range rows.Sorted(ctx) {
		if err != nil {
			return err
		}
		v := NodeID(binary.BigEndian.Uint64(r.Key))
		if _, values, err = parseRest(r.Value, values[:0]); err != nil {
			return err
		}
		for i, value := range values {
			if err := columns[i].Put(v, value); err != nil {
				return err
			}
		}
		if done++; done%contextEvery == 0 {
			l.progress(stageColumns, done, l.stats.Nodes)
		}
	}
	return nil
}
