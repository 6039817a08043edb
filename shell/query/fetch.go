package query

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"unsafe"

	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/internal/parallel"
	"github.com/graphcleaner/graphcleaner/kv"
)

// Rows are fetched in batches that grow from the first size to the last: the first rows come at once, and
// later each block of a column is decoded for many rows. If it is known that few rows come, they are one batch. If
// there is memory for more rows, as the rows so far were, batches grow on: rows in the order of the nodes file lie in
// all blocks, and each batch decodes all of them.
const (
	firstBatch = 16
	lastBatch  = 4096

	batchShare = 8 // of the memory, as a divisor

	defaultBatchBytes = 64 << 20 // the memory if none was set
)

// checkEvery is how many nodes are read between two looks at the context.
const checkEvery = 4096

// A fetcher reads properties of nodes.
type fetcher struct {
	q       *query
	names   []string     // of the properties
	readers []*rowReader // one for each goroutine, made when first needed
	memory  int64        // bytes, of which batches take a share
	most    int          // nodes that come; zero or less if that is not known

	plan   *index.Plan            // that finds the nodes, and knows some properties of them; may be nil
	walked string                 // the property in whose order the plan walks
	values map[kv.NodeID]kv.Value // of it
}

// A rowReader reads the properties of nodes on one goroutine.
type rowReader struct {
	values []func(v kv.NodeID) (kv.Value, error) // nil for a property that the store does not hold
	places *kv.Places                            // of ids; nil without id
}

// sideBySide is from how many nodes on the columns are read by several goroutines.
const sideBySide = 64

// fetcher returns a fetcher of properties, stored or computed.
func (q *query) fetcher(names []string) (*fetcher, error) {
	f := &fetcher{
		q: q, names: names, readers: make([]*rowReader, parallel.Workers(q.Workers)),
		memory: cmp.Or(q.MemoryBudget, defaultBatchBytes),
	}
	_, err := f.reader(0)
	return f, err
}

// reader returns the reader of a goroutine.
func (f *fetcher) reader(worker int) (*rowReader, error) {
	if f.readers[worker] != nil {
		return f.readers[worker], nil
	}
	r := &rowReader{values: make([]func(kv.NodeID) (kv.Value, error), len(f.names))}
	for i, name := range f.names {
		if _, stored := f.q.tx.Column(name); !stored {
			r.values[i] = f.q.computed[name].At
			continue
		}
		column, err := f.q.tx.Reader(name)
		if err == nil && name == "id" {
			r.places, err = f.q.tx.Places()
		}
		if err != nil {
			return nil, fmt.Errorf("property %s: %w", name, err)
		}
		r.values[i] = column.At
	}
	f.readers[worker] = r
	return r, nil
}

// rows yields the properties of each node, in the order of the nodes.
func (f *fetcher) rows(ctx context.Context, nodes iter.Seq2[kv.NodeID, error]) iter.Seq2[[]kv.Value, error] {
	return func(yield func([]kv.Value, error) bool) {
		var batch []kv.NodeID
		size := min(max(f.most, firstBatch), lastBatch)
		flush := func() bool {
			values, err := f.fetch(ctx, batch)
			if err != nil {
				yield(nil, err)
				return false
			}
			for _, v := range values {
				if !yield(v, nil) {
					return false
				}
			}
			most := max(lastBatch, int(f.memory/batchShare/max(1, bytesOf(values)/int64(max(1, len(values))))))
			batch, size = batch[:0], min(2*size, most)
			clear(f.values)
			return true
		}
		for v, err := range nodes {
			if err != nil {
				if flush() {
					yield(nil, err)
				}
				return
			}
			if f.plan != nil {
				f.walk(v)
			}
			if batch = append(batch, v); len(batch) == size && !flush() {
				return
			}
		}
		flush()
	}
}

// bytesOf is the memory of rows, about.
func bytesOf(rows [][]kv.Value) (bytes int64) {
	for _, row := range rows {
		bytes += 64 + int64(len(row))*int64(unsafe.Sizeof(kv.Value{}))
		for _, v := range row {
			if v.Kind() == kv.KindString {
				bytes += int64(len(v.Str()))
			}
		}
	}
	return bytes
}

// fetch returns the properties of nodes, a row a node, in the order of the nodes. Columns are read in the order of
// NodeIDs, and ids in that of the nodes file, each by several goroutines.
func (f *fetcher) fetch(ctx context.Context, nodes []kv.NodeID) ([][]kv.Value, error) {
	visits := make([]visit, len(nodes))
	for i, v := range nodes {
		visits[i] = newVisit(uint32(v), i)
	}
	slices.Sort(visits)
	if len(visits) <= lastBatch { // more of them are in so many blocks that one read finds the next
		f.willRead(eachVisit[kv.NodeID](visits))
	}
	rows := make([][]kv.Value, len(nodes))
	idColumn := slices.Index(f.names, "id")
	err := f.share(ctx, visits, func(r *rowReader, some []visit) error {
		together := make([]kv.Value, len(some)*len(f.names))
		for k, visit := range some {
			rows[visit.row()] = together[k*len(f.names):][:len(f.names):len(f.names)]
		}
		for c, at := range r.values {
			if at == nil || c == idColumn && r.places != nil {
				continue
			}
			for k, visit := range some {
				value, ok := f.known(kv.NodeID(visit.of()), c)
				if !ok {
					var err error
					if value, err = at(kv.NodeID(visit.of())); err != nil {
						return fmt.Errorf("property %s: %w", f.names[c], err)
					}
				}
				together[k*len(f.names)+c] = value
			}
		}
		if r.places == nil {
			return nil
		}
		for k, visit := range some { // which is of a position from now on, unless the id is known
			v := kv.NodeID(visit.of())
			if id, ok := f.known(v, idColumn); ok {
				rows[visit.row()][idColumn] = id
				continue
			}
			position, err := r.places.Of(v)
			if err != nil {
				return fmt.Errorf("property id: %w", err)
			}
			some[k] = newVisit(uint32(position), visit.row())
		}
		return nil
	})
	if err == nil && f.readers[0].places != nil {
		visits = slices.DeleteFunc(visits, func(v visit) bool { return !rows[v.row()][idColumn].IsNull() })
		err = f.fetchIDs(ctx, nodes, rows, idColumn, visits)
	}
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// walk keeps the value that the plan read for the last node.
func (f *fetcher) walk(v kv.NodeID) {
	property, value := f.plan.LastValue()
	if property == "" {
		return
	}
	if f.values == nil {
		f.walked, f.values = property, map[kv.NodeID]kv.Value{}
	}
	f.values[v] = value
}

// known returns a column of a node if the plan knows it.
func (f *fetcher) known(v kv.NodeID, column int) (kv.Value, bool) {
	if f.plan == nil || f.q.computed[f.names[column]].At != nil {
		return kv.Value{}, false
	}
	if value, ok := f.values[v]; ok && f.names[column] == f.walked {
		return value, true
	}
	return f.plan.Known(v, f.names[column])
}

// willRead says of which ascending nodes columns are read soon.
func (f *fetcher) willRead(nodes iter.Seq[kv.NodeID]) {
	if f.plan == nil {
		f.q.tx.WillRead(f.names, nodes)
		return
	}
	names := slices.Clone(f.names)
	f.plan.WillRead(slices.DeleteFunc(names, func(name string) bool { return name == f.walked }), nodes)
}

// fetchIDs puts ids into the rows of nodes, which are visited by position.
func (f *fetcher) fetchIDs(
	ctx context.Context, nodes []kv.NodeID, rows [][]kv.Value, idColumn int, visits []visit,
) error {
	removed, err := f.q.tx.Removed() // whose id is null
	if err != nil {
		return err
	}
	slices.Sort(visits)
	if len(visits) <= lastBatch {
		f.readers[0].places.WillRead(eachVisit[int](visits))
	}
	return f.share(ctx, visits, func(r *rowReader, some []visit) error {
		for _, visit := range some {
			if removed.Has(nodes[visit.row()]) {
				continue
			}
			id, err := r.places.ID(int(visit.of()))
			if err != nil {
				return fmt.Errorf("property id: %w", err)
			}
			rows[visit.row()][idColumn] = id
		}
		return nil
	})
}

// rowsTogether is how many rows are read at a time, and share memory.
const rowsTogether = 64

// share hands visits out to goroutines, some at a time.
func (f *fetcher) share(ctx context.Context, visits []visit, do func(r *rowReader, some []visit) error) error {
	workers := len(f.readers)
	if len(visits) < sideBySide {
		workers = 1
	}
	size := min(max(len(visits)/(4*workers), rowsTogether), lastBatch)
	return parallel.Do(ctx, workers, (len(visits)+size-1)/size, func(ctx context.Context, worker, i int) error {
		r, err := f.reader(worker)
		if err != nil {
			return err
		}
		for some := range slices.Chunk(visits[i*size:min((i+1)*size, len(visits))], rowsTogether) {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := do(r, some); err != nil {
				return err
			}
		}
		return nil
	})
}

// A visit is the number of a node, or of a place, in its upper half, and the number of the row that is read there in
// its lower.
type visit uint64

func newVisit(of uint32, row int) visit { return visit(of)<<32 | visit(uint32(row)) }

func (v visit) of() uint32 { return uint32(v >> 32) }
func (v visit) row() int   { return int(uint32(v)) }

// eachVisit yields the numbers that visits are of.
func eachVisit[N ~uint32 | ~int](visits []visit) iter.Seq[N] {
	return func(yield func(N) bool) {
		for _, v := range visits {
			if !yield(N(v.of())) {
				return
			}
		}
	}
}
