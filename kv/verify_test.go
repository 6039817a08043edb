package kv

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// layered is a closed store that was written to often enough that its next table of level 0 makes a merge due.
func layered(t testing.TB, bytes int) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "store")
	opt := Options{MemoryBudget: minMemoryBudget}
	s := must.Get(Create(dir, opt))(t)
	b := must.Get(s.Bulk())(t)
	w := must.Get(b.Space("large"))(t)
	random := rand.NewChaCha8([32]byte{})
	value := make([]byte, 32<<10)
	for i := range uint32(bytes / len(value)) {
		_, err := random.Read(value)
		must.Do(t, errors.Join(err, w.Put(binary.BigEndian.AppendUint32(nil, i), value)))
	}
	must.Do(t, errors.Join(b.Commit(nil), s.Compact(t.Context(), nil), s.Close()))
	for i := range 2 { // with the one above these are three tables
		s, err := Open(dir, opt)
		must.Do(t, err)
		err = s.Update(func(tx *Tx) error { return tx.PutDocument("more", fmt.Sprint(i), "value") })
		must.Do(t, errors.Join(err, s.Close()))
	}
	return dir
}

// flipped changes a byte of the largest table, in its first block.
func flipped(t *testing.T, dir string) {
	t.Helper()
	path, largest := "", int64(0)
	for _, name := range fileNames(t, dir, "*.sst") {
		info := must.Get(os.Stat(filepath.Join(dir, name)))(t)
		if info.Size() > largest {
			path, largest = filepath.Join(dir, name), info.Size()
		}
	}
	text := must.Get(os.ReadFile(path))(t)
	text[100] ^= 1
	must.Do(t, os.WriteFile(path, text, 0o600))
}

// TestVerifyingWaitsForAWrite opens a damaged store of which no merge is due before it is written to: the write is refused.
func TestVerifyingWaitsForAWrite(t *testing.T) {
	dir := layered(t, 1<<20)
	damagedStores.Store(dir, true)
	flipped(t, dir)
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
		if s.isRead() {
			t.Error("an Update alone: its logs are taken to be those of a reader")
		}
		return nil
	})
	tx := s.Begin()
	if !s.isRead() {
		t.Error("beside a snapshot: its logs are taken to wait for the flush")
	}
	tx.Close()
	if s.isRead() {
		t.Error("after a snapshot: logs are taken to be those of a reader")
	}
}
