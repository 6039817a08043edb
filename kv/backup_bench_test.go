package kv

import (
	"bytes"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"testing"
)

// benchBackup is a store of some ten megabytes: lists of a random graph, labels, and rows of probabilities.
func benchBackup(b *testing.B) *Store {
	b.Helper()
	const n, degree, classes = 50_000, 20, 40
	r := rand.New(rand.NewPCG(1, 1))
	dir := filepath.Join(b.TempDir(), "store")
	l, err := NewLoader(b.Context(), dir, LoadOptions{MemoryBudget: 256 << 20})
	if err != nil {
		b.Fatal(err)
	}
	for i := range n {
		if err := l.AddNode(Node{ID: strconv.Itoa(i), Label: strconv.Itoa(r.IntN(classes))}); err != nil {
			b.Fatal(err)
		}
	}
	for range n * degree / 2 {
		if err := l.AddEdge(strconv.Itoa(r.IntN(n)), strconv.Itoa(r.IntN(n)), 0); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := l.Commit(b.Context(), nil); err != nil {
		b.Fatal(err)
	}
	s, err := Open(dir, Options{MemoryBudget: 256 << 20})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	bulk, err := s.Bulk()
	if err != nil {
		b.Fatal(err)
	}
	defer bulk.Abort()
	w, err := bulk.Matrix("p", make([]string, classes), MatrixEncoding{})
	if err != nil {
		b.Fatal(err)
	}
	row := make([]float32, classes)
	for v := range NodeID(n) {
		for j := range row {
			row[j] = r.Float32()
		}
		if err := w.Put(v, row); err != nil {
			b.Fatal(err)
		}
	}
	if err := bulk.Commit(nil); err != nil {
		b.Fatal(err)
	}
	return s
}

// The megabytes are of records, as they are in the store.
func BenchmarkBackup(b *testing.B) {
	s := benchBackup(b)
	var full bytes.Buffer
	info, err := s.Backup(b.Context(), &full, BackupOptions{})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("kind=full", func(b *testing.B) {
		b.SetBytes(info.Bytes)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.Backup(b.Context(), io.Discard, BackupOptions{}); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(info.Stored)/float64(info.Bytes), "stored/raw")
	})
	b.Run("kind=incremental", func(b *testing.B) {
		b.SetBytes(info.Bytes)
		b.ReportAllocs()
		var next BackupInfo
		for b.Loop() {
			if next, err = s.Backup(b.Context(), io.Discard, BackupOptions{Since: bytes.NewReader(full.Bytes())}); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(next.Stored)/float64(info.Bytes), "stored/raw")
	})
	b.Run("kind=verify", func(b *testing.B) {
		b.SetBytes(info.Bytes)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := CheckBackup(b.Context(), []io.Reader{bytes.NewReader(full.Bytes())}, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("kind=restore", func(b *testing.B) {
		b.SetBytes(info.Bytes)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			dir := filepath.Join(b.TempDir(), strconv.Itoa(i))
			if _, err := Restore(b.Context(), dir, []io.Reader{bytes.NewReader(full.Bytes())}, RestoreOptions{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
