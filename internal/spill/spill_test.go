package spill

import (
	"bytes"
	"context"
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

func TestSorterIsStable(t *testing.T) {
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
			want = append(want, Record{key, value})
			if err := s.Add(key, value); err != nil {
				t.Fatalf("seed %d: Add: %v", seed, err)
			}
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
		must.Do(t, s.Close())
		if left := files(t, dir); len(left) > 0 {
			t.Fatalf("seed %d: after Close: got files %q, want none", seed, left)
		}
	}
}

func TestSorterKeepsEmptyRecordsInOrder(t *testing.T) {
	s := New(t.TempDir(), 1<<20)
	for _, value := range []string{"", "x", "", "y"} {
		must.Do(t, s.Add(nil, []byte(value)))
	}
	var got []string
	for r, err := range s.Records(t.Context()) {
		must.Do(t, err)
		got = append(got, string(r.Value))
	}
	if want := []string{"", "x", "", "y"}; !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
}

func TestUint64KeysOrderAsNumbers(t *testing.T) {
	s := New(t.TempDir(), 1<<20)
	for _, k := range []uint64{1 << 40, 3, 256, 255} {
		must.Do(t, s.AddUint64(k, []byte{byte(k)}))
	}
	var got []byte
	for r, err := range s.Records(t.Context()) {
		must.Do(t, err)
		got = append(got, r.Value...)
	}
	if want := []byte{3, 255, 0, 0}; !bytes.Equal(got, want) {
		t.Fatalf("values in order of keys: got %v, want %v", got, want)
	}
}

func TestBreakingOutAndCancelling(t *testing.T) {
	for _, limit := range []int64{0, 1 << 30} {
		dir := t.TempDir()
		records := New(dir, limit)
		for i := range uint64(20000) {
			must.Do(t, records.AddUint64(i*7919%20000, nil))
		}
		for r, err := range records.Records(t.Context()) {
			if err != nil || !bytes.Equal(r.Key, make([]byte, 8)) {
				t.Fatalf("limit %d: first record: got %q, %v", limit, r.Key, err)
			}
			break
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for _, err := range records.Records(ctx) {
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("limit %d: cancelled Sorted: got %v", limit, err)
			}
		}
		must.Do(t, errors.Join(records.Close(), records.Close()))
		if left := files(t, dir); len(left) > 0 {
			t.Fatalf("after Close: got files %q, want none", left)
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

func ExampleSorter() {
	s := New(os.TempDir(), 1<<20)
	defer s.Close()
	for _, word := range []string{"pear", "apple", "fig"} {
		if err := s.Add([]byte(word), []byte{byte(len(word))}); err != nil {
			fmt.Println(err)
			return
		}
	}
	for r, err := range s.Records(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s %d\n", r.Key, r.Value[0])
	}
	// Output:
	// apple 5
	// fig 3
	// pear 4
}
