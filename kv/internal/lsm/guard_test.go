//go:build linux || darwin

package lsm

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/mapped"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// TestFaultOfATableReader cuts a table short while it is being verified.
func TestFaultOfATableReader(t *testing.T) {
	path := tablesIn(t, sessions(t, 1))[0]
	r, err := openTableReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close() //nolint:errcheck // it was read only
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	for i := range r.blocks() {
		if err := r.verify(i); !errors.Is(err, record.ErrCorrupt) || !strings.Contains(err.Error(), path) {
			t.Errorf("block %d: got %v, want ErrCorrupt of %s", i, err, path)
		}
	}
}

// TestGuardFaults has a fault be an ErrCorrupt, and leaves other errors.
func TestGuardFaults(t *testing.T) {
	want := errors.New("another error")
	if err := guardFaults(func() error { return want }); err != want {
		t.Errorf("got %v, want %v", err, want)
	}
	if err := guardFaults(func() error { return &mapped.Fault{Path: "x"} }); !errors.Is(err, record.ErrCorrupt) {
		t.Errorf("got %v, want ErrCorrupt", err)
	}
}

// TestFaultOfALookup cuts a table short while a record of it is used where it lies.
func TestFaultOfALookup(t *testing.T) {
	dir := sessions(t, 1)
	d := openTest(t, dir)
	defer d.Abandon()
	txn := d.Begin(false)
	defer txn.Discard()
	l := txn.Lookups(record.Prefix(record.KindSpace, 1))
	defer l.Close()
	path, sum := tablesIn(t, dir)[0], byte(0)
	err := l.Record(testKey(3), false, func(body []byte) error {
		if err := os.Truncate(path, 0); err != nil {
			return err
		}
		for _, x := range body {
			sum += x
		}
		return nil
	})
	if !errors.Is(err, record.ErrCorrupt) || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v, a sum of %d, want ErrCorrupt of %s", err, sum, path)
	}
	if err := l.Record(testKey(3), true, func([]byte) error { return nil }); !errors.Is(err, record.ErrCorrupt) {
		t.Errorf("later: got %v, want ErrCorrupt", err)
	}
}

// TestVerifyingACutTable verifies a table that is cut short.
func TestVerifyingACutTable(t *testing.T) {
	path := tablesIn(t, sessions(t, 1))[0]
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	if err := verifyTable(path); !errors.Is(err, record.ErrCorrupt) || !strings.Contains(err.Error(), ".sst") {
		t.Errorf("got %v, want ErrCorrupt of the table", err)
	}
}
