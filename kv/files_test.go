package kv

import (
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// closedStore is a store with records of every kind in two tables, closed.
func closedStore(t *testing.T) string {
	s := checkedStore(t)
	closeStore(t, s)
	s = openStore(t, s.Dir(), Options{})
	update(t, s, func(tx *Tx) error { return tx.Documents("more").Put("key", "value") })
	closeStore(t, s)
	return s.Dir()
}

// contents are all records of a store as it is read, by key.
func contents(s *Store) (records map[string]string, err error) {
	records = map[string]string{}
	err = s.View(func(tx *Tx) error {
		for r, err := range tx.records().Scan([]byte{}, nil) {
			if err != nil {
				return err
			}
			records[hex.EncodeToString(r.Key)] = string(r.Body)
		}
		return nil
	})
	return records, err
}

func fileNames(t testing.TB, dir, pattern string) []string {
	t.Helper()
	names := must.Get(filepath.Glob(filepath.Join(dir, pattern)))(t)
	for i, name := range names {
		names[i] = filepath.Base(name)
	}
	return names
}

// TestDamageNamesItsFile wants the file in the message, and no table deleted, whether to be written or read.
func TestDamageNamesItsFile(t *testing.T) {
	dir := closedStore(t)
	tables := fileNames(t, dir, "*.sst")
	cases := map[string]func(path string) error{
		"MANIFEST":    func(path string) error { return cutBy(path, 3) },
		"KEYREGISTRY": func(path string) error { return os.Truncate(path, 0) },
		tables[0]:     func(path string) error { return cutBy(path, 100) },
		tables[1]:     os.Remove,
		"000099.sst":  func(path string) error { return os.WriteFile(path, []byte("not named"), 0o600) },
	}
	for name, damage := range cases {
		for _, readOnly := range []bool{true, false} {
			copied := copyStore(t, dir)
			must.Do(t, damage(filepath.Join(copied, name)))
			before := fileNames(t, copied, "*")
			_, err := Open(copied, Options{MemoryBudget: minMemoryBudget, ReadOnly: readOnly})
			if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), name) {
				t.Errorf("%s, read-only %t: got %v, want ErrCorrupt that names the file", name, readOnly, err)
			}
			if after := fileNames(t, copied, "*"); !slices.Equal(before, after) {
				t.Errorf("%s, read-only %t: got files %v, want %v", name, readOnly, after, before)
			}
		}
	}
}

func cutBy(path string, bytes int64) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return os.Truncate(path, info.Size()-bytes)
}

// TestCrashLeftovers has what a crash leaves of a table that Badger makes of a memtable: reading does not touch it, and
// writing cleans it up. Without a log a damaged table that has no name may have the only copies of records.
func TestCrashLeftovers(t *testing.T) {
	without := closedStore(t)
	damagedStores.Store(without, true)
	must.Do(t, os.WriteFile(filepath.Join(without, storedir.LockFile), []byte("1\n"), 0o600))
	dir := crashStore(t).dir
	for _, dir := range []string{without, dir} {
		must.Do(t, os.WriteFile(filepath.Join(dir, "000099.sst"), []byte("half a tab"), 0o600))
	}
	if _, err := Open(without, Options{}); !errors.Is(err, ErrCorrupt) {
		t.Errorf("without a log: got %v, want ErrCorrupt", err)
	}
	manifest := must.Get(os.OpenFile(filepath.Join(dir, lsm.ManifestName), os.O_APPEND|os.O_WRONLY, 0))(t)
	must.Get(manifest.Write([]byte{0, 0, 0, 20, 1, 2}))(t)
	must.Do(t, manifest.Close())
	before := fileNames(t, dir, "*")
	if _, err := Open(dir, Options{ReadOnly: true}); !errors.Is(err, ErrCrashed) {
		t.Fatalf("read-only: got %v, want ErrCrashed", err)
	}
	if after := fileNames(t, dir, "*"); !slices.Equal(before, after) {
		t.Fatalf("read-only: got files %v, want %v", after, before)
	}
	s := openStore(t, dir, Options{})
	checkClean(t, s)
	closeStore(t, s)
	openStore(t, dir, Options{ReadOnly: true})
}

// TestUnwritableDirectory opens a store where no file can be made.
func TestUnwritableDirectory(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may write anywhere")
	}
	dir := closedStore(t)
	must.Do(t, os.Chmod(dir, 0o555))
	t.Cleanup(func() { must.Do(t, os.Chmod(dir, 0o755)) })
	_, err := Open(dir, Options{})
	if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("got %v, want fs.ErrPermission and that it can be read", err)
	}
	openStore(t, dir, Options{ReadOnly: true})
}
