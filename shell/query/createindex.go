package query

import (
	"context"
	"errors"
	"fmt"

	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
)

// index answers create index and drop index.
func (q *query) index(ctx context.Context, s *indexStatement) (*Result, error) {
	column, err := q.property(s.property)
	if err != nil {
		return nil, err
	}
	said := "created"
	if s.verb == "create" {
		err = index.Create(ctx, q.store, column.Name)
	} else {
		said = "dropped"
		err = index.Drop(q.store, column.Name)
	}
	wrong := func(format string) error {
		return &ResolveError{Pos: s.property.pos, Msg: fmt.Sprintf(format, s.property), Err: err}
	}
	switch {
	case errors.Is(err, kv.ErrExists):
		return nil, wrong("%s has an index already")
	case errors.Is(err, kv.ErrNotFound):
		return nil, wrong("%s has no index")
	case errors.Is(err, kv.ErrNoColumn):
		return nil, wrong("%s is not stored as a column: it needs no index")
	case err != nil:
		return nil, err
	}
	return recordOf([]field{
		{name: "index", kind: kv.KindString, value: kv.ValueOf(column.Name)},
		{name: "change", kind: kv.KindString, value: kv.ValueOf(said)},
	}), nil
}
