package lsm

import (
	"bytes"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/dgraph-io/badger/v4"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A Txn sees a database as it was when it began, and what it wrote itself. Several users may write in one Txn, one
// after another: each sees what those before it wrote.
type Txn struct {
	d      *DB
	txn    *badger.Txn // nil of a database that is read without Badger
	writes bool
	sees   uint64   // the version of the last commit that it sees
	packs  *packSet // nil of a database that is read without Badger
	room   int64    // that its writes take on the disk, as far as MakeRoom was not asked for it

	own    written     // by the user
	before written     // by the users before
	kept   atomic.Bool // see badgerSource.Close
	ended  bool

	mu    sync.Mutex
	steps int         // how many writes there were
	spare []*Borrowed // that nobody uses, and that see all writes
}

// written is what was written in a transaction, as Badger counts it.
type written struct{ entries, bytes int64 }

func (w *written) add(key, value []byte) {
	w.entries++
	w.bytes += int64(len(key) + len(value) + writtenOverhead)
}

// writtenOverhead bounds what Badger counts for an entry beside key and value, in bytes.
const writtenOverhead = 16

// lent is what the users of a transaction may have written when another follows them. Nobody may write more than a
// transaction can hold beside that, so that what fits does not depend on who was before.
var lent = written{entries: 256, bytes: 32 << 10}

// Next has another user follow in the transaction. It returns false if those before have written so much that none may.
func (t *Txn) Next() bool {
	all := written{t.before.entries + t.own.entries, t.before.bytes + t.own.bytes}
	if all.entries > lent.entries || all.bytes > lent.bytes {
		return false
	}
	t.before, t.own = all, written{}
	return true
}

// checkSize returns ErrTxTooBig if the user cannot write another entry.
func (t *Txn) checkSize(key, value []byte) error {
	if !t.writes {
		return ErrReadOnly
	}
	t.own.add(key, value)
	most := t.d.db.MaxBatchSize() - lent.bytes
	if t.own.bytes > most || t.own.entries > t.d.db.MaxBatchCount()-lent.entries {
		return ErrTxTooBig
	}
	return nil
}

// Begin begins a transaction, which must be discarded. Of those that write there is one at a time.
func (d *DB) Begin(write bool) *Txn {
	if d.tables != nil {
		return &Txn{d: d, sees: d.tables.newest}
	}
	d.packs.mu.Lock() // so that no pack goes that it sees, and no fold ends meanwhile
	defer d.packs.mu.Unlock()
	d.packs.now.users++
	d.txns.Add(1)
	sees := d.last.Load()
	return &Txn{d: d, txn: d.db.NewTransactionAt(sees, write), writes: write, sees: sees, packs: d.packs.now}
}

// View calls use with a transaction that reads.
func (d *DB) View(use func(t *Txn) error) error {
	t := d.Begin(false)
	defer t.Discard()
	return use(t)
}

// Discard ends the transaction. What it wrote is gone, unless it was committed. Badger holds nothing for a
// transaction whose versions are managed here, and would panic in its own Discard where a damaged table has kept an
// iterator from being made.
func (t *Txn) Discard() {
	t.closeSpare()
	if t.d.tables != nil || t.kept.Load() {
		return
	}
	if !t.ended {
		t.ended = true
		t.d.txns.Add(-1)
		t.d.packs.release(t.packs) //nolint:errcheck // a pack that stays behind is removed by the next open
	}
}

// Commit makes what it wrote visible under a version, which is that of the last commit or greater. Of two values of a
// key that have one version, the one that was written later counts. The commit is durable then, unless the database
// is that of a load.
func (t *Txn) Commit(version uint64) error {
	t.closeSpare()
	if !t.writes {
		return nil
	}
	if err := t.txn.CommitAt(version, nil); err != nil {
		return wrapBadger(err)
	}
	t.d.advance(version)
	return nil
}

// MakeRoom returns ErrNoSpace if what it wrote, and what follows from that, might not fit on the disk.
func (t *Txn) MakeRoom() error {
	if t.room == 0 {
		return nil
	}
	err := t.d.makeRoom(t.room)
	if err == nil {
		t.room = 0
	}
	return err
}

// Set writes a value under a key. The transaction keeps both.
func (t *Txn) Set(key, value []byte) error {
	if err := t.checkSize(key, value); err != nil {
		return err
	}
	t.room += entryRoom(key, value)
	t.closeSpare()
	return wrapBadger(t.txn.Set(key, value))
}

// Delete deletes a key, which the transaction keeps.
func (t *Txn) Delete(key []byte) error {
	if t.packs.mayHave(key) {
		return t.Set(key, record.Deletion(key))
	}
	if err := t.checkSize(key, nil); err != nil {
		return err
	}
	t.room += entryRoom(key, nil)
	t.closeSpare()
	return wrapBadger(t.txn.Delete(key))
}

// Restore is Set of what an earlier user wrote in another transaction, for which MakeRoom was asked there; a value of
// nil is deleted.
func (t *Txn) Restore(key, value []byte) error {
	if value == nil && t.packs.mayHave(key) {
		value = record.Deletion(key)
	}
	t.before.add(key, value)
	if value == nil {
		return wrapBadger(t.txn.Delete(key))
	}
	return wrapBadger(t.txn.Set(key, value))
}

// ReadVersion is the version of the last commit that the transaction sees.
func (t *Txn) ReadVersion() uint64 { return t.sees }

// A Borrowed is an Iterator that a transaction lends.
type Borrowed struct {
	*Iterator
	prefix     []byte
	descending bool
	steps      int // that it sees
}

// mostSpare is how many iterators a transaction keeps for later.
const mostSpare = 8

// Borrow is Iterator of a transaction that writes, to be given back. It does not see what is written meanwhile.
// Badger sorts all that was written for each new iterator, so one that was given back is lent again until the next
// write.
func (t *Txn) Borrow(prefix []byte, descending bool) *Borrowed {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, b := range t.spare {
		if b.descending == descending && bytes.Equal(b.prefix, prefix) {
			t.spare = slices.Delete(t.spare, i, i+1)
			return b
		}
	}
	return &Borrowed{Iterator: t.Iterator(prefix, descending), prefix: bytes.Clone(prefix), descending: descending,
		steps: t.steps}
}

// GiveBack ends the use of a borrowed iterator.
func (t *Txn) GiveBack(b *Borrowed) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if b.steps != t.steps || len(t.spare) == mostSpare {
		b.Close()
		return
	}
	t.spare = append(t.spare, b)
}

// closeSpare closes the iterators that are kept, before a write or the end.
func (t *Txn) closeSpare() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.steps++
	for _, b := range t.spare {
		b.Close()
	}
	t.spare = nil
}

// A Batch writes many records outside any transaction, after it has made sure that the disk has room for them.
// Ascending keys are fastest. One goroutine.
type Batch struct {
	d       *DB
	wb      *badger.WriteBatch
	version uint64
	room    int64 // bytes of entries that the disk has room for
}

// batchRoom is what a batch asks for at once.
const batchRoom = 1 << 20

// Batch begins a batch of a version, as Commit has it, which must be cancelled, also after it was flushed.
func (d *DB) Batch(version uint64) *Batch {
	b := &Batch{d: d, wb: d.db.NewWriteBatchAt(version), version: version}
	// Each pending transaction holds up to 15% of a memtable; one is filled while another is written.
	b.wb.SetMaxPendingTxns(2)
	return b
}

// Set writes a value under a key, or deletes the key if it is nil. The batch keeps both.
func (b *Batch) Set(key, value []byte) error {
	n := entryRoom(key, value)
	if b.room < n {
		if err := b.d.makeRoom(batchRoom + n); err != nil {
			return err
		}
		b.room += batchRoom + n
	}
	b.room -= n
	if value == nil && b.d.packs.mayHave(key) {
		value = record.Deletion(key)
	}
	if value == nil {
		return wrapBadger(b.wb.Delete(key))
	}
	return wrapBadger(b.wb.Set(key, value))
}

// Flush waits until all is written.
func (b *Batch) Flush() error {
	if err := b.wb.Flush(); err != nil {
		return wrapBadger(err)
	}
	b.d.advance(b.version)
	return nil
}

// Cancel gives up what is not written. After Flush it does nothing.
func (b *Batch) Cancel() { b.wb.Cancel() }

// Version is that of the last commit.
func (d *DB) Version() uint64 {
	if d.tables != nil {
		return d.tables.newest
	}
	return d.last.Load()
}

// advance has transactions that begin from now on see a version. The caller holds the writer's lock.
func (d *DB) advance(to uint64) { d.last.Store(max(d.last.Load(), to)) }

// MostInTransaction is how many bytes a transaction can write.
func (d *DB) MostInTransaction() int64 { return d.db.MaxBatchSize() }

// Written says whether anything was given to the database since it was opened.
func (d *DB) Written() bool { return d.output.Load() > 0 }

// Failed is an ErrFailed if a write failed, and an ErrMoved if the directory was moved before one did.
func (d *DB) Failed() error { return d.failure.err() }

// Fail has the database fail: nothing more is written to it.
func (d *DB) Fail(err error) { d.failure.set(err) }

// ReadFailed is an ErrFailed if Badger could not be opened anew. Somebody reads, or tries to.
func (d *DB) ReadFailed() error {
	if d.db == nil || !d.db.IsClosed() {
		return nil
	}
	return d.failure.err()
}

// Abandon closes a database whose files were removed.
func (d *DB) Abandon() {
	d.db.Close()   //nolint:errcheck // it misses its files
	d.disk.Close() //nolint:errcheck // it was only asked
}
