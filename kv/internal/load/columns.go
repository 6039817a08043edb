package load

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/graphcleaner/graphcleaner/internal/offheap"
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/dict"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// WriteIDs writes the ids in file order, and positions and NodeIDs by each other.
func (l *Load) WriteIDs(ctx context.Context, put Put, g record.Generation) (err error) {
	nodeAt := dict.NewNumberWriter(put, record.KindNodeAt, g)
	position := dict.NewNumberWriter(put, record.KindPosition, g)
	positions, err := offheap.New[uint32](len(l.nodeAt.Data))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, positions.Free()) }()
	for p, v := range l.nodeAt.Data {
		positions.Data[v] = uint32(p)
	}
	for first := 0; first < len(positions.Data); first += contextEvery {
		if err := ctx.Err(); err != nil {
			return err
		}
		end := min(first+contextEvery, len(positions.Data))
		if err := errors.Join(nodeAt.Append(l.nodeAt.Data[first:end]...),
			position.Append(positions.Data[first:end]...)); err != nil {
			return err
		}
	}
	if err := errors.Join(nodeAt.Close(), position.Close()); err != nil {
		return err
	}
	if l.ids.isDense {
		return nil
	}
	ids := dict.NewIDWriter(put, g, l.opt.Dir, Unit(l.opt.MemoryBudget), l.opt.Workers)
	defer func() { err = errors.Join(err, ids.Close()) }()
	err = l.eachRow(ctx, func(row nodeRow) error {
		if row.position%contextEvery == 0 {
			l.progress(StageIDs, int64(row.position), l.stats.Nodes)
		}
		return ids.Append(viewText(row.id))
	})
	if err != nil {
		return err
	}
	return ids.Finish(ctx)
}

// ReadLabels hands the labels of consecutive nodes to use, as their places in classes, which has all of Classes, −1 for
// none. They ascend by NodeID; the slice is borrowed. It also sorts the values for ReadColumns.
func (l *Load) ReadLabels(
	ctx context.Context, classes []string, use func(first record.NodeID, labels []int32) error,
) (err error) {
	labels, err := offheap.New[uint32](len(l.nodeAt.Data)) // by NodeID: the label's number in the load plus one
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, labels.Free()) }()
	err = l.eachRow(ctx, func(r nodeRow) error {
		v := l.nodeAt.Data[r.position]
		label, _, err := l.parseRest(r.rest, 0, 0, nil)
		labels.Data[v] = uint32(label)
		if err == nil && len(l.opt.Kinds) > 0 {
			err = l.values.AddUint64(uint64(v), r.rest)
		}
		return err
	})
	if err != nil {
		return err
	}
	return l.readLabels(ctx, classes, labels.Data, use)
}

// ReadColumns hands the values of the columns from first to end−1 of each node to row, behind ReadLabels, and as often
// as it is asked. Nodes ascend; the slice is borrowed, and as short as it was given.
func (l *Load) ReadColumns(
	ctx context.Context, first, end int, row func(v record.NodeID, values []codec.Value) error,
) error {
	var values []codec.Value
	done := int64(0)
	for r, err := range l.values.Records(ctx) {
		if err != nil {
			return err
		}
		if _, values, err = l.parseRest(r.Value, first, end, values[:0]); err != nil {
			return err
		}
		if err := row(record.NodeID(binary.BigEndian.Uint64(r.Key)), values); err != nil {
			return err
		}
		if done++; done%contextEvery == 0 {
			l.progress(StageColumns, int64(first)*l.stats.Nodes+int64(end-first)*done, int64(len(l.opt.Kinds))*l.stats.Nodes)
		}
	}
	return nil
}

// ValueBytes is about the size of a value that was added, in bytes.
func (l *Load) ValueBytes() int64 {
	return l.rows.size / max(1, l.stats.Nodes*int64(len(l.opt.Kinds)))
}

// readLabels hands labels to use.
func (l *Load) readLabels(
	ctx context.Context, classes []string, labels []uint32, use func(first record.NodeID, labels []int32) error,
) error {
	places := make([]int32, 1+len(l.classes)) // by their numbers in the load plus one
	places[0] = -1
	for place, name := range classes {
		places[1+l.classNumbers[name]] = int32(place)
	}
	var values []int32
	first := record.NodeID(0)
	for part := range slices.Chunk(labels, contextEvery) {
		if err := ctx.Err(); err != nil {
			return err
		}
		values = values[:0]
		for _, number := range part {
			values = append(values, places[number])
		}
		if err := use(first, values); err != nil {
			return err
		}
		first += record.NodeID(len(part))
		l.progress(StageColumns, int64(first), l.stats.Nodes)
	}
	return nil
}
