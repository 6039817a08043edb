package lsm

import (
	"errors"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// TestFewMemTablesWait writes many memtables beside a reader that keeps the first: no write waits for the reader or
// for a merge, which Badger does not make here, and there are never more memtables than the budget has room for.
func TestFewMemTablesWait(t *testing.T) {
	d := testDB(t)
	set(t, d, 1, "first")
	reader := d.Begin(false)
	defer reader.Discard()
	it := reader.Iterator(record.Prefix(record.KindSpace, 1), false)
	defer it.Close()
	must.Do(t, it.Seek(nil))
	body := make([]byte, 1<<19)
	for range 20 * minMemTable / len(body) {
		must.Do(t, d.makeRoom(int64(len(body))))
		if waiting := d.waiting(); waiting >= waitingMemTables {
			t.Fatalf("%d memtables wait", waiting)
		}
		txn := d.Begin(true)
		must.Do(t, errors.Join(txn.Set(testKey(2), record.Encode(testKey(2), body)), txn.Commit(d.Version()+1)))
		txn.Discard()
	}
	if closed := d.failure.flushes.Load(); closed < 5 {
		t.Errorf("%d memtables were closed: the test shows nothing", closed)
	}
	if d.firstTables() < 16 || // more than those at which Badger stalls by default
		d.Failed() != nil {
		t.Errorf("there are %d tables of level 0, %v", d.firstTables(), d.Failed())
	}
}
