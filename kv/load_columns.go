package kv

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/graphcleaner/graphcleaner/kv/spill"
)

// writeDictionary writes the ids in file order, and positions and NodeIDs by each other.
func (l *Loader) writeDictionary(ctx context.Context) (err error) {
	nodeAt := numberWriter{put: l.batch.put, kind: kindNodeAt, generation: l.generation}
	position := numberWriter{put: l.batch.put, kind: kindPosition, generation: l.generation}
	positions := make([]uint32, len(l.nodeAt.Data))
	for p, v := range l.nodeAt.Data {
		positions[v] = uint32(p)
	}
	for i := range l.nodeAt.Data {
		if i%contextEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := errors.Join(nodeAt.append(l.nodeAt.Data[i]), position.append(positions[i])); err != nil {
			return err
		}
	}
	if err := errors.Join(nodeAt.close(), position.close()); err != nil {
		return err
	}
	if l.denseIDs {
		return nil
	}
	ids := newIDWriter(l.batch.put, l.generation, l.work.sort(), l.unit)
	defer func() {
		if closing := ids.close(); err == nil {
			err = closing
		}
	}()
	for row, err := range l.rows.all(ctx) {
		if err != nil {
			return err
		}
		if err := ids.append(viewText(row.id)); err != nil {
			return err
		}
		if row.position%contextEvery == 0 {
			l.progress(stageIDs, int64(row.position), l.stats.Nodes)
		}
	}
	return ids.finish(ctx)
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
		if l.arcLoad != nil {
			cat.Directed, cat.Weighted, cat.Arcs = l.opt.Directed, l.opt.Weighted, l.stats.Arcs
		}
		cat.IntegerIDs = l.integerIDs
		cat.DenseIDs = l.denseIDs
		for _, name := range l.classes.sorted() {
			cat.class(name)
		}
		return nil
	})
}

// writeColumns sorts the rows by NodeID and writes label and properties.
func (l *Loader) writeColumns(ctx context.Context) (err error) {
	rows := spill.New(l.work.sort(), l.unit)
	defer func() {
		if closing := rows.Close(); err == nil {
			err = closing
		}
	}()
	for row, err := range l.rows.all(ctx) {
		if err != nil {
			return err
		}
		if err := rows.AddUint64(uint64(l.nodeAt.Data[row.position]), row.rest); err != nil {
			return err
		}
	}
	bulk, err := l.store.Bulk()
	if err != nil {
		return err
	}
	defer bulk.Abort()
	label, err := bulk.Column(LabelColumn, KindClass)
	if err != nil {
		return err
	}
	classes := make([]Class, len(l.classes.names)) // by their numbers in the load
	for class, name := range bulk.Tx().Classes() {
		classes[l.classes.numbers[name]] = Class(class)
	}
	columns := make([]*ColumnWriter, len(l.opt.Properties))
	for i, column := range l.opt.Properties {
		if columns[i], err = bulk.Column(column.Name, column.Kind); err != nil {
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
		number, parsed, err := parseRest(r.Value, values[:0])
		if err != nil {
			return err
		}
		values = parsed
		if number >= 0 {
			if err := label.PutClasses(v, classes[number:number+1]); err != nil {
				return err
			}
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
	return bulk.Commit(nil)
}
