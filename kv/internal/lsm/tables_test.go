package lsm

import (
	"bytes"
	"math/rand/v2"
	"os"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/pack"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"

	"testing"

	badgeroptions "github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/ristretto/v2/z"
)

// randomBody draws a body, mostly small, some longer than a block of a table.
func randomBody(r *rand.Rand) []byte {
	body := make([]byte, r.IntN(1<<r.IntN(16)))
	for i := range body {
		body[i] = byte(r.Uint32())
	}
	return body
}

// TestTableBatch writes records of several streams at once, in tables of random sizes and in several batches, and
// expects to read them, each table whole and of one kind.
func TestTableBatch(t *testing.T) {
	for seed := range uint64(6) {
		d := testDB(t)
		r := rand.New(rand.NewPCG(seed, 2))
		want := map[string][]byte{}
		tables := 0
		for g := record.Generation(100); g < 103; g++ {
			b := d.NewTables()
			b.most = 1 + r.Int64N(200<<10)
			for i := range uint32(r.IntN(200)) {
				for _, key := range [][]byte{
					record.PairKey(record.KindAdjacency, g, i, 0), record.NumberKey(record.KindNodeAt, g, i), record.PairKey(record.KindMatrix, g, 0, i), record.PairKey(record.KindMatrix, g, 7, i),
				} {
					body := randomBody(r)
					must.Do(t, b.Put(key, body))
					want[string(key)] = body
				}
			}
			must.Do(t, b.Flush())
			written := len(b.ended)
			tables += written
			if written > 0 {
				if open, err := d.Attach(b); err != nil || !open {
					t.Fatal(open, err)
				}
			}
			if err := b.Cancel(); err != nil { // does nothing any more
				t.Fatal(err)
			}
		}
		must.Do(t, d.View(func(txn *Txn) error {
			count := 0
			it := txn.Iterator([]byte{byte(record.KindAdjacency)}, false)
			defer it.Close()
			err := it.Seek(nil)
			for ; err == nil && it.Valid(); err = it.Next() {
				r, _, err := it.Record()
				must.Do(t, err)
				if !bytes.Equal(r.Body, want[string(r.Key)]) {
					t.Fatalf("seed %d: %s: got %d bytes, want other %d", seed, record.Describe(r.Key), len(r.Body), len(want[string(r.Key)]))
				}
				count++
			}
			if count != len(want)/4 {
				t.Errorf("seed %d: got %d adjacency blocks, want %d", seed, count, len(want)/4)
			}
			for key, body := range want {
				value := must.Get(txn.Get([]byte(key)))(t)
				if got, err := record.Decode([]byte(key), value); err != nil || !bytes.Equal(got, body) {
					t.Fatalf("seed %d: %s: got %d bytes, %v, want other %d", seed, record.Describe([]byte(key)), len(got), err, len(body))
				}
			}
			return err
		}))
		if got := len(tablesOfLastLevel(t, d)); got != tables {
			t.Errorf("seed %d: got %d tables of the last level, want %d", seed, got, tables)
		}
		if left := temporaryFiles(t, d.dir); len(left) > 0 {
			t.Errorf("seed %d: %v stays behind", seed, left)
		}
	}
}

// TestSmallStreamsShareTables writes many streams at once, in several batches, most of them short. Badger opens no tables that
// overlap.
func TestSmallStreamsShareTables(t *testing.T) {
	kinds := []record.Kind{record.KindColumn, record.KindSpace}
	for seed := range uint64(8) {
		d := testDB(t)
		r := rand.New(rand.NewPCG(seed, 6))
		want := map[string][]byte{}
		for batch := range record.Generation(2) {
			b := d.NewTables()
			full := seed%2 == 1 // some have tables of their own, which others must not reach across
			if full {
				b.most = 100 << 10
			}
			rows := map[record.Generation]int{}
			for g := 100 * (batch + 1); g < 100*(batch+1)+40; g++ {
				if rows[g] = r.IntN(20); full && r.IntN(8) == 0 {
					rows[g] = 100 + r.IntN(200)
				}
			}
			for i := range 300 {
				for g, count := range rows {
					for _, kind := range kinds {
						if i >= count {
							continue
						}
						key, body := record.NumberKey(kind, g, uint32(i)), make([]byte, 500+r.IntN(500))
						must.Do(t, b.Put(key, body))
						want[string(key)] = body
					}
				}
			}
			must.Do(t, b.Flush())
			if !full && len(b.ended) != len(kinds) {
				t.Errorf("seed %d: got %d tables, want one of each kind", seed, len(b.ended))
			}
			if open, err := d.Attach(b); err != nil || !open {
				t.Fatal(open, err)
			}
		}
		tablesOfLastLevel(t, d)
		must.Do(t, d.View(func(txn *Txn) error {
			for key, body := range want {
				value := must.Get(txn.Get([]byte(key)))(t)
				if got, err := record.Decode([]byte(key), value); err != nil || len(got) != len(body) {
					t.Fatalf("seed %d: %s: got %d bytes, %v, want %d", seed, record.Describe([]byte(key)), len(got), err, len(body))
				}
			}
			return nil
		}))
	}
}

// TestStreamsThatNearlyHaveFiles writes two streams, whose tables may be one. The second has bytes for which it gets a file, but for some
// that are in its last block.
func TestStreamsThatNearlyHaveFiles(t *testing.T) {
	const rows, body = 40, pack.Buffer / 40
	for less := 0; less < body; less += 97 {
		d := testDB(t)
		b := d.NewTables()
		want := map[string]int{}
		for i := range uint32(rows) {
			for g, size := range []int{10, body - less} {
				key := record.NumberKey(record.KindColumn, record.Generation(100+g), i)
				must.Do(t, b.Put(key, make([]byte, size)))
				want[string(key)] = size
			}
		}
		must.Do(t, b.Flush())
		if open, err := d.Attach(b); err != nil || !open {
			t.Fatal(open, err)
		}
		tablesOfLastLevel(t, d)
		must.Do(t, d.View(func(txn *Txn) error {
			for key, size := range want {
				value := must.Get(txn.Get([]byte(key)))(t)
				if got, err := record.Decode([]byte(key), value); err != nil || len(got) != size {
					t.Fatalf("%d less: %s: got %d bytes, %v, want %d", less, record.Describe([]byte(key)), len(got), err, size)
				}
			}
			return nil
		}))
	}
}

// tablesOfLastLevel returns the numbers of the tables of the last level, each of which it checks.
func tablesOfLastLevel(t *testing.T, d *DB) (numbers []uint64) {
	t.Helper()
	manifest, cut, err := readManifest(d.dir)
	if err != nil || cut != nil {
		t.Fatal(err, cut)
	}
	for number, entry := range manifest.Tables {
		if int(entry.Level) != d.db.Opts().MaxLevels-1 {
			continue
		}
		numbers = append(numbers, number)
		path := table.NewFilename(number, d.dir)
		file := must.Get(z.OpenMmapFile(path, os.O_RDONLY, 0))(t)
		opened, err := table.OpenTable(file, table.Options{ChkMode: badgeroptions.OnTableAndBlockRead})
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if least, most := opened.Smallest(), opened.Biggest(); least[0] != most[0] {
			t.Errorf("%s: goes from %x to %x, want one kind", path, least, most)
		}
		must.Do(t, file.Close(-1))
	}
	return numbers
}

// temporaryFiles are the files of tables that were not finished.
func temporaryFiles(t *testing.T, dir string) []string {
	t.Helper()
	paths := must.Get(storedir.FilesNamed(dir, "", ".tmp"))(t)
	return paths
}

func TestTableBatchCancelled(t *testing.T) {
	d := testDB(t)
	b := d.NewTables()
	b.most = 10_000
	for i := range uint32(52) {
		must.Do(t, b.Put(record.NumberKey(record.KindNodeAt, 9, i), make([]byte, 1000)))
	}
	if len(b.ended) == 0 || len(b.streams) != 1 {
		t.Fatalf("got %d tables and %d streams, want some and 1", len(b.ended), len(b.streams))
	}
	must.Do(t, b.Cancel())
	if left := temporaryFiles(t, d.dir); len(left) > 0 {
		t.Errorf("%v stays behind", left)
	}
}
