package decide

import (
	"encoding/binary"
	"errors"
	"path/filepath"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// Ranges that do not fit into a transaction are halved: each number is done once, in order.
func TestWhatDoesNotFitIsHalved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	l := must.Get(kv.NewLoader(t.Context(), dir, kv.LoadOptions{}))(t)
	must.Do(t, l.AddNode(kv.Node{ID: "a"}))
	must.Get(l.Commit(t.Context(), nil))(t)
	s := must.Get(kv.Open(dir, kv.Options{MemoryBudget: 64 << 20}))(t)
	defer s.Close()
	const n = 40_000
	tries, next := 0, 0
	err := inBatches(t.Context(), s, n, n, func(tx *kv.Tx, first, end int) error {
		tries++
		for i := first; i < end; i++ {
			if err := tx.Space("scratch").Put(binary.BigEndian.AppendUint64(nil, uint64(i)), nil); err != nil {
				return err
			}
		}
		return nil
	}, func(first, end int) {
		if first != next || end <= first {
			t.Errorf("got %d to %d done, want from %d", first, end, next)
		}
		next = end
	})
	if err != nil || next != n || tries < 3 {
		t.Errorf("got %d of %d done in %d tries, %v", next, n, tries, err)
	}
	failure := errors.New("failure")
	err = inBatches(t.Context(), s, n, n, func(*kv.Tx, int, int) error { return failure },
		func(int, int) { t.Error("done in spite of a failure") })
	if !errors.Is(err, failure) {
		t.Errorf("got %v, want the failure of what is written", err)
	}
}
