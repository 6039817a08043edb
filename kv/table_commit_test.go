package kv

import (
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// TestUnexplainedLosses loses an entry, or its last value, without a trace: Repair puts it back, and says that
// something may be lost with it.
func TestUnexplainedLosses(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	addNodes(t, s, 3)
	decide(t, s, 0, 5)
	closeStore(t, s)
	g := record.Generation(0)
	s = openStore(t, s.Dir(), Options{ReadOnly: true})
	view(t, s, func(tx *Tx) error { g = tx.cat.Spaces["decisions"]; return nil })
	closeStore(t, s)
	key := spaceKey(g, []byte("003"))
	const records = "an unknown number of records of tables"
	for _, test := range []struct {
		what, lost string
		damage     func(s *Store) error
	}{
		{"no catalogue", "an unknown number of commits", func(s *Store) error {
			writeRaw(t, s, record.PartKey(catalogKey(), 0), nil)
			return nil
		}},
		{"no mark of decisions", "nothing", func(s *Store) error { writeRaw(t, s, decidedKey(), nil); return nil }},
		{"an earlier entry", records, func(s *Store) error {
			writeRaw(t, s, key,
				record.Encode(key, []byte("earlier")))
			return nil
		}},
		{"no entry", records, func(s *Store) error { writeRaw(t, s, key, nil); return nil }},
	} {
		damaged := openStore(t, copyStore(t, s.Dir()), Options{})
		damagedStores.Store(damaged.Dir(), true)
		must.Do(t, test.damage(damaged))
		closeStore(t, damaged)
		var done []Correction
		lost, err := Repair(t.Context(), damaged.Dir(), Options{MemoryBudget: minMemoryBudget}, nil,
			func(m Correction) { done = append(done, m) })
		if err != nil || lost.String() != test.lost {
			t.Errorf("%s: lost %q (%v) after %v, want %q", test.what, lost, err, done, test.lost)
		}
		damagedStores.Delete(damaged.Dir())
		if got := decided(t, damaged.Dir(), 0, 5); got != 5 {
			t.Errorf("%s: got %d decisions after %v, want 5", test.what, got, done)
		}
	}
}
