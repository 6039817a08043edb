package load

import (
	"context"
	"encoding/binary"
	"errors"
	"math"

	"github.com/graphcleaner/graphcleaner/internal/parallel"
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/dict"
)

// An idJoin finds the positions of ids of which memory does not hold a table. Ids are divided into parts by their
// hashes, and edges twice, by that of their first and then of their second end. Each part of the ids has a table while
// the edges of the part are read.
type idJoin struct {
	workers int
	ids     *spool // source, position, id
	first   *spool // edges whose first ends are looked up
	second  *spool // then their second ends
}

const (
	partShift  = 30 // of a hash, so that neither slots nor tags depend on the part
	maxParts   = 1 << 10
	leastTable = 64 << 10 // bytes; smaller ones save hardly anything
)

// newIDJoin divides the ids.
func newIDJoin(ctx context.Context, l *Load) (_ *idJoin, err error) {
	j := &idJoin{workers: parallel.Workers(l.opt.Workers)}
	x, unit, parts := &l.ids, Unit(l.opt.MemoryBudget), int64(1)
	size := func() int64 { return tableBytes(x.nodes/parts, x.bytes/parts) }
	for parts < maxParts && size() > max(unit/2/int64(j.workers), leastTable) {
		parts *= 2
	}
	for _, s := range []**spool{&j.ids, &j.first, &j.second} {
		if *s, err = newSpool(l.opt.Dir, int(parts), unit/8); err != nil {
			return nil, errors.Join(err, j.close())
		}
	}
	var record []byte
	err = l.eachRow(ctx, func(row nodeRow) error {
		record = binary.AppendUvarint(record[:0], uint64(row.source))
		record = append(binary.AppendUvarint(record, uint64(row.position)), row.id...)
		return j.ids.add(j.part(viewText(row.id)), record)
	})
	if err != nil {
		return nil, errors.Join(err, j.close())
	}
	return j, nil
}

// part is the part of an id.
func (j *idJoin) part(id string) int {
	return int(dict.Hash(id) >> partShift & uint64(len(j.ids.parts)-1))
}

// A joinEdge is an edge one end of which is looked up.
type joinEdge struct {
	source int64
	weight float32
	first  uint32 // position of the first end, if the second one is looked up
	second string // else the id of the second
	end    string // the id that is looked up
}

// addTo gives an edge to the part of the end that is looked up. record is scratch.
func (j *idJoin) addTo(s *spool, record []byte, e joinEdge) ([]byte, error) {
	record = binary.AppendUvarint(record[:0], uint64(e.source))
	record = binary.AppendUvarint(codec.AppendFloat32(record, e.weight), uint64(e.first))
	record = append(appendText(record, e.second), e.end...)
	return record, s.add(j.part(e.end), record)
}

// joinIDs gives the edges of the join to the sorter of edges, and notes the ids that are given twice.
func (l *Load) joinIDs(ctx context.Context) error {
	j := l.ids.join
	records := make([][]byte, j.workers)
	err := l.lookUp(ctx, j.first, func(worker int, e joinEdge, p uint32) (err error) {
		found := joinEdge{source: e.source, weight: e.weight, first: p, end: e.second}
		records[worker], err = j.addTo(j.second, records[worker], found)
		return err
	})
	if err != nil || l.duplicate != nil {
		return err
	}
	writers := make([]*EdgeWriter, j.workers)
	for i := range writers {
		writers[i] = &EdgeWriter{l: l, rows: l.edges.writer()}
	}
	err = l.lookUp(ctx, j.second, func(worker int, e joinEdge, q uint32) error {
		w := writers[worker]
		if e.first == q {
			w.selfLoops++
			return nil
		}
		return w.rows.add([]uint32{e.first, q}, []float32{e.weight})
	})
	for _, w := range writers {
		err = errors.Join(err, w.end())
	}
	return err
}

// lookUp hands the edges of a spool to use, with the positions of the ends that are looked up.
func (l *Load) lookUp(
	ctx context.Context, edges *spool, use func(worker int, e joinEdge, position uint32) error,
) error {
	j := l.ids.join
	return parallel.Do(ctx, j.workers, len(j.ids.parts), func(ctx context.Context, worker, part int) (err error) {
		t, err := newTextTable(j.ids.parts[part].count, j.ids.parts[part].bytes) // records are a little longer than ids
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, t.free()) }()
		err = j.ids.each(ctx, part, func(r codec.Reader) error {
			source, position := int64(r.Uvarint(math.MaxUint64)), int(r.Uvarint(math.MaxUint32))
			l.addTo(t, r.Rest, position, source)
			return nil
		})
		if err != nil {
			return err
		}
		return edges.each(ctx, part, func(r codec.Reader) error {
			e := joinEdge{source: int64(r.Uvarint(math.MaxUint64)), weight: codec.ReadFloat32(&r)}
			e.first, e.second, e.end = uint32(r.Uvarint(math.MaxUint32)), viewText(text(&r)), viewText(r.Rest)
			position := t.find(dict.Hash(e.end), e.end)
			if position == notFound {
				l.unknownEnd(e.end, e.source)
				return nil
			}
			return use(worker, e, position)
		})
	})
}

// close removes the files.
func (j *idJoin) close() error {
	if j == nil {
		return nil
	}
	return errors.Join(j.ids.close(), j.first.close(), j.second.close())
}
