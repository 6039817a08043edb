package index

import (
	"context"
	"errors"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// TestRepair damages an index in several ways and leaves another alone.
func TestRepair(t *testing.T) {
	ctx := context.Background()
	s := storeToDamage(t, 10)
	update(t, s, func(tx *kv.Tx) error {
		for v := range kv.NodeID(5) {
			must.Do(t, errors.Join(tx.SetValue(v, "title", kv.StringValue("a")), tx.SetLabel(v, "x")))
		}
		return nil
	})
	must.Do(t, Create(ctx, s, kv.LabelColumn))
	repair := func() (done []kv.Correction) {
		t.Helper()
		must.Do(t, Repair(ctx, s, func(m kv.Correction) { done = append(done, m) }))
		return done
	}
	if done := repair(); len(done) > 0 {
		t.Errorf("sound indexes: got %v, want nothing done", done)
	}
	update(t, s, func(tx *kv.Tx) error {
		p := openPostings(tx, "title")
		return errors.Join(
			p.set(kv.StringValue("a"), 1, false), p.set(kv.StringValue("b"), 2, true), p.set(kv.StringValue("b"), 7, true),
		)
	})
	if done := repair(); len(done) != 1 || done[0].Where != "index on title" {
		t.Errorf("got %v, want the index on title built anew", done)
	}
	mustEndSound(t, s)
	if done := repair(); len(done) > 0 {
		t.Errorf("repaired indexes: got %v, want nothing done", done)
	}
}
