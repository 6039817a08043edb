package kv

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	badgeroptions "github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"
	"github.com/dgraph-io/ristretto/v2/z"

	"github.com/graphcleaner/graphcleaner/internal/longtest"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// randomBody draws a body, mostly small, some longer than a block of a table.
func randomBody(r *rand.Rand) []byte {
	body := make([]byte, r.IntN(1<<r.IntN(16)))
	for i := range body {
		body[i] = byte(r.Uint32())
	}
	return body
}

// loadingStore is the store of a Loader.
func loadingStore(t *testing.T) *Store {
	t.Helper()
	s, err := create(filepath.Join(t.TempDir(), "store"), Options{MemoryBudget: minMemoryBudget}, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeStore(t, s) })
	return s
}

// TestTableWriterWritesAsBadger writes the same records as Badger's own builder, and expects the same bytes.
func TestTableWriterWritesAsBadger(t *testing.T) {
	opt := loadingStore(t).db.Opts()
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		path := filepath.Join(t.TempDir(), "table")
		w, err := newTableWriter(path)
		if err != nil {
			t.Fatal(err)
		}
		builder := table.NewTableBuilder(table.Options{
			TableSize: 1 << 20, BlockSize: opt.BlockSize, BloomFalsePositive: opt.BloomFalsePositive,
		})
		for i := range 1 + r.IntN(300) {
			key := spaceKey(record.Generation(seed), fmt.Appendf(nil, "%03d%0*d", i, r.IntN(30), 7))
			body := randomBody(r)
			if err := w.add(key, record.Encode(key, body), tableVersion, opt); err != nil {
				t.Fatal(err)
			}
			builder.Add(y.KeyWithTs(key, tableVersion), y.ValueStruct{Value: record.Encode(key, body)}, 0)
		}
		if err := w.end(opt); err != nil {
			t.Fatal(err)
		}
		if err := w.sync(); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if want := builder.Finish(); !bytes.Equal(got, want) {
			t.Fatalf("seed %d: got %d bytes, want other %d", seed, len(got), len(want))
		}
		builder.Close()
	}
}

// TestTableBatch writes records of several streams at once, in tables of random sizes and in several batches, and
// expects to read them, each table whole and of one stream.
func TestTableBatch(t *testing.T) {
	for seed := range uint64(6) {
		s := loadingStore(t)
		r := rand.New(rand.NewPCG(seed, 2))
		want := map[string][]byte{}
		tables := 0
		for g := record.Generation(100); g < 103; g++ {
			before := s.Begin()
			b := newTableBatch(s)
			b.most = 1 + r.Int64N(200<<10)
			for i := range uint32(r.IntN(200)) {
				for _, key := range [][]byte{
					record.PairKey(record.KindAdjacency, g, i, 0), record.NumberKey(record.KindNodeAt, g, i), matrixKey(g, 0, i), matrixKey(g, 7, i),
				} {
					body := randomBody(r)
					if err := b.put(key, body); err != nil {
						t.Fatal(err)
					}
					want[string(key)] = body
				}
			}
			if err := b.flush(); err != nil {
				t.Fatal(err)
			}
			written := len(b.ended)
			tables += written
			if err := s.attach(b); err != nil {
				t.Fatal(err)
			}
			if err := b.cancel(); err != nil { // does nothing any more
				t.Fatal(err)
			}
			if err := before.Err(); (err != nil) != (written > 0) || err != nil && !errors.Is(err, ErrClosed) {
				t.Errorf("%d tables: got a snapshot with %v, want ErrClosed where there are any", written, err)
			}
			before.Close()
		}
		view(t, s, func(tx *Tx) error {
			count := 0
			for r, err := range tx.scan([]byte{byte(record.KindAdjacency)}, nil) {
				if err != nil {
					return err
				}
				if !bytes.Equal(r.Body, want[string(r.Key)]) {
					t.Fatalf("seed %d: %s: got %d bytes, want other %d", seed, record.Describe(r.Key), len(r.Body), len(want[string(r.Key)]))
				}
				count++
			}
			if count != len(want)/4 {
				t.Errorf("seed %d: got %d adjacency blocks, want %d", seed, count, len(want)/4)
			}
			for key, body := range want {
				err := tx.get([]byte(key), func(got []byte) error {
					if !bytes.Equal(got, body) {
						t.Fatalf("seed %d: %s: got %d bytes, want other %d", seed, record.Describe([]byte(key)), len(got), len(body))
					}
					return nil
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
		if got := len(lastLevel(t, s)); got != tables {
			t.Errorf("seed %d: got %d tables of the last level, want %d", seed, got, tables)
		}
		if left := fileNames(t, s.dir, "*.tmp"); len(left) > 0 {
			t.Errorf("seed %d: %v stays behind", seed, left)
		}
	}
}

// lastLevel returns the bytes of the tables of the last level, in the order of their numbers, each of which it checks.
func lastLevel(t *testing.T, s *Store) (tables [][]byte) {
	t.Helper()
	manifest, cut, err := readManifest(s.dir)
	if err != nil || cut != nil {
		t.Fatal(err, cut)
	}
	var numbers []uint64
	for number, entry := range manifest.Tables {
		if int(entry.Level) == s.db.Opts().MaxLevels-1 {
			numbers = append(numbers, number)
		}
	}
	slices.Sort(numbers)
	for _, number := range numbers {
		path := table.NewFilename(number, s.dir)
		file, err := z.OpenMmapFile(path, os.O_RDONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		opened, err := table.OpenTable(file, table.Options{ChkMode: badgeroptions.OnTableAndBlockRead})
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if least, most := streamOf(opened.Smallest()), streamOf(opened.Biggest()); least != most {
			t.Errorf("%s: goes from %x to %x, want one stream", path, least, most)
		}
		tables = append(tables, bytes.Clone(file.Data))
		if err := file.Close(-1); err != nil {
			t.Fatal(err)
		}
	}
	return tables
}

// TestLoadWritesSameTables loads a graph with different numbers of workers and budgets, with and without spilling, and
// expects the same bytes.
func TestLoadWritesSameTables(t *testing.T) {
	const n = 20_000
	load := func(opt LoadOptions) (tables [][]byte) {
		t.Helper()
		opt.Properties = []Column{{Name: "size", Kind: KindInt}}
		l, err := NewLoader(filepath.Join(t.TempDir(), "graph"), opt)
		if err != nil {
			t.Fatal(err)
		}
		for v := range n {
			node := Node{ID: fmt.Sprint("node ", v), Label: []string{"", "a", "b"}[v%3], Values: []Value{IntValue(int64(v * v))}}
			if err := l.AddNode(node); err != nil {
				t.Fatal(err)
			}
		}
		r := rand.New(rand.NewPCG(1, 4))
		for range 15 * n {
			u, v := r.IntN(1+r.IntN(n)), r.IntN(n)
			if u%5 == 0 {
				u = 0 // a hub
			}
			if err := l.AddEdge(fmt.Sprint("node ", u), fmt.Sprint("node ", v), 0); err != nil {
				t.Fatal(err)
			}
		}
		_, err = l.Commit(t.Context(), func(s *Store) error {
			tables = lastLevel(t, s)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return tables
	}
	want := load(LoadOptions{MemoryBudget: 1 << 30, Workers: 1})
	if len(want) < 8 {
		t.Fatalf("got %d tables, want one a stream", len(want))
	}
	for _, opt := range []LoadOptions{
		{MemoryBudget: 1 << 30, Workers: 4},
		{MemoryBudget: 1 << 21, Workers: 2},
		{MemoryBudget: 1 << 30, Workers: 2},
		{MemoryBudget: 1 << 21, Workers: 1},
		{MemoryBudget: 1 << 21, Workers: 4},
	}[:longtest.Of(2, 5)] {
		if got := load(opt); !slices.EqualFunc(got, want, bytes.Equal) {
			t.Errorf("budget %d, %d workers: got other tables", opt.MemoryBudget, opt.Workers)
		}
	}
}

func TestTableBatchCancelled(t *testing.T) {
	s := loadingStore(t)
	b := newTableBatch(s)
	b.most = 10_000
	for i := range uint32(52) {
		if err := b.put(record.NumberKey(record.KindNodeAt, 9, i), make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
	}
	if len(b.ended) == 0 || len(b.streams) != 1 {
		t.Fatalf("got %d tables and %d streams, want some and 1", len(b.ended), len(b.streams))
	}
	if err := b.cancel(); err != nil {
		t.Fatal(err)
	}
	if left := fileNames(t, s.dir, "*.tmp"); len(left) > 0 {
		t.Errorf("%v stays behind", left)
	}
}

// TestBulkWhileLoading writes into the store of a Loader, in any order, gives one Bulk up, and reads the others.
func TestBulkWhileLoading(t *testing.T) {
	const n = 5000
	dir := filepath.Join(t.TempDir(), "graph")
	l, err := NewLoader(dir, LoadOptions{MemoryBudget: minMemoryBudget})
	if err != nil {
		t.Fatal(err)
	}
	for v := range n {
		if err := l.AddNode(Node{ID: fmt.Sprint(v)}); err != nil {
			t.Fatal(err)
		}
	}
	write := func(s *Store, times float32, end func(b *Bulk) error) error {
		b, err := s.Bulk()
		if err != nil {
			return err
		}
		defer b.Abort()
		x, err := b.Column("x", KindFloat)
		if err != nil {
			return err
		}
		m, err := b.Matrix("m", []string{"a", "b"})
		if err != nil {
			return err
		}
		for _, v := range rand.New(rand.NewPCG(1, 1)).Perm(n) {
			if err := x.Put(NodeID(v), FloatValue(float64(v)*float64(times))); err != nil {
				return err
			}
			if err := m.Put(NodeID(v), []float32{float32(v), times}); err != nil {
				return err
			}
		}
		return end(b)
	}
	_, err = l.Commit(t.Context(), func(s *Store) error {
		for times := range 3 {
			if err := write(s, float32(times), func(b *Bulk) error { return b.Commit(nil) }); err != nil {
				return err
			}
		}
		return write(s, 9, func(*Bulk) error { return nil })
	})
	if err != nil {
		t.Fatal(err)
	}
	if left := fileNames(t, dir, "*.tmp"); len(left) > 0 {
		t.Errorf("%v stays behind", left)
	}
	s := openTest(t, dir)
	checkClean(t, s)
	view(t, s, func(tx *Tx) error {
		m, err := tx.Matrix("m")
		if err != nil {
			return err
		}
		rows := make([]float32, 2*n)
		if err := m.Read(Range{0, n}, 0, 2, rows); err != nil {
			return err
		}
		for v := range NodeID(n) {
			x, err := tx.Value(v, "x")
			if err != nil {
				return err
			}
			if x.Float() != 2*float64(v) || rows[2*v] != float32(v) || rows[2*v+1] != 2 {
				t.Fatalf("node %d: got %v and %v, want %d and [%d 2]", v, x, rows[2*v:2*v+2], 2*v, v)
			}
		}
		return nil
	})
}

// BenchmarkTableBatch writes records of the size of an adjacency block.
func BenchmarkTableBatch(b *testing.B) {
	s, err := create(filepath.Join(b.TempDir(), "store"), Options{MemoryBudget: minMemoryBudget}, false)
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	}()
	const records = 4096
	body := make([]byte, adjacencyTarget)
	b.ReportAllocs()
	b.SetBytes(records * adjacencyTarget)
	for b.Loop() {
		batch := newTableBatch(s)
		for i := range uint32(records) {
			binary.LittleEndian.PutUint32(body, i)
			if err := batch.put(record.PairKey(record.KindAdjacency, 1, i, 0), body); err != nil {
				b.Fatal(err)
			}
		}
		if err := batch.flush(); err != nil {
			b.Fatal(err)
		}
		if err := batch.cancel(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(records*b.N)/b.Elapsed().Seconds(), "records/s")
}
