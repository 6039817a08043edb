package lsm

import (
	"bytes"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// TestMendByte changes one byte of random texts, which is found, and two, which are not taken for one.
func TestMendByte(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for range 300 {
		body := make([]byte, 1+r.IntN(70_000))
		for i := range body {
			body[i] = byte(r.Uint32())
		}
		sum := crc32.Checksum(body, castagnoli)
		if _, _, ok := mendByte(body, sum); ok {
			t.Fatal("an undamaged text is mended")
		}
		at, difference := r.IntN(len(body)), byte(1+r.IntN(255))
		body[at] ^= difference
		gotAt, got, ok := mendByte(body, sum)
		if !ok || gotAt != at || got != difference {
			t.Fatalf("%d bytes: got difference %#x at %d, %v; want %#x at %d", len(body), got, gotAt, ok, difference, at)
		}
	}
}

// TestMendTable damages every part of a table of two blocks, one byte at a time.
func TestMendTable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table")
	w, err := newTableWriter(path)
	if err != nil {
		t.Fatal(err)
	}
	d := testDB(t)
	for i := range uint32(300) {
		if err := w.add(record.NumberKey(record.KindColumn, 1, i), []byte("value"), tableVersion, d.db.Opts()); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.end(d.db.Opts()); err != nil {
		t.Fatal(err)
	}
	if err := w.sync(); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := openTableReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := reader.close(); err != nil {
			t.Error(err)
		}
	}()
	if reader.blocks() < 2 {
		t.Fatalf("got %d blocks, want several", reader.blocks())
	}
	end := 0
	for i := range reader.blocks() {
		from, to, err := reader.place(i)
		if err != nil {
			t.Fatal(err)
		}
		if err := reader.verify(i); err != nil {
			t.Error(err)
		}
		block := want[from:to]
		for at := range block {
			damaged := bytes.Clone(block)
			damaged[at] ^= byte(1 + at%255)
			if soundBlock(damaged) {
				t.Fatalf("block %d with byte %d of %d changed is sound", i, at, len(block))
			}
			got, ok := mendBlock(damaged)
			if !ok || !bytes.Equal(got, block) {
				t.Errorf("block %d with byte %d of %d changed is not mended (%v)", i, at, len(block), ok)
			}
		}
		end = to
	}
	for at := end; at < len(want); at++ {
		damaged := bytes.Clone(want)
		damaged[at] ^= byte(1 + at%255)
		if _, ok := tableIndex(damaged); ok {
			t.Fatalf("an index with byte %d of %d changed is sound", at, len(want))
		}
		got, ok := mendIndex(damaged)
		if !ok || !bytes.Equal(got, want) {
			t.Errorf("a table with byte %d of %d changed is not mended (%v)", at, len(want), ok)
		}
	}
}
