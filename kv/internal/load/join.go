package load

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"iter"
	"math"

	"github.com/graphcleaner/graphcleaner/internal/spill"
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
)

// An idJoin finds the positions of ids by sorting: the ids of the nodes once, the edges by their first and then by
// their second end.
type idJoin struct {
	dir      string
	limit    int64
	workers  int
	weighted bool
	edges    dealtSorters // first end → source, weight of a weighted load, second end
}

func newIDJoin(dir string, limit int64, workers int, weighted bool) *idJoin {
	j := &idJoin{dir: dir, limit: limit, workers: workers, weighted: weighted}
	j.edges = j.sorters()
	return j
}

// sorters are others of the same memory.
func (j *idJoin) sorters() dealtSorters { return newDealtSorters(j.dir, j.limit, j.workers) }

// joinIDs finds repeated ids, and the positions of the ends of all edges.
func (l *Load) joinIDs(ctx context.Context) (err error) {
	ids := l.join.sorters() // id → position, source
	defer func() { err = errors.Join(err, ids.close()) }()
	dealer := ids.dealer()
	var value []byte
	for row, err := range l.rows.all(ctx) {
		if err != nil {
			return err
		}
		value = binary.AppendUvarint(value[:0], uint64(row.position))
		value = binary.AppendVarint(value, row.source)
		if err := dealer.add(viewText(row.id), value); err != nil {
			return err
		}
	}
	if err := dealer.flush(); err != nil {
		return err
	}
	if err := l.findRepeated(ctx, ids); err != nil || l.duplicate.found {
		return err
	}
	return l.resolveEnds(ctx, ids)
}

// findRepeated notes repeated ids.
func (l *Load) findRepeated(ctx context.Context, ids dealtSorters) error {
	return ids.each(ctx, func(ctx context.Context, i int) error {
		var id []byte
		first, any := 0, false
		for r, err := range ids[i].Records(ctx) {
			if err != nil {
				return err
			}
			position, n := binary.Uvarint(r.Value)
			if !any || !bytes.Equal(id, r.Key) {
				id, first, any = append(id[:0], r.Key...), int(position), true
				continue
			}
			source, _ := binary.Varint(r.Value[n:])
			l.mu.Lock()
			l.duplicate.note(string(id), source, first)
			l.mu.Unlock()
		}
		return nil
	})
}

// resolveEnds hands the positions of the ends of every edge to the sorter of edges.
func (l *Load) resolveEnds(ctx context.Context, ids dealtSorters) (err error) {
	second := l.join.sorters() // second end → position of the first, source, weight
	defer func() { err = errors.Join(err, second.close()) }()
	err = ids.each(ctx, func(ctx context.Context, i int) error {
		return l.resolveFirst(ctx, ids[i].Sorter, l.join.edges[i].Sorter, second)
	})
	if err != nil {
		return err
	}
	if err := l.join.edges.close(); err != nil {
		return err
	}
	return ids.each(ctx, func(ctx context.Context, i int) error {
		return l.resolveSecond(ctx, ids[i].Sorter,
			second[i].Sorter)
	})
}

// resolveFirst finds the first ends of some edges.
func (l *Load) resolveFirst(ctx context.Context, ids, edges *spill.Sorter, second dealtSorters) error {
	dealer := second.dealer()
	var value []byte
	err := l.joinPositions(ctx, ids, edges, func(r spill.Record, p uint32, known bool) error {
		source, n := binary.Varint(r.Value)
		if !known {
			l.unknownEnd(string(r.Key), source)
			return nil
		}
		weight, m := l.join.weightAt(r.Value[n:])
		value = binary.AppendUvarint(value[:0], uint64(p))
		value = binary.AppendVarint(value, source)
		value = l.join.appendWeight(value, weight)
		return dealer.add(viewText(r.Value[n+m:]), value)
	})
	if err != nil {
		return err
	}
	return dealer.flush()
}

// resolveSecond finds the second ends of some edges.
func (l *Load) resolveSecond(ctx context.Context, ids, edges *spill.Sorter) error {
	l.mu.Lock()
	w := &EdgeWriter{l: l, rows: l.edges.writer()}
	l.mu.Unlock()
	ends, weights := make([]uint32, 2), make([]float32, 1)
	err := l.joinPositions(ctx, ids, edges, func(r spill.Record, q uint32, known bool) error {
		p, n := binary.Uvarint(r.Value)
		source, m := binary.Varint(r.Value[n:])
		if !known {
			l.unknownEnd(string(r.Key), source)
			return nil
		}
		weights[0], _ = l.join.weightAt(r.Value[n+m:])
		if uint32(p) == q {
			w.selfLoops++
			return nil
		}
		ends[0], ends[1] = uint32(p), q
		return w.rows.add(ends, weights)
	})
	return errors.Join(err, w.handOver())
}

// appendWeight writes a weight, for which there is no room in an unweighted load.
func (j *idJoin) appendWeight(dst []byte, weight float32) []byte {
	if !j.weighted {
		return dst
	}
	return codec.AppendFloat32(dst, weight)
}

// weightAt is the inverse of appendWeight, with the number of bytes.
func (j *idJoin) weightAt(b []byte) (weight float32, n int) {
	if !j.weighted {
		return 1, 0
	}
	return math.Float32frombits(binary.LittleEndian.Uint32(b)), 4
}

// joinPositions hands each record whose key is an id to each, with the id's position.
func (l *Load) joinPositions(ctx context.Context, ids, records *spill.Sorter, each func(r spill.Record, position uint32, known bool) error) error {
	next, stop := iter.Pull2(ids.Records(ctx))
	defer stop()
	id, err, more := next()
	for r, failure := range records.Records(ctx) {
		if failure != nil {
			return failure
		}
		for more && err == nil && bytes.Compare(id.Key, r.Key) < 0 {
			id, err, more = next()
		}
		if more && err != nil {
			return err
		}
		known := more && bytes.Equal(id.Key, r.Key)
		position := uint64(0)
		if known {
			position, _ = binary.Uvarint(id.Value)
		}
		if err := each(r, uint32(position), known); err != nil {
			return err
		}
	}
	return nil
}
