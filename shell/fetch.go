package shell

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv"
)

// Rows are fetched in batches that grow from the first size to the last: the first rows come at once, and
// later each block of a column is decoded for many rows.
const (
	firstBatch = 16
	lastBatch  = 4096
)

// A fetcher reads the columns of found nodes.
type fetcher struct {
	columns []ColumnInfo
	readers []*kv.ColumnReader // nil for a property that the store does not hold
}

func newFetcher(tx *kv.Tx, columns []ColumnInfo) (*fetcher, error) {
	f := &fetcher{columns: columns, readers: make([]*kv.ColumnReader, len(columns))}
	for i, c := range columns {
		if _, stored := tx.Column(c.Name); !stored {
			continue
		}
		var err error
		if f.readers[i], err = tx.Reader(c.Name); err != nil {
			return nil, fmt.Errorf("property %s: %w", c.Name, err)
		}
	}
	return f, nil
}

// rows yields a row for each node, in the order of the nodes.
func (f *fetcher) rows(ctx context.Context, nodes iter.Seq2[kv.NodeID, error]) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		var batch []kv.NodeID
		size := firstBatch
		flush := func() bool {
			values, err := f.fetch(ctx, batch)
			if err != nil {
				yield(Row{}, err)
				return false
			}
			for _, v := range values {
				if !yield(Row{Values: v, columns: f.columns}, nil) {
					return false
				}
			}
			batch, size = batch[:0], min(2*size, lastBatch)
			return true
		}
		for v, err := range nodes {
			if err != nil {
				if flush() {
					yield(Row{}, err)
				}
				return
			}
			if batch = append(batch, v); len(batch) == size && !flush() {
				return
			}
		}
		flush()
	}
}

// fetch reads the columns of nodes, which it visits in ascending order, until ctx ends.
func (f *fetcher) fetch(ctx context.Context, nodes []kv.NodeID) ([][]kv.Value, error) {
	visits := make([]int, len(nodes))
	for i := range visits {
		visits[i] = i
	}
	slices.SortFunc(visits, func(i, j int) int { return cmp.Compare(nodes[i], nodes[j]) })
	rows := make([][]kv.Value, len(nodes))
	for i := range rows {
		rows[i] = make([]kv.Value, len(f.columns))
	}
	for c, reader := range f.readers {
		if reader == nil {
			continue
		}
		for count, i := range visits {
			if count%checkEvery == 0 && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			value, err := reader.At(nodes[i])
			if err != nil {
				return nil, fmt.Errorf("property %s: %w", f.columns[c].Name, err)
			}
			rows[i][c] = value
		}
	}
	return rows, nil
}
