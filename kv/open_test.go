package kv

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// TestDamageHidesTheHeader opens stores without a header. One with a damaged table, which may have had it, is not taken
// for a database of another program.
func TestDamageHidesTheHeader(t *testing.T) {
	t.Parallel()
	headless := everyKind(t, 50)
	s := openStore(t, headless, Options{})
	damagedStores.Store(headless, true)
	update(t, s, func(tx *Tx) error { return tx.txn.Set(headerKey(), nil) })
	closeStore(t, s)
	opt := Options{MemoryBudget: minMemoryBudget, ReadOnly: true}
	if _, err := Open(headless, opt); !errors.Is(err, ErrNotStore) {
		t.Errorf("undamaged: got %v, want ErrNotStore", err)
	}
	for _, name := range fileNames(t, headless, "*.sst") {
		dir := copyStore(t, headless)
		must.Do(t, flipByte(filepath.Join(dir, name), 20))
		if _, err := Open(dir, opt); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), name) {
			t.Errorf("damaged: got %v, want ErrCorrupt that names %s", err, name)
		}
	}
}
