package load

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/graphcleaner/graphcleaner/internal/offheap"
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/dict"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// WriteIDs writes the ids in file order, and positions and NodeIDs by each other.
func (l *Load) WriteIDs(ctx context.Context, put Put, g record.Generation) (err error) {
	positions, err := offheap.New[uint32](len(l.nodeAt.Data))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, positions.Free()) }()
	for p, v := range l.nodeAt.Data {
		positions.Data[v] = uint32(p)
	}
	nodeAt := dict.NewNumberWriter(put, record.KindNodeAt, g)
	position := dict.NewNumberWriter(put, record.KindPosition, g)
	err = errors.Join(nodeAt.Append(l.nodeAt.Data...), nodeAt.Close(),
		position.Append(positions.Data...), position.Close())
	if err != nil || l.ids.isDense {
		return err
	}
	ids := dict.NewIDWriter(put, g, l.opt.Dir, Unit(l.opt.MemoryBudget), l.opt.Workers)
	defer func() { err = errors.Join(err, ids.Close()) }()
	err = l.eachRow(ctx, func(row nodeRow) error {
		if row.position%record.ContextEvery == 0 {
			l.progress(StageIDs, int64(row.position), l.stats.Nodes)
		}
		return ids.Append(viewText(row.id))
	})
	if err != nil {
		return err
	}
	return ids.Finish(ctx)
}

// ReadLabels hands the label of each node to use; nodes ascend. It also sorts the values for ReadColumns.
func (l *Load) ReadLabels(ctx context.Context, use func(v record.NodeID, label uint32) error) (err error) {
	labels, err := offheap.New[uint32](len(l.nodeAt.Data)) // by NodeID
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, labels.Free()) }()
	err = l.eachRow(ctx, func(r nodeRow) error {
		v := l.nodeAt.Data[r.position]
		labels.Data[v] = r.label
		if len(r.values) == 0 {
			return nil
		}
		return l.values.AddUint64(uint64(v), r.values)
	})
	for v := 0; v < len(labels.Data) && err == nil; v++ {
		if v%record.ContextEvery == 0 {
			err = ctx.Err()
			l.progress(StageColumns, int64(v), l.stats.Nodes)
		}
		if err == nil {
			err = use(record.NodeID(v), labels.Data[v])
		}
	}
	return err
}

// ReadColumns hands the values from first to end−1 of each node that has any to row, after ReadLabels, and as often
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
		if values, err = l.parseValues(r.Value, first, end, values[:0]); err != nil {
			return err
		}
		if err := row(record.NodeID(binary.BigEndian.Uint64(r.Key)), values); err != nil {
			return err
		}
		if done++; done%record.ContextEvery == 0 {
			l.progress(StageColumns, done, int64(l.values.Len()))
		}
	}
	return nil
}

// RowBytes is about the size of the values of a node, in bytes.
func (l *Load) RowBytes() int64 { return l.rows.size / max(1, l.stats.Nodes) }
