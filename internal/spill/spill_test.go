package spill

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

func files(t *testing.T, dir string) []string {
	t.Helper()
	names := must.Get(filepath.Glob(filepath.Join(dir, "*")))(t)
	return names
}

// TestSorter adds records, some under numbers, and reads them twice, in part, and once the context has ended.
func TestSorter(t *testing.T) {
	for seed := range uint64(longtest.Of(24, 240)) {
		r := rand.New(rand.NewPCG(seed, 1))
		dir := t.TempDir()
		s := New(dir, []int64{0, 1 << 14, 1 << 17, 1 << 30}[seed%4])
		var want []Record
		for i := range r.IntN(8000) {
			key := make([]byte, r.IntN(12))
			for j := range key {
				key[j] = "\x00a\xff"[r.IntN(3)]
			}
			value := fmt.Appendf(nil, "%d", i)
			if r.IntN(50) == 0 {
				value = bytes.Repeat(value, r.IntN(3000))
			}
			if r.IntN(10) == 0 {
				value = nil
			}
			if r.IntN(5) == 0 {
				number := uint64(r.IntN(700))
				key = binary.BigEndian.AppendUint64(nil, number)
				must.Do(t, s.AddUint64(number, value))
			} else {
				must.Do(t, s.Add(key, value))
			}
			want = append(want, Record{key, value})
		}
		slices.SortStableFunc(want, func(a, b Record) int { return bytes.Compare(a.Key, b.Key) })
		for round := range 2 {
			i := 0
			for got, err := range s.Records(t.Context()) {
				if err != nil {
					t.Fatalf("seed %d: Sorted: %v", seed, err)
				}
				if i >= len(want) || !bytes.Equal(got.Key, want[i].Key) || !bytes.Equal(got.Value, want[i].Value) {
					t.Fatalf("seed %d, round %d: record %d: got %q, of %d wanted", seed, round, i, got, len(want))
				}
				i++
			}
			if i != len(want) {
				t.Fatalf("seed %d: got %d records, want %d", seed, i, len(want))
			}
		}
		for _, err := range s.Records(t.Context()) {
			must.Do(t, err)
			break
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		for _, err := range s.Records(ended) {
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("seed %d: cancelled: got %v", seed, err)
			}
			break
		}
		must.Do(t, errors.Join(s.Close(), s.Close()))
		if left := files(t, dir); len(left) > 0 {
			t.Fatalf("seed %d: after Close: got files %q, want none", seed, left)
		}
	}
}

func TestDirectoryMissing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "absent")
	s := New(dir, 0)
	var err error
	for i := 0; i < 10000 && err == nil; i++ {
		err = s.Add([]byte("key"), make([]byte, 100))
	}
	if !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("spilling into a missing directory: got %v, want ErrNotExist", err)
	}
	if err := s.Close(); err != nil {
		t.Fatalf("Close after a failure: %v", err)
	}
}

func TestRunCutShort(t *testing.T) {
	dir := t.TempDir()
	s := New(dir, 0)
	defer s.Close()
	for i := range uint64(5000) {
		must.Do(t, s.AddUint64(i, []byte("value")))
	}
	must.Do(t, os.Truncate(files(t, dir)[0], 3))
	var last error
	for _, err := range s.Records(t.Context()) {
		last = err
	}
	if last == nil {
		t.Fatal("a temporary file cut short: got no error")
	}
}
