package load

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"iter"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/internal/spill"
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
)

// An idJoin finds the positions of ids by sorting: the ids of the nodes once, the edges by their first and then by
// their second end.
type idJoin struct {
	dir      string
	limit    int64
	weighted bool
	edges    *spill.Sorter // first end → source, weight of a weighted load, second end
}

func newIDJoin(dir string, limit int64, weighted bool) *idJoin {
	return &idJoin{dir: dir, limit: limit, weighted: weighted, edges: spill.New(dir, limit)}
}

// Append appends the record of an edge: the lengths of both ends as varints, the first end, and the value.
func (j *idJoin) appendRecord(dst []byte, src, second string, weight float32, source int64) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(src)))
	dst = binary.AppendUvarint(dst, uint64(len(second)))
	dst = append(dst, src...)
	dst = j.appendWeight(binary.AppendVarint(dst, source), weight)
	return append(dst, second...)
}

// add takes records of Append.
func (j *idJoin) add(records []byte) error {
	for len(records) > 0 {
		key, n := binary.Uvarint(records)
		second, m := binary.Uvarint(records[n:])
		records = records[n+m:]
		end := int(key)
		_, n = binary.Varint(records[end:])
		_, m = j.weightAt(records[end+n:])
		end += n + m + int(second)
		if err := j.edges.Add(records[:key], records[key:end]); err != nil {
			return err
		}
		records = records[end:]
	}
	return nil
}

func (j *idJoin) close() error { return j.edges.Close() }

// joinIDs finds repeated ids, and the positions of the ends of all edges.
func (l *Load) joinIDs(ctx context.Context) (err error) {
	ids := spill.New(l.opt.Dir, l.join.limit) // id → position, source
	defer func() { err = errors.Join(err, ids.Close()) }()
	var value []byte
	for row, err := range l.rows.all(ctx) {
		if err != nil {
			return err
		}
		value = binary.AppendUvarint(value[:0], uint64(row.position))
		value = binary.AppendVarint(value, row.source)
		if err := ids.Add(row.id, value); err != nil {
			return err
		}
	}
	if err := l.findRepeated(ctx, ids); err != nil || l.duplicate.found {
		return err
	}
	edges := &EdgeWriter{l: l, rows: l.edges.writer()}
	return errors.Join(l.resolveEnds(ctx, ids, edges), edges.handOver())
}

// findRepeated notes repeated ids, or reports them and drops their rows but the first.
func (l *Load) findRepeated(ctx context.Context, ids *spill.Sorter) error {
	var id []byte
	var firstSource int64
	first, any := 0, false
	var repeats []uint32
	for r, err := range ids.Records(ctx) {
		if err != nil {
			return err
		}
		position, n := binary.Uvarint(r.Value)
		source, _ := binary.Varint(r.Value[n:])
		if !any || !bytes.Equal(id, r.Key) {
			id, first, firstSource, any = append(id[:0], r.Key...), int(position), source, true
			continue
		}
		if l.opt.BadRow == nil {
			l.duplicate.note(string(id), source, first)
			continue
		}
		if err := l.opt.BadRow(&DuplicateNodeError{ID: string(id), First: firstSource, Second: source}); err != nil {
			return err
		}
		repeats = append(repeats, uint32(position))
	}
	return l.drop(ctx, repeats)
}

// drop takes rows out, as if they had never been added.
func (l *Load) drop(ctx context.Context, positions []uint32) error {
	slices.Sort(positions)
	for _, position := range positions {
		for row, err := range l.rows.from(ctx, int(position)/contextEvery) {
			if err != nil {
				return err
			}
			if row.position < int(position) {
				continue
			}
			if err := l.forget(row.rest); err != nil {
				return err
			}
			break
		}
	}
	l.rows.drop(positions)
	return nil
}

// forget takes a row's label and values out of the counts.
func (l *Load) forget(rest []byte) error {
	label, values, err := parseRest(rest, nil)
	if err != nil {
		return err
	}
	l.stats.Nodes--
	if label >= 0 {
		l.classes.uses[label]--
		l.stats.Labelled--
	}
	l.countClasses(values, -1)
	return nil
}

// resolveEnds hands the positions of the ends of every edge to a sorter.
func (l *Load) resolveEnds(ctx context.Context, ids *spill.Sorter, edges *EdgeWriter) (err error) {
	second := spill.New(l.opt.Dir, l.join.limit) // second end → position of the first, source, weight
	defer func() { err = errors.Join(err, second.Close()) }()
	var value []byte
	err = l.joinPositions(ctx, ids, l.join.edges, func(r spill.Record, p uint32, known bool) error {
		source, n := binary.Varint(r.Value)
		if !known {
			return l.unknownEnd(string(r.Key), source)
		}
		weight, m := l.join.weightAt(r.Value[n:])
		value = binary.AppendUvarint(value[:0], uint64(p))
		value = binary.AppendVarint(value, source)
		value = l.join.appendWeight(value, weight)
		return second.Add(r.Value[n+m:], value)
	})
	if err != nil {
		return err
	}
	if err := l.join.close(); err != nil {
		return err
	}
	return l.joinPositions(ctx, ids, second, func(r spill.Record, q uint32, known bool) error {
		p, n := binary.Uvarint(r.Value)
		source, m := binary.Varint(r.Value[n:])
		if !known {
			return l.unknownEnd(string(r.Key), source)
		}
		weight, _ := l.join.weightAt(r.Value[n+m:])
		if uint32(p) == q {
			edges.selfLoops++
			return nil
		}
		return edges.rows.add([]uint32{uint32(p), q}, []float32{weight})
	})
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
		if err := each(r, l.rows.closeUp(uint32(position)), known); err != nil {
			return err
		}
	}
	return nil
}
