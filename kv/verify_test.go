package kv

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/table"

	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// layered is a closed store that was written to often enough that its next table of level 0 makes a merge due.
func layered(t testing.TB, bytes int) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "store")
	opt := Options{MemoryBudget: minMemoryBudget}
	s, err := Create(dir, opt)
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.Bulk()
	if err != nil {
		t.Fatal(err)
	}
	w, err := b.Space("large")
	if err != nil {
		t.Fatal(err)
	}
	random := rand.NewChaCha8([32]byte{})
	value := make([]byte, 32<<10)
	for i := range uint32(bytes / len(value)) {
		_, err := random.Read(value)
		if err := errors.Join(err, w.Put(binary.BigEndian.AppendUint32(nil, i), value)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(b.Commit(nil), s.Compact(t.Context(), nil), s.Close()); err != nil {
		t.Fatal(err)
	}
	for i := range 2 { // with the one above these are three tables
		s, err := Open(dir, opt)
		if err != nil {
			t.Fatal(err)
		}
		err = s.Update(func(tx *Tx) error { return tx.PutDocument("more", fmt.Sprint(i), "value") })
		if err := errors.Join(err, s.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// tablesToOpen are the tables of a closed store, with the options it is opened with.
func tablesToOpen(t *testing.T, dir string) ([]tableFile, badger.Options) {
	t.Helper()
	opt, err := badgerOptions(dir, Options{MemoryBudget: minMemoryBudget}, true)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := checkFiles(dir, false, false)
	if err != nil {
		t.Fatal(err)
	}
	return tables, opt
}

// flipped changes a byte of the largest table, in its first block.
func flipped(t *testing.T, tables []tableFile) (path string) {
	t.Helper()
	largest := int64(0)
	for _, table := range tables {
		if table.bytes > largest {
			path, largest = table.path, table.bytes
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[100] ^= 1
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestTablesAreVerifiedOnce has a store remember which tables it has compared with their checksums, until their files change.
func TestTablesAreVerifiedOnce(t *testing.T) {
	dir := layered(t, 1<<20)
	s := openStore(t, dir, Options{})
	update(t, s, func(tx *Tx) error { return tx.PutDocument("more", "last", "value") })
	closeStore(t, s)
	tables, opt := tablesToOpen(t, dir)
	// The list has all tables but the one that this writing has made.
	if known := len(readVerified(dir).known); known < len(tables)-1 {
		t.Errorf("got %d tables in the list, want %d", known, len(tables)-1)
	}
	damagedStores.Store(dir, true)
	path := flipped(t, tables)
	due := opt.NumLevelZeroTables
	if err := verifyToOpen(dir, tables, due, opt); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a changed table: got %v, want ErrCorrupt", err)
	}
	if err := verifyToOpen(dir, nil, 0, opt); err != nil {
		t.Errorf("where no merge is due: %v", err)
	}
	id, _ := table.ParseFileID(filepath.Base(path))
	mark, err := storedir.MarkOf(path)
	if err != nil {
		t.Fatal(err)
	}
	v := readVerified(dir)
	v.known[id] = mark
	v.save()
	if err := verifyToOpen(dir, tables, due, opt); err != nil {
		t.Errorf("a table of the list is compared again: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, verifiedName), []byte(`{"1":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := verifyToOpen(dir, tables, due, opt); !errors.Is(err, ErrCorrupt) {
		t.Errorf("with a damaged list: got %v, want ErrCorrupt", err)
	}
}

// TestVerifyingWaitsForAWrite opens a damaged store of which no merge is due before it is written to: the write is refused.
func TestVerifyingWaitsForAWrite(t *testing.T) {
	dir := layered(t, 1<<20)
	tables, _ := tablesToOpen(t, dir)
	damagedStores.Store(dir, true)
	flipped(t, tables)
	s := openStore(t, dir, Options{})
	err := s.Update(func(tx *Tx) error { return tx.PutDocument("more", "last", "value") })
	if !errors.Is(err, ErrCorrupt) {
		t.Errorf("got %v, want ErrCorrupt", err)
	}
}

// TestLogsArePinnedByReaders takes the logs that stay for a reader's only where there is one.
func TestLogsArePinnedByReaders(t *testing.T) {
	s := newStore(t, Options{})
	update(t, s, func(*Tx) error {
		if s.logsPinned() {
			t.Error("an Update alone: its logs are taken to be those of a reader")
		}
		return nil
	})
	tx := s.Begin()
	if !s.logsPinned() {
		t.Error("beside a snapshot: its logs are taken to wait for the flush")
	}
	tx.Close()
	if s.logsPinned() {
		t.Error("after a snapshot: logs are taken to be those of a reader")
	}
}

// TestLogCount says for how long a count of logs holds.
func TestLogCount(t *testing.T) {
	const memTable = 8 << 20
	for _, c := range []struct {
		count   logCount
		written int64
		want    bool
	}{
		{logCount{}, 0, false},
		{logCount{count: 1}, 0, true},
		{logCount{count: 1, written: 5}, 5 + memTable/recount - 1, true},
		{logCount{count: 1, written: 5}, 5 + memTable/recount, false},
		{logCount{count: 1, written: 5}, 0, false}, // the store was opened anew
		{logCount{count: mostLogs - 1}, 0, false},
	} {
		if got := c.count.enough(c.written, memTable); got != c.want {
			t.Errorf("%+v after %d bytes: got %v, want %v", c.count, c.written, got, c.want)
		}
	}
}

// BenchmarkOpen opens a store of 80 MiB whose next table of level 0 makes a merge due, and closes it.
func BenchmarkOpen(b *testing.B) {
	dir := layered(b, 80<<20)
	opens := 0
	for b.Loop() {
		s, err := Open(dir, Options{MemoryBudget: minMemoryBudget})
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		opens++
	}
	b.ReportMetric(float64(opens)/b.Elapsed().Seconds(), "opens/s")
}

// BenchmarkCommit commits one small document at a time.
func BenchmarkCommit(b *testing.B) {
	s, err := Create(filepath.Join(b.TempDir(), "store"), Options{MemoryBudget: minMemoryBudget})
	if err != nil {
		b.Fatal(err)
	}
	commits := 0
	for b.Loop() {
		if err := s.Update(func(tx *Tx) error { return tx.PutDocument("bench", "key", commits) }); err != nil {
			b.Fatal(err)
		}
		commits++
	}
	b.ReportMetric(float64(commits)/b.Elapsed().Seconds(), "commits/s")
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}
