package query

import (
	"context"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv"
)

// describeNodes answers node: every property that the store has a column of. One node is a record.
func (q *query) describeNodes(ctx context.Context, s *nodeStatement) (*Result, error) {
	nodes := make([]kv.NodeID, len(s.ids))
	for i, id := range s.ids {
		var err error
		if nodes[i], err = q.findNode(id); err != nil {
			return nil, err
		}
	}
	columns, err := q.properties(q.heldNames())
	if err != nil {
		return nil, err
	}
	f, err := q.fetcher(columnNames(columns))
	if err != nil {
		return nil, err
	}
	r := NewResult(columns, f.rows(ctx, eachNode(nodes)))
	r.Record = len(nodes) == 1
	return r, nil
}

// heldNames are the properties that the store holds, the built-in ones first.
func (q *query) heldNames() []string {
	names := slices.DeleteFunc([]string{"id", "label", "suggested", "score", "confidence", "degree", "split", "decision", "decided_by", "disputed", "run"},
		func(name string) bool { _, stored := q.tx.Column(name); return !stored })
	return append(names, UserColumns(q.tx)...)
}
