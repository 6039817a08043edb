package query

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// propertyNames are the names of all properties of nodes, sorted: the stored ones, and those that every store has.
func propertyNames(tx *kv.Tx) []string {
	names := append(slices.Clone(cleaner.ReservedNames), UserColumns(tx)...)
	slices.Sort(names)
	return names
}

// describeNodes answers node: every property that the store has a column of. One node is a record.
func (q *query) describeNodes(ctx context.Context, s *Statement) (*Result, error) {
	nodes, err := q.findNodes(s.ids)
	if err != nil {
		return nil, err
	}
	columns, err := q.properties(q.heldNames())
	if err != nil {
		return nil, err
	}
	f, err := q.fetcher(columnNames(columns))
	if err != nil {
		return nil, err
	}
	r := NewResult(columns, f.rows(ctx, eachOf(nodes)))
	r.Record = len(nodes) == 1
	return r, nil
}

// heldNames are the properties that the store holds, the built-in ones first.
func (q *query) heldNames() []string {
	names := slices.DeleteFunc(slices.Clone(cleaner.ReservedNames),
		func(name string) bool { _, stored := q.tx.Column(name); return !stored })
	return append(names, UserColumns(q.tx)...)
}

// index answers create index and drop index.
func (q *query) index(ctx context.Context, s *Statement) (*Result, error) {
	column, err := q.property(s.property)
	if err != nil {
		return nil, err
	}
	said := "created"
	if s.name == "create" {
		err = index.Create(ctx, q.store, column.Name)
	} else {
		said = "dropped"
		err = index.Drop(q.store, column.Name)
	}
	says := ""
	switch {
	case errors.Is(err, kv.ErrExists):
		says = "%s has an index already"
	case errors.Is(err, kv.ErrNotFound):
		says = "%s has no index"
	case errors.Is(err, kv.ErrNoColumn):
		says = "%s is not stored as a column: it needs no index"
	case err != nil:
		return nil, err
	}
	if says != "" {
		return nil, &TextError{Pos: s.property.pos, Err: wording.Reworded(err, fmt.Sprintf(says, s.property))}
	}
	return recordOf([]field{
		{name: "index", kind: kv.KindString, value: kv.ValueOf(column.Name)},
		{name: "change", kind: kv.KindString, value: kv.ValueOf(said)},
	}), nil
}
