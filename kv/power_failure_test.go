package kv

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// powerFailure is crashStore whose log has only the first two commits, as a power failure leaves a log that was not
// synced: cut is its content then, in a file of the same length. Whole is a copy that was opened and closed, so that
// the log has become a table.
func powerFailure(t *testing.T) (c crashedStore, whole, log string, cut []byte) {
	t.Helper()
	c = crashStore(t)
	log = filepath.Base(onlyLog(t, c.dir))
	cut = must.Get(os.ReadFile(filepath.Join(c.dir, log)))(t)
	clear(cut[c.second:])
	whole = copyStore(t, c.dir)
	closeStore(t, openStore(t, whole, Options{}))
	return c, whole, log, cut
}

// TestHalfWrittenTable has a table that a crash left unfinished: its records are in the log.
func TestHalfWrittenTable(t *testing.T) {
	t.Parallel()
	c := crashStore(t)
	text := must.Get(os.ReadFile(filepath.Join(c.dir, fileNames(t, c.dir, "0*.sst")[0])))(t)
	must.Do(t, os.WriteFile(filepath.Join(c.dir, "000099.sst"), text[:len(text)/2], 0o600))
	sameContents(t, "half a table", c.dir, c.want)
}

// TestPowerFailureAfterAFlush has a log come back, in part, of a memtable that is in a table. A repair afterwards
// must not take the rest of that table for dropped.
func TestPowerFailureAfterAFlush(t *testing.T) {
	t.Parallel()
	c, dir, log, cut := powerFailure(t)
	must.Do(t, os.WriteFile(filepath.Join(dir, log), cut, 0o600))
	sameContents(t, "opened", dir, c.want)
	must.Do(t, os.Remove(filepath.Join(dir, "MANIFEST")))
	damagedStores.Store(dir, true)
	repaired(t, dir)
	damagedStores.Delete(dir)
	sameContents(t, "repaired", dir, c.want)
}

// TestPowerFailureDuringAFlush leaves a table that the manifest does not name, and of its log a part. A repair finds
// all of it, and so does another one.
func TestPowerFailureDuringAFlush(t *testing.T) {
	t.Parallel()
	c, whole, log, cut := powerFailure(t)
	for _, name := range fileNames(t, whole, "*.sst") {
		if slices.Contains(fileNames(t, c.dir, "*.sst"), name) || len(name) > len("000001.sst") { // a pack
			continue
		}
		text := must.Get(os.ReadFile(filepath.Join(whole, name)))(t)
		must.Do(t, os.WriteFile(filepath.Join(c.dir, name), text, 0o600))
	}
	must.Do(t, os.WriteFile(filepath.Join(c.dir, log), cut, 0o600))
	damagedStores.Store(c.dir, true)
	if _, err := Open(c.dir, Options{MemoryBudget: minMemoryBudget}); !errors.Is(err, ErrCorrupt) ||
		!strings.Contains(err.Error(), "nowhere else") {
		t.Errorf("opening: got %v, want ErrCorrupt", err)
	}
	for _, when := range []string{"repaired", "repaired again"} {
		repaired(t, c.dir)
		sameContents(t, when, c.dir, c.want)
		must.Do(t, errors.Join(os.Remove(filepath.Join(c.dir, "MANIFEST")), os.RemoveAll(c.dir+BeforeRepair)))
	}
}

// TestLogBesideADamagedTable has a log come back whole whose table is damaged, or missing beside a later one: nothing
// is lost.
func TestLogBesideADamagedTable(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(path string) error{
		"damaged": func(path string) error { return flipByte(path, 40) },
		"missing": os.Remove,
	} {
		c, dir, log, _ := powerFailure(t)
		text := must.Get(os.ReadFile(filepath.Join(c.dir, log)))(t)
		tables := fileNames(t, dir, "0*.sst")
		s := openStore(t, dir, Options{})
		update(t, s, func(tx *Tx) error { return tx.SetLabel(0, "later") })
		want := must.Get(contents(s))(t)
		closeStore(t, s)
		must.Do(t, os.WriteFile(filepath.Join(dir, log), text, 0o600))
		damagedStores.Store(dir, true)
		must.Do(t, damage(filepath.Join(dir, tables[len(tables)-1])))
		repaired(t, dir)
		damagedStores.Delete(dir)
		sameButChanges(t, name, dir, want)
	}
}
