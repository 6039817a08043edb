package kv

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// powerFailure is crashStore whose log has only the first two commits, as a power failure leaves a log that was not synced: cut is what
// it has then, in a file of the same length. Whole is a copy that was opened and closed, so that the log has become a table.
func powerFailure(t *testing.T) (c crashedStore, whole, log string, cut []byte) {
	t.Helper()
	c = crashStore(t)
	log = filepath.Base(onlyLog(t, c.dir))
	cut, err := os.ReadFile(filepath.Join(c.dir, log))
	if err != nil {
		t.Fatal(err)
	}
	clear(cut[c.second:])
	whole = copyStore(t, c.dir)
	closeStore(t, openStore(t, whole, Options{}))
	return c, whole, log, cut
}

// TestPowerFailureAfterAFlush has a log come back, in part, of a memtable that is in a table. A repair afterwards must not take the rest of
// that table for dropped.
func TestPowerFailureAfterAFlush(t *testing.T) {
	t.Parallel()
	c, dir, log, cut := powerFailure(t)
	if err := os.WriteFile(filepath.Join(dir, log), cut, 0o600); err != nil {
		t.Fatal(err)
	}
	sameContents(t, "opened", dir, c.want)
	if err := os.Remove(filepath.Join(dir, "MANIFEST")); err != nil {
		t.Fatal(err)
	}
	damagedStores.Store(dir, true)
	repaired(t, dir)
	damagedStores.Delete(dir)
	sameContents(t, "repaired", dir, c.want)
}

// TestPowerFailureDuringAFlush leaves a table that the manifest does not name, and of its log a part. The journal has all of it.
func TestPowerFailureDuringAFlush(t *testing.T) {
	t.Parallel()
	c, whole, log, cut := powerFailure(t)
	for _, name := range fileNames(t, whole, "*.sst") {
		if slices.Contains(fileNames(t, c.dir, "*.sst"), name) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(whole, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(c.dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(c.dir, log), cut, 0o600); err != nil {
		t.Fatal(err)
	}
	without := copyStore(t, c.dir)
	sameContents(t, "with the journal", c.dir, c.want)
	if aside := fileNames(t, filepath.Join(c.dir, storedir.QuarantineName, "aside"), "*.sst"); len(aside) != 1 {
		t.Errorf("got %q set aside, want the table", aside)
	}
	damagedStores.Store(without, true)
	if err := os.Remove(onlyJournal(t, without)); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(without, Options{MemoryBudget: minMemoryBudget}); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "nowhere else") {
		t.Errorf("without the journal: got %v, want ErrCorrupt", err)
	}
}
