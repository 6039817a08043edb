package lsm

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// TestLookups writes random records, and deletes some, in several sessions, and compares what lookups find in snapshots
// with what was written.
func TestLookups(t *testing.T) {
	const keys = 300
	dir := filepath.Join(t.TempDir(), "store")
	r := rand.New(rand.NewPCG(1, 0))
	var want [keys]string // "" of a record that is not there
	for session := range 6 {
		d := openTest(t, dir)
		var before [keys]string
		var snapshot *Txn
		for commit := range 6 {
			if commit == 3 { // of which later commits change nothing
				snapshot, before = d.Begin(false), want
			}
			txn := d.Begin(true)
			err := d.makeRoom(keys * 300)
			for range keys / 4 {
				i := r.IntN(keys)
				if r.IntN(3) == 0 {
					want[i] = ""
					err = errors.Join(err, txn.Set(testKey(i), nil))
				} else {
					want[i] = fmt.Sprint(session, commit, i)
					err = errors.Join(err, txn.Set(testKey(i), record.Encode(testKey(i), []byte(want[i]))))
				}
			}
			must.Do(t, errors.Join(err, txn.Commit(d.Version()+1)))
			txn.Discard()
		}
		now := d.Begin(false)
		for _, see := range []struct {
			txn  *Txn
			want *[keys]string
		}{{snapshot, &before}, {now, &want}} {
			l := see.txn.Lookups(record.Prefix(record.KindSpace, 1))
			for step := range 2 * keys {
				i := step % keys // all records in order, and then any
				if step >= keys {
					i = r.IntN(keys + 5)
				}
				got := ""
				err := l.Record(testKey(i), func(body []byte) error {
					got = string(body)
					return nil
				})
				switch absent := i >= keys || see.want[i] == ""; {
				case absent && !errors.Is(err, record.ErrNotFound):
					t.Fatalf("session %d, record %d: got %q, %v, want ErrNotFound", session, i, got, err)
				case !absent && (err != nil || got != see.want[i]):
					t.Fatalf("session %d, record %d: got %q, %v, want %q", session, i, got, err, see.want[i])
				}
			}
		}
		snapshot.Discard()
		now.Discard()
		closeTest(t, d)
	}
}

// TestLookupsOfNothing looks up a record of an empty database, and one of a kind that it does not have.
func TestLookupsOfNothing(t *testing.T) {
	d := testDB(t)
	for range 2 {
		txn := d.Begin(false)
		l := txn.Lookups(record.Prefix(record.KindSpace, 7))
		key := append(record.Prefix(record.KindSpace, 7), 1)
		err := l.Record(key, func([]byte) error { return errors.New("got a record, want none") })
		if !errors.Is(err, record.ErrNotFound) {
			t.Errorf("got %v, want ErrNotFound", err)
		}
		txn.Discard()
		set(t, d, 20, "other records")
	}
}

// TestLookupOfADamagedRecord changes a byte of a record.
func TestLookupOfADamagedRecord(t *testing.T) {
	d := testDB(t)
	txn := d.Begin(true)
	value := record.Encode(testKey(1), []byte("some text"))
	value[len(value)-1] ^= 1
	must.Do(t, errors.Join(d.makeRoom(1<<10), txn.Set(testKey(1), value), txn.Commit(d.Version()+1)))
	txn.Discard()
	txn = d.Begin(false)
	defer txn.Discard()
	l := txn.Lookups(record.Prefix(record.KindSpace, 1))
	err := l.Record(testKey(1), func(body []byte) error { return errors.New(strconv.Quote(string(body))) })
	if !errors.Is(err, record.ErrCorrupt) {
		t.Errorf("got %v, want ErrCorrupt", err)
	}
}
