package kv

import (
	"bytes"
	"context"
	"encoding/binary"
	"iter"

	"github.com/graphcleaner/graphcleaner/kv/spill"
)

// An integerIndex finds the positions of ids that are integers from 0 up to a limit that its memory sets. Ids that are
// their positions cost nothing; else it costs four bytes for every integer up to the greatest. The first other id
// turns it off, for good: the ends of edges are then found by sorting.
type integerIndex struct {
	off       bool
	limit     int64    // integers are less
	count     int      // ids so far
	positions []uint32 // by integer, the position plus one; nil while each id is its position
}

// isDense reports whether each id so far is its position.
func (x *integerIndex) isDense() bool { return !x.off && x.positions == nil }

// add adds the id of the next position. Where the id is there already, it returns its position and true.
func (x *integerIndex) add(id string) (first int, duplicate bool) {
	if x.off {
		return 0, false
	}
	position := x.count
	x.count++
	k, ok := integerID(id)
	if x.positions == nil {
		if ok && k == int64(position) {
			return 0, false
		}
		if !ok || k < 0 || max(k, int64(position)) >= x.limit {
			*x = integerIndex{off: true}
			return 0, false
		}
		x.positions = make([]uint32, position, position+position/2+1024)
		for i := range x.positions {
			x.positions[i] = uint32(i) + 1
		}
	}
	if !ok || k < 0 || k >= x.limit {
		*x = integerIndex{off: true}
		return 0, false
	}
	if missing := int(k) + 1 - len(x.positions); missing > 0 {
		x.positions = append(x.positions, make([]uint32, missing)...)
	}
	if there := x.positions[k]; there > 0 {
		return int(there) - 1, true
	}
	x.positions[k] = uint32(position) + 1
	return 0, false
}

// find returns the position of an id.
func (x *integerIndex) find(id string) (position uint32, ok bool) {
	k, ok := integerID(id)
	switch {
	case !ok || k < 0:
		return 0, false
	case x.positions == nil:
		return uint32(k), k < int64(x.count)
	case k >= int64(len(x.positions)) || x.positions[k] == 0:
		return 0, false
	}
	return x.positions[k] - 1, true
}

// An idJoin finds the positions of ids by sorting: the ids of the nodes once, the edges by their first and then by
// their second end.
type idJoin struct {
	dir   string
	limit int64
	edges *spill.Sorter // first end → source, second end
}

func newIDJoin(dir string, limit int64) *idJoin {
	return &idJoin{dir: dir, limit: limit, edges: spill.New(dir, limit)}
}

func (j *idJoin) add(src, dst string, source int64, buf []byte) ([]byte, error) {
	buf = binary.AppendVarint(buf[:0], source)
	buf = append(buf, dst...)
	return buf, j.edges.Add([]byte(src), buf)
}

func (j *idJoin) close() error { return j.edges.Close() }

// sortIDs sorts the ids of the rows and notes those that are there twice. A record's key is the id, its value the
// position.
func (j *idJoin) sortIDs(ctx context.Context, rows *rowSpool, duplicates *duplicateNode) (*spill.Sorter, error) {
	ids := spill.New(j.dir, j.limit)
	var value []byte
	for row, err := range rows.all(ctx) {
		if err != nil {
			return ids, err
		}
		value = binary.AppendUvarint(value[:0], uint64(row.position))
		value = binary.AppendVarint(value, row.source)
		if err := ids.Add(row.id, value); err != nil {
			return ids, err
		}
	}
	var id []byte
	first, any := 0, false
	for r, err := range ids.Sorted(ctx) {
		if err != nil {
			return ids, err
		}
		position, n := binary.Uvarint(r.Value)
		source, _ := binary.Varint(r.Value[n:])
		if any && bytes.Equal(id, r.Key) {
			duplicates.note(string(id), first, source)
			continue
		}
		id, first, any = append(id[:0], r.Key...), int(position), true
	}
	return ids, nil
}

// resolve hands the positions of the ends of every edge to each. Edges with an unknown end are noted instead.
func (j *idJoin) resolve(ctx context.Context, ids *spill.Sorter, unknown *unknownNode, each func(p, q uint32) error) (err error) {
	second := spill.New(j.dir, j.limit) // second end → position of the first, source
	defer func() {
		if closing := second.Close(); err == nil {
			err = closing
		}
	}()
	var value []byte
	err = joinPositions(ctx, ids, j.edges, func(r spill.Record, p uint32, known bool) error {
		source, n := binary.Varint(r.Value)
		if !known {
			unknown.note(string(r.Key), source)
			return nil
		}
		value = binary.AppendUvarint(value[:0], uint64(p))
		value = binary.AppendVarint(value, source)
		return second.Add(r.Value[n:], value)
	})
	if err != nil {
		return err
	}
	if err := j.edges.Close(); err != nil {
		return err
	}
	return joinPositions(ctx, ids, second, func(r spill.Record, q uint32, known bool) error {
		p, n := binary.Uvarint(r.Value)
		if !known {
			source, _ := binary.Varint(r.Value[n:])
			unknown.note(string(r.Key), source)
			return nil
		}
		return each(uint32(p), q)
	})
}

// joinPositions hands each record whose key is an id to each, with the id's position.
func joinPositions(ctx context.Context, ids, records *spill.Sorter, each func(r spill.Record, position uint32, known bool) error) error {
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
		if err := each(r, uint32(position), known); err != nil {
			return err
		}
	}
	return nil
}
