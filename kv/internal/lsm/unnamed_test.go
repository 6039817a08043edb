package lsm

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/dgraph-io/badger/v4/table"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/pack"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// TestStrays puts tables beside a database that a crash left, which its manifest does not name. Opening removes them,
// or refuses the database where one has what is nowhere else.
func TestStrays(t *testing.T) {
	t.Parallel()
	crashed := filepath.Join(t.TempDir(), "crashed")
	d := openTest(t, sessions(t, 2))
	named := d.Version()
	set(t, d, 20, "in the log")
	must.Do(t, os.CopyFS(crashed, os.DirFS(d.dir)))
	logged := d.Version()
	want := ""
	must.Do(t, d.View(func(txn *Txn) error {
		want = textOf(t, txn)
		return nil
	}))
	closeTest(t, d)
	for _, test := range []struct {
		what     string
		versions []uint64 // of the records of the table
		damage   func(text []byte) []byte
		refused  bool
	}{
		{"what a fold has merged", []uint64{1, named}, nil, false},
		{"a table of the log", []uint64{logged}, nil, false},
		{"a table of the log, cut short", []uint64{logged + 1}, func(text []byte) []byte { return text[:len(text)/2] },
			false},
		{"a table of the log with a hole", []uint64{logged + 1}, func(text []byte) []byte {
			clear(text[:100])
			return text
		}, false},
		{"a table that the manifest has lost", []uint64{logged + 1, logged}, nil, true},
		{"a table whose newest version alone is in the log", []uint64{logged, named}, nil, true},
	} {
		dir := filepath.Join(t.TempDir(), "store")
		must.Do(t, os.CopyFS(dir, os.DirFS(crashed)))
		path := table.NewFilename(99, dir)
		w := pack.NewWriter(path)
		for i, version := range test.versions {
			key := testKey(500 + i)
			must.Do(t, errors.Join(w.Add(key, record.Encode(key, make([]byte, pack.BlockSize)), version)))
		}
		must.Do(t, errors.Join(w.End(), w.Sync()))
		if test.damage != nil {
			must.Do(t, os.WriteFile(path, test.damage(must.Get(os.ReadFile(path))(t)), 0o600))
		}
		if test.refused {
			_, err := Open(dir, Options{MemoryBudget: testBudget})
			if _, removed := os.Stat(path); !errors.Is(err, record.ErrCorrupt) || removed != nil {
				t.Errorf("%s: got %v, want ErrCorrupt, and the table there (%v)", test.what, err, removed)
			}
			continue
		}
		after := openTest(t, dir)
		must.Do(t, after.View(func(txn *Txn) error {
			if got := textOf(t, txn); got != want || after.Version() != logged {
				t.Errorf("%s: got %.300s of version %d, want %.300s of %d", test.what, got, after.Version(), want, logged)
			}
			return nil
		}))
		closeTest(t, after)
	}
}
