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
// later each block of a column is decoded for many rows. If there is memory for more rows, as the rows so far were, batches grow on: rows
// in the order of the nodes file lie in all blocks, and each batch decodes all of them.
const (
	firstBatch = 16
	lastBatch  = 4096

	batchShare = 8 // of the memory, as a divisor
)

// checkEvery is how many nodes are read between two looks at the context.
const checkEvery = 4096

// A Fetcher reads properties of nodes.
type Fetcher struct {
	names   []string                              // of the properties
	values  []func(v kv.NodeID) (kv.Value, error) // nil for a property that the store does not hold
	workers int                                   // that read; zero means GOMAXPROCS
	memory  int64                                 // bytes, of which batches take a share
	past    past                                  // whose values stand in place of the stored ones

	// hint names a property of the node that was yielded last, with its value, if finding the node told it, and else
	// "". It is always the same property. May be nil.
	hint func() (string, kv.Value)
}

// sideBySide is from how many nodes on the columns are read by several goroutines.
const sideBySide = 64

// NewFetcher returns a Fetcher of properties, which are null if the store does not hold them. Workers is how many goroutines may
// read; 0 means GOMAXPROCS.
func NewFetcher(tx *kv.Tx, names []string, workers int) (*Fetcher, error) {
	f := &Fetcher{names: names, values: make([]func(kv.NodeID) (kv.Value, error), len(names)), workers: workers}
	for i, name := range names {
		if _, stored := tx.Column(name); !stored {
			continue
		}
		reader, err := tx.Reader(name)
		if err != nil {
			return nil, fmt.Errorf("property %s: %w", name, err)
		}
		f.values[i] = reader.At
	}
	return f, nil
}

// fetcher returns a Fetcher of properties, stored or computed.
func (q *query) fetcher(names []string) (*Fetcher, error) {
	f, err := NewFetcher(q.tx, names, q.Workers)
	if err != nil {
		return nil, err
	}
	if f.memory = q.MemoryBudget; f.memory == 0 {
		f.memory = defaultSortBytes
	}
	for i, name := range names {
		if c, ok := q.computed[name]; ok {
			f.values[i] = c.At
		}
	}
	return f, nil
}

// goroutines is how many read the columns of so many nodes.
func (f *Fetcher) goroutines(nodes int) int {
	if nodes < sideBySide {
		return 1
	}
	return parallel.Workers(f.workers)
}

// FetchPlan yields the properties of the nodes that a plan finds, in its order.
func (f *Fetcher) FetchPlan(ctx context.Context, plan *index.Plan) iter.Seq2[[]kv.Value, error] {
	f.hint = plan.LastValue
	return f.rows(ctx, plan.Rows(ctx))
}

// rows yields the properties of each node, in the order of the nodes.
func (f *Fetcher) rows(ctx context.Context, nodes iter.Seq2[kv.NodeID, error]) iter.Seq2[[]kv.Value, error] {
	return func(yield func([]kv.Value, error) bool) {
		var batch []kv.NodeID
		var hints []kv.Value // of one column, by the nodes of the batch
		column, size := -1, firstBatch
		flush := func() bool {
			values, err := f.fetchBeside(ctx, batch, column, hints)
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
			batch, hints, size = batch[:0], hints[:0], min(2*size, most)
			return true
		}
		for v, err := range nodes {
			if err != nil {
				if flush() {
					yield(nil, err)
				}
				return
			}
			if f.hint != nil {
				name, value := f.hint()
				if column < 0 && name != "" {
					column = slices.Index(f.names, name)
				}
				hints = append(hints, value)
			}
			if batch = append(batch, v); len(batch) == size && !flush() {
				return
			}
		}
		flush()
	}
}

// bytesOf is about what rows take in memory.
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

// Fetch returns the properties of nodes, a row a node, in the order of the nodes.
func (f *Fetcher) Fetch(ctx context.Context, nodes []kv.NodeID) ([][]kv.Value, error) {
	return f.fetchBeside(ctx, nodes, -1, nil)
}

// fetchBeside is fetch, but of the column known, −1 for none, it reads only what is null in values.
func (f *Fetcher) fetchBeside(
	ctx context.Context, nodes []kv.NodeID, column int, values []kv.Value,
) ([][]kv.Value, error) {
	visits := make([]int, len(nodes))
	for i := range visits {
		visits[i] = i
	}
	slices.SortFunc(visits, func(i, j int) int { return cmp.Compare(nodes[i], nodes[j]) })
	rows := make([][]kv.Value, len(nodes))
	for i := range rows {
		rows[i] = make([]kv.Value, len(f.names))
		if column >= 0 {
			rows[i][column] = values[i]
		}
	}
	err := parallel.Do(ctx, f.goroutines(len(nodes)), len(f.values), func(ctx context.Context, _, c int) error {
		at := f.values[c]
		if at == nil {
			return nil
		}
		for count, i := range visits {
			if count%checkEvery == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			if !rows[i][c].IsNull() {
				continue
			}
			value, err := at(nodes[i])
			if err != nil {
				return fmt.Errorf("property %s: %w", f.names[c], err)
			}
			rows[i][c] = value
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i, v := range nodes {
		for c, name := range f.names {
			if value, ok := f.past.value(v, name); ok {
				rows[i][c] = value
			}
		}
	}
	return rows, nil
}
