package review

import (
	"context"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// draw draws, and tells where the audit stands: its open draws, in the order of a person, and Audit, nil before the
// first draw.
func (s *Sample) draw(ctx context.Context, store *kv.Store, who string) (r Result, err error) {
	switch {
	case s.For != nil:
		if err := cleaner.DrawList(ctx, store, *s.For, s.Size); err != nil {
			return r, wording.AdviseList(err)
		}
	case s.Size > 0:
		if err := cleaner.DrawAudit(ctx, store, s.Size, s.Seed); err != nil {
			return r, wording.AdviseAudit(err)
		}
	}
	tx := store.Begin()
	defer tx.Close()
	if r.Audit, err = query.LastAudit(ctx, tx); err != nil {
		return r, err
	}
	switch {
	case r.Audit == nil && s.First > 0:
		return (&Sample{Size: s.First, Seed: s.Seed}).draw(ctx, store, who)
	case r.Audit == nil:
		return r, nil
	}
	if id, ok := tx.Column("id"); ok {
		r.IDKind = id.Kind
	}
	for _, d := range r.Audit.Open(who) {
		id, err := tx.ID(d.Node)
		if err != nil {
			return r, err
		}
		r.Nodes, r.IDs = append(r.Nodes, d.Node), append(r.IDs, id)
	}
	return r, nil
}
