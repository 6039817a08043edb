package lsm

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/crc32c"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/pack"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// TestLossesOfBlocks changes two bytes of a block: a repair tells of no loss where all of its records can be read,
// and of an unknown number where none can. A deletion is such a record.
func TestLossesOfBlocks(t *testing.T) {
	for _, test := range []struct {
		what    string
		deletes bool                      // the block has a deletion
		at      func(body, block int) int // in the block, of that many bytes, so many of which are its body
		want    string
	}{
		{"the checksum", false, func(_, block int) int { return block - 8 }, "nothing"},
		{"the checksum beside a deletion", true, func(_, block int) int { return block - 8 }, "nothing"},
		{"the number of records", false, func(body, _ int) int { return body - 4 }, "an unknown number of records of tables"},
	} {
		dir := sessions(t, 1)
		if test.deletes {
			d := openTest(t, dir)
			txn := d.Begin(true)
			must.Do(t, errors.Join(txn.Set(testKey(3), nil), txn.Commit(d.Version()+1)))
			txn.Discard()
			closeTest(t, d)
		}
		path := slices.Max(tablesIn(t, dir))
		reader := must.Get(pack.Open(path))(t)
		from, to, err := reader.Place(reader.Blocks() - 1)
		must.Do(t, err)
		body, _, _ := pack.CutChecksum(reader.Data[from:to])
		at := from + test.at(len(body), to-from)
		must.Do(t, reader.Close())
		text := must.Get(os.ReadFile(path))(t)
		text[at] ^= 1
		text[at+1] ^= 1
		must.Do(t, os.WriteFile(path, text, 0o600))
		var done []Correction
		progress := func(string, int64, int64) {}
		report := func(m Correction) { done = append(done, m) }
		must.Get(Salvage(t.Context(), dir, t.TempDir(), progress, report))(t)
		if len(done) != 1 || done[0].Lost.String() != test.want {
			t.Errorf("%s: did %+v, want a loss of %s", test.what, done, test.want)
		}
	}
}

// TestSearchBlocks finds the blocks of a table whose index is damaged, whichever byte of it is, also after a damaged
// block.
func TestSearchBlocks(t *testing.T) {
	goOn := func() bool { return false }
	path := filepath.Join(t.TempDir(), "table")
	w := pack.NewWriter(path)
	for i := range uint32(300) {
		must.Do(t, w.Add(record.NumberKey(record.KindColumn, 1, i), []byte("value"), 1))
	}
	must.Do(t, w.End())
	must.Do(t, w.Sync())
	whole := must.Get(os.ReadFile(path))(t)
	reader := must.Get(pack.Open(path))(t)
	defer func() { must.Do(t, reader.Close()) }()
	var want []blockPlace
	for i := range reader.Blocks() {
		from, to, err := reader.Place(i)
		must.Do(t, err)
		want = append(want, blockPlace{from: from, to: to})
	}
	if len(want) < 2 {
		t.Fatalf("got %d blocks, want several", len(want))
	}
	const end = 4 + 4 + 6 + 4 // the length of the index, its checksum, and the length of that, or a little more
	for at := want[len(want)-1].to; at < len(whole); at++ {
		damaged := bytes.Clone(whole)
		damaged[at] ^= byte(1 + at%255)
		if from, to, sum, ok := pack.FindIndex(damaged); ok && crc32c.Of(damaged[from:to]) == sum {
			t.Fatalf("an index with byte %d of %d changed is sound", at, len(whole))
		}
		got, all := searchBlocks(path, damaged, goOn)
		if !slices.Equal(got, want) || !all && at < len(whole)-end {
			t.Errorf("with byte %d of %d changed: got %v, all %v; want %v", at, len(whole), got, all, want)
		}
	}
	for at := range want[0].to - 20 { // except for its own end
		damaged := bytes.Clone(whole)
		damaged[at] ^= byte(1 + at%255)
		got, all := searchBlocks(path, damaged, goOn)
		if !all || len(got) != len(want) || got[0].damage == nil || got[0].to != want[0].to || !slices.Equal(got[1:],
			want[1:]) {
			t.Errorf("with byte %d of a block changed: got %v, all %v; want %v", at, got, all, want)
		}
	}
	if got, all := searchBlocks(path, whole[:want[0].to+3], goOn); all || len(got) != 1 || got[0] != want[0] {
		t.Errorf("cut behind its first block: got %v, all %v", got, all)
	}
}

// TestSearchBehindAHole finds the blocks after a hole that is longer than any block.
func TestSearchBehindAHole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table")
	w := pack.NewWriter(path)
	for i := range uint32(4000) {
		must.Do(t, w.Add(record.NumberKey(record.KindColumn, 1, i), make([]byte, 1000), 1))
	}
	must.Do(t, errors.Join(w.End(), w.Sync()))
	text := must.Get(os.ReadFile(path))(t)
	text[len(text)-100] ^= 1
	goOn := func() bool { return false }
	whole, _ := searchBlocks(path, text, goOn)
	clear(text[longestBlock : 2*longestBlock+longestBlock/8])
	if got, _ := searchBlocks(path, text, goOn); len(got) < len(whole)/2 {
		t.Errorf("behind a hole: got %d blocks of %d, want most of the others", len(got), len(whole))
	}
}
