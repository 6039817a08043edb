package lsm

import (
	"errors"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/skl"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A Txn sees a database as it was when it began, and what it wrote itself. Several users may write in one Txn, one
// after another: each sees what those before it wrote.
type Txn struct {
	d      *DB
	txn    *badger.Txn // nil of a database that is read without Badger
	writes bool
	sees   uint64 // the version of the last commit that it sees
	packs  *packSet
	room   int64 // that its writes take on the disk, as far as MakeRoom was not asked for it

	own    int64 // bytes of the user's writes, as written counts them
	before int64 // bytes of the users before
	ended  bool

	// Of one that writes:
	steps int         // how many writes there were
	spare []*Iterator // that nobody uses, and that see all writes
}

// written bounds what Badger counts for an entry, in bytes. As it bounds how many entries there may be by the memory
// that each takes at least, it is no less than that.
func written(key, value []byte) int64 {
	return max(int64(len(key)+len(value)+16), int64(skl.MaxNodeSize)+1)
}

// mostBefore bounds the bytes written in a transaction before another user follows. Nobody may write more than
// a transaction can hold beside that, so that what fits does not depend on who was before.
const mostBefore = 32 << 10

// Next has another user follow in the transaction. It returns false if those before have written so much that none may.
func (t *Txn) Next() bool {
	if t.before+t.own > mostBefore {
		return false
	}
	t.before, t.own = t.before+t.own, 0
	return true
}

// Begin begins a transaction, which must be discarded. Of those that write there is one at a time.
func (d *DB) Begin(write bool) *Txn {
	d.packs.mu.Lock() // so that no pack goes that it sees, and no fold ends meanwhile
	defer d.packs.mu.Unlock()
	d.packs.now.users++
	d.txns.Add(1)
	t := &Txn{d: d, writes: write, sees: d.last.Load(), packs: d.packs.now}
	if d.db != nil {
		t.txn = d.db.NewTransactionAt(t.sees, write)
	}
	return t
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
	t.d.last.Store(max(t.d.last.Load(), version)) // only who holds the writer's lock does so
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

// Set writes a value under a key, or deletes the key if it is nil. The transaction keeps both. It returns ErrTxTooBig
// if the user cannot write more.
func (t *Txn) Set(key, value []byte) error {
	if !t.writes {
		return ErrReadOnly
	}
	if value == nil { // a pack may have the key, of which Badger knows nothing
		value = record.Deletion(key)
	}
	t.own += written(key, value)
	if t.own > t.d.db.MaxBatchSize()-mostBefore {
		return ErrTxTooBig
	}
	t.room += entryRoom(key, value)
	t.closeSpare()
	return wrapBadger(t.txn.Set(key, value))
}

// closeSpare closes the iterators that are kept, before a write or the end.
func (t *Txn) closeSpare() {
	t.steps++
	for _, i := range t.spare {
		i.Close()
	}
	t.spare = nil
}

// ReadVersion is the version of the last commit that the transaction sees.
func (t *Txn) ReadVersion() uint64 { return t.sees }

// A Batch writes many records, in as many transactions as they need. One goroutine.
type Batch struct {
	t       *Txn
	version uint64
}

// Batch begins a batch of a version, as Commit has it, which must be cancelled, also after it was flushed.
func (d *DB) Batch(version uint64) *Batch { return &Batch{d.Begin(true), version} }

// Set is Set of a transaction that has room for all.
func (b *Batch) Set(key, value []byte) error {
	err := b.t.Set(key, value)
	if !errors.Is(err, ErrTxTooBig) {
		return err
	}
	if err := b.Flush(); err != nil {
		return err
	}
	return b.t.Set(key, value)
}

// Flush makes the writes durable.
func (b *Batch) Flush() error {
	if b.t.room == 0 {
		return nil
	}
	err := b.t.MakeRoom()
	if err == nil {
		err = b.t.Commit(b.version)
	}
	b.t.Discard()
	b.t = b.t.d.Begin(true)
	return err
}

// Cancel gives up the writes that are not flushed.
func (b *Batch) Cancel() { b.t.Discard() }

// Version is that of the last commit.
func (d *DB) Version() uint64 { return d.last.Load() }

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
