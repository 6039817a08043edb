package kv

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"iter"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv/internal/offheap"
	"github.com/graphcleaner/graphcleaner/kv/spill"
)

// An integerIndex finds the positions of ids that are integers from 0 up to a limit that its memory sets. Ids that are
// their positions cost nothing; else it costs four bytes for every integer up to the greatest. The first other id
// turns it off, for good: the ends of edges are then found by sorting.
type integerIndex struct {
	off   bool
	limit int64 // integers are less
	count int   // ids so far

	// positions holds, by integer, the position plus one. It is empty while each id is its position.
	positions offheap.Array[uint32]
}

// isDense reports whether each id so far is its position.
func (x *integerIndex) isDense() bool { return !x.off && len(x.positions.Data) == 0 }

// add adds the id of the next position. Where the id is there already, it returns that position and true instead.
func (x *integerIndex) add(id string) (first int, duplicate bool, err error) {
	if x.off {
		return 0, false, nil
	}
	position := x.count
	k, ok := integerID(id)
	if len(x.positions.Data) == 0 {
		if ok && k == int64(position) {
			x.count++
			return 0, false, nil
		}
		if ok && 0 <= k && k < int64(position) {
			return int(k), true, nil
		}
		if !ok || k < 0 || max(k, int64(position)) >= x.limit {
			return 0, false, x.turnOff()
		}
		if x.positions, err = offheap.New[uint32](int(x.limit)); err != nil {
			return 0, false, err
		}
		for i := range position {
			x.positions.Data[i] = uint32(i) + 1
		}
	}
	if !ok || k < 0 || k >= x.limit {
		return 0, false, x.turnOff()
	}
	if there := x.positions.Data[k]; there > 0 {
		return int(there) - 1, true, nil
	}
	x.count++
	x.positions.Data[k] = uint32(position) + 1
	return 0, false, nil
}

func (x *integerIndex) turnOff() error {
	err := x.positions.Free()
	*x = integerIndex{off: true}
	return err
}

// find returns the position of an id.
func (x *integerIndex) find(id string) (position uint32, ok bool) {
	k, ok := integerID(id)
	switch {
	case !ok || k < 0:
		return 0, false
	case len(x.positions.Data) == 0:
		return uint32(k), k < int64(x.count)
	case k >= int64(len(x.positions.Data)) || x.positions.Data[k] == 0:
		return 0, false
	}
	return x.positions.Data[k] - 1, true
}

// An idJoin finds the positions of ids by sorting: the ids of the nodes once, the edges by their first and then by
// their second end.
type idJoin struct {
	dir      string
	limit    int64
	weighted bool
	edges    *spill.Sorter // first end → source, weight of a weighted load, second end

	key, value []byte
}

func newIDJoin(dir string, limit int64, weighted bool) *idJoin {
	return &idJoin{dir: dir, limit: limit, weighted: weighted, edges: spill.New(dir, limit)}
}

func (j *idJoin) add(src, dst string, weight float32, source int64) error {
	j.value = binary.AppendVarint(j.value[:0], source)
	j.value = j.appendWeight(j.value, weight)
	j.value = append(j.value, dst...)
	j.key = append(j.key[:0], src...)
	return j.edges.Add(j.key, j.value)
}

func (j *idJoin) close() error { return j.edges.Close() }

// joinIDs finds repeated ids, and the positions of the ends of all edges.
func (l *Loader) joinIDs(ctx context.Context) (err error) {
	ids := spill.New(l.work.sort(), l.join.limit) // id → position, source
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
	edges := &EdgeWriter{l: l}
	if l.arcLoad != nil {
		l.beginArcs()
	} else {
		edges.sorter = l.beginEdges().Writer()
	}
	return errors.Join(l.resolveEnds(ctx, ids, edges), edges.Close())
}

// findRepeated notes ids that are there twice, or tells of them and drops their rows but the first.
func (l *Loader) findRepeated(ctx context.Context, ids *spill.Sorter) error {
	var id []byte
	var firstSource int64
	first, any := 0, false
	var dropped []uint32
	for r, err := range ids.Sorted(ctx) {
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
			l.duplicate.note(string(id), first, source)
			continue
		}
		if err := l.opt.BadRow(&DuplicateNodeError{ID: string(id), First: firstSource, Second: source}); err != nil {
			return err
		}
		dropped = append(dropped, uint32(position))
	}
	return l.drop(ctx, dropped)
}

// drop takes rows out, as if they had never been added.
func (l *Loader) drop(ctx context.Context, positions []uint32) error {
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
func (l *Loader) forget(rest []byte) error {
	label, values, err := parseRest(rest, nil)
	if err != nil {
		return err
	}
	l.stats.Nodes--
	if label >= 0 {
		l.classes.uses[label]--
		l.stats.Labelled--
	}
	for i, v := range values {
		if l.opt.Properties[i].Kind == KindClass && !v.IsNull() && v.Str() != "" {
			l.classes.count(v.Str(), -1)
		}
	}
	return nil
}

// resolveEnds hands the positions of the ends of every edge to a sorter.
func (l *Loader) resolveEnds(ctx context.Context, ids *spill.Sorter, edges *EdgeWriter) (err error) {
	second := spill.New(l.work.sort(), l.join.limit) // second end → position of the first, source, weight
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
		return edges.addEdge(uint32(p), q, weight)
	})
}

// appendWeight writes a weight, for which there is no room in an unweighted load.
func (j *idJoin) appendWeight(dst []byte, weight float32) []byte {
	if !j.weighted {
		return dst
	}
	return appendFloat32(dst, weight)
}

// weightAt is the inverse of appendWeight, with the number of bytes.
func (j *idJoin) weightAt(b []byte) (weight float32, n int) {
	if !j.weighted {
		return 1, 0
	}
	return math.Float32frombits(binary.LittleEndian.Uint32(b)), 4
}

// joinPositions hands each record whose key is an id to each, with the id's position.
func (l *Loader) joinPositions(ctx context.Context, ids, records *spill.Sorter, each func(r spill.Record, position uint32, known bool) error) error {
	next, stop := iter.Pull2(ids.Sorted(ctx))
	defer stop()
	id, err, more := next()
	for r, failed := range records.Sorted(ctx) {
		if failed != nil {
			return failed
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
