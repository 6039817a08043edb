package kv

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/kv/internal/column"
	"github.com/graphcleaner/graphcleaner/kv/internal/decisions"
	"github.com/graphcleaner/graphcleaner/kv/internal/graph"
	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/snapshot"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// A Store is a graph on disk, with its labels, properties and matrices. It may be used by many goroutines at once: any
// number read, each in a snapshot of its own, while one writes.
//
// The writer is an Update, a Bulk from Store.Bulk to its Commit or Abort, or a Compact, and the next one waits for
// it. A goroutine must end its write before it begins another, or it waits for ever. Inside an Update, or while it
// has a Bulk open, it must not call Update, Bulk, Compact or Check. Inside an Update it must not call Close. Compact
// and Check stop waiting when their context ends.
type Store struct {
	dir    string // absolute, without links: see storedir.Lock
	name   string // the directory as it was given, for messages
	opt    Options
	unlock func() error // gives the lock on the directory back, which is held from Open to Close
	db     *lsm.DB
	header header

	// decided is nil in a store that is read-only or being loaded. The writer's lock guards it.
	decided *decisions.Log
	commits uint64 // the number of the last commit
	synced  bool   // commits are durable; not those of a load

	// writer is held by the one Update, Bulk or Compact there is at a time.
	writer    writerLock
	folding   *folding          // nil: no fold goes on
	group     *commitGroup      // nil: no Update waits for its sync
	lastGroup int               // how many the last one had
	bulkOpen  atomic.Bool       // the writer is one of Store.Bulk, which its user must end
	unused    record.Generation // no Bulk has had it or one after it, also none that was given up
	copied    uint64            // the version of the catalogue that the file "catalog" has

	worker writerLock // held by the one Work there is at a time

	partitions *graph.Partitions
	cache      *snapshot.Cache

	// latest is the catalogue last read, so that a snapshot seldom has to decode it.
	latest atomic.Pointer[catalog]

	removed atomic.Pointer[removedSet] // of the snapshot that last asked

	mu     sync.Mutex
	closed bool
	txs    map[*Tx]struct{} // begun and not ended
}

func headerKey() []byte { return []byte{byte(record.KindHeader)} }

// readHeader reads the header. For a store of another format version it returns ErrVersion.
func (s *Store) readHeader() error {
	err := s.db.View(func(t *lsm.Txn) (err error) {
		s.header, err = readHeader(t)
		return err
	})
	if errors.Is(err, ErrNotFound) {
		err = ErrNotStore
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	if s.header.Version != formatVersion {
		return versionError(s.name, s.header.Version)
	}
	return nil
}

// readHeader returns the header that a transaction sees, or ErrNotFound.
func readHeader(t *lsm.Txn) (h header, err error) {
	value, _, err := t.Get(headerKey())
	if err != nil {
		return h, err
	}
	body, err := record.Decode(headerKey(), value)
	if err != nil {
		return h, err
	}
	if err := msgpack.Unmarshal(body, &h); err != nil {
		return h, record.Corrupt(headerKey(), err.Error())
	}
	return h, nil
}

// newHeader is the header of a store that is being made.
func newHeader() header {
	var id [16]byte
	rand.Read(id[:]) // never fails
	return header{Version: formatVersion, ID: hex.EncodeToString(id[:])}
}

// writeHeader writes the header and the catalogue of an empty store.
func (s *Store) writeHeader() error {
	s.header = newHeader()
	body, err := msgpack.Marshal(s.header)
	if err != nil {
		return err
	}
	c := newCatalog()
	g, err := c.newGeneration()
	if err != nil {
		return err
	}
	c.Columns[LabelColumn] = column.Entry{Generation: g, Kind: KindClass}
	if s.synced {
		nothing := func(func(decisions.Entry, error) bool) {}
		if s.decided, err = decisions.Create(s.dir, s.header.ID, 0, nothing); err != nil {
			return err
		}
	}
	tx := s.beginBare(true, nil)
	defer tx.end()
	if tx.err != nil {
		return tx.err
	}
	tx.cat, tx.changed = c, true
	if err := tx.put(headerKey(), body); err != nil {
		return err
	}
	return tx.commit()
}

// ID names the store, the same wherever it is copied to: 128 random bits in hexadecimal.
func (s *Store) ID() string { return s.header.ID }

// Dir is the absolute path of the store's directory, without links.
func (s *Store) Dir() string { return s.dir }

// Store is the store that the transaction is of.
func (tx *Tx) Store() *Store { return tx.s }

// InUpdate reports whether the transaction is one of Update, which only the goroutine of its function may use.
func (tx *Tx) InUpdate() bool { return tx.write }

// ReadOnly reports whether the store was opened so.
func (s *Store) ReadOnly() bool { return s.opt.ReadOnly }

// View runs fn on a snapshot of the store, which ends with it.
func (s *Store) View(fn func(*Tx) error) error {
	tx := s.Begin()
	defer tx.end()
	if tx.err != nil {
		return tx.err
	}
	return fn(tx)
}

// Begin returns a read snapshot that many goroutines may use at once. Close it, because the store keeps the data of
// an open snapshot on disk. If the store is closed or its catalogue is damaged, Begin still returns a Tx, and its
// methods return the error (see Tx.Err).
func (s *Store) Begin() *Tx { return s.begin(false) }

// Update runs fn in the store's one write transaction, exactly once; other writers wait, readers do not, and an Update
// inside fn waits for ever. If fn returns nil, all its writes are on disk when Update returns. If fn returns an error
// or panics, or a write in it failed with ErrTxTooBig or in OnWrite, none of its writes happens. If Update returns
// ErrCommitted, the writes have happened. What fn writes it can read at once. The Tx is for fn's goroutine only.
//
// Updates that come at the same time share one sync. So the Tx may see what Updates before it wrote and what is not
// on disk yet. A View or a snapshot of Begin inside fn does not see that: fn reads from its Tx. And Update may return
// only after the fn of a later Update has run: no fn may wait for anything that somebody holds who calls Update.
func (s *Store) Update(fn func(*Tx) error) error {
	return s.UpdateContext(context.Background(), fn)
}

// UpdateContext is Update, or returns the error of a context that ends while it waits for another writer.
func (s *Store) UpdateContext(ctx context.Context, fn func(*Tx) error) error {
	tx, before, err := s.join(ctx, fn)
	if err != nil {
		return cmp.Or(before.lost(), err) // err may follow from what others wrote
	}
	<-tx.group.done
	return tx.result
}

// update is Update for who holds the writer's lock from lockWriter.
func (s *Store) update(fn func(*Tx) error) error {
	tx, err := s.enter(fn)
	if err != nil {
		return err
	}
	return s.finish(tx)
}

// finish commits the group, whose last transaction is tx, and sweeps if that changed the catalogue.
func (s *Store) finish(tx *Tx) error {
	s.commitGroup()
	defer s.foldIfDue()
	if tx.result != nil || !tx.changed {
		return tx.result
	}
	if err := s.sweep(); err != nil {
		return fmt.Errorf("%w, but %w", ErrCommitted, err)
	}
	return nil
}

// Close waits for the Update or Compact that is running, ends all snapshots, waits for their reads, and closes the
// store; it must not be called from inside an Update or a loop over a snapshot. While a Bulk is open it returns
// ErrBusy and closes nothing: end the Bulk with Commit or Abort first. Closing again does nothing. If another process
// has filled the disk, Close returns ErrNoSpace and the store stays open. Close it again when there is room. Even
// without that, all commits are on disk. If the directory was moved, Close returns ErrMoved and closes the store
// without writing.
func (s *Store) Close() error {
	if s.bulkOpen.Load() {
		return fmt.Errorf("%s: %w: a Bulk is open, end it with Commit or Abort", s.name, ErrBusy)
	}
	s.writer.Lock()
	defer s.writer.Unlock()
	s.commitGroup()
	stopped := s.stopFold()
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	if s.db.Written() && !errors.Is(s.db.Failed(), ErrMoved) {
		if err := s.db.Closable(0); err != nil {
			s.mu.Unlock()
			return fmt.Errorf("closing: %w", err)
		}
	}
	s.closed = true
	s.mu.Unlock()
	began := time.Now()
	s.endSnapshots()
	s.mu.Unlock()
	if stopped || s.db.FoldDue() {
		if err := s.fold(context.Background()); err != nil {
			s.log("tables could not be folded", time.Time{}, err)
		}
	}
	err := s.closeBadger()
	s.log("close", began, err)
	return err
}

// checkOpen returns ErrClosed if the store is closed.
func (s *Store) checkOpen() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fmt.Errorf("%s: %w", s.name, ErrClosed)
	}
	return nil
}

// abandon closes a store whose directory is to be removed. It does so also if Close cannot, as the disk has no room
// for what would be written or a Bulk is open; the directory is gone then, and Badger writes nothing there.
func (s *Store) abandon() (err error) {
	closing := s.Close()
	s.endSnapshots()
	open := !s.closed
	s.closed = true
	s.mu.Unlock()
	if !open {
		return closing
	}
	err = os.RemoveAll(s.dir)
	s.db.Abandon()
	return errors.Join(err, s.unlock())
}

// endSnapshots ends all snapshots and waits for their reads. It returns with s.mu locked, so that there is none.
func (s *Store) endSnapshots() {
	for s.mu.Lock(); len(s.txs) > 0; s.mu.Lock() {
		txs := slices.Collect(maps.Keys(s.txs))
		s.mu.Unlock()
		for _, tx := range txs {
			tx.end()
			<-tx.done
		}
	}
}

// closeBadger closes the database of openBadger, and leaves files that can be opened again.
func (s *Store) closeBadger() error {
	var decided error
	switch {
	case s.decided != nil:
		decided = s.decided.Close()
	case !s.synced && s.db.Failed() == nil && s.header.Version == formatVersion:
		if decided = s.renewDecisions(); decided == nil {
			decided = s.decided.Close()
		}
	}
	if decided != nil {
		s.db.Fail(decided) // so that it is not left as one that was closed
	}
	return errors.Join(s.db.Close(), s.unlock())
}

// Work gives the directory inside the store in which one long job at a time keeps what it has finished, so that it can
// go on after it was interrupted or killed. What is in it is the job's alone. It is no part of the store, and may be
// deleted while no process has the store open.
//
// Work waits until the job before is done, or returns the error of a context that ends first; ErrReadOnly if the store
// was opened so: other processes may be reading it. done, which is called once, lets the next job in. It removes an
// empty directory, other files stay.
func (s *Store) Work(ctx context.Context) (dir *scratch.Dir, done func() error, err error) {
	if s.opt.ReadOnly {
		return nil, nil, fmt.Errorf("%s: %w", s.name, ErrReadOnly)
	}
	if err := s.worker.LockContext(ctx); err != nil {
		return nil, nil, err
	}
	path := filepath.Join(s.dir, storedir.WorkName)
	if err = cmp.Or(s.checkOpen(), s.db.Failed()); err == nil {
		dir, err = scratch.Open(path)
	}
	if err != nil {
		s.worker.Unlock()
		return nil, nil, err
	}
	return dir, func() error {
		defer s.worker.Unlock()
		err := os.Remove(path)
		if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) { // it has files, or the job has removed it
			return nil
		}
		return err
	}, nil
}

// Scratch returns a directory for temporary arrays, which disappear with the process. It is in the directory of the
// store, or, if the store was opened read-only, in that of the system's temporary files. On a file system in memory, a
// tmpfs, the arrays take memory: TMPDIR names another directory.
func (s *Store) Scratch() *scratch.Dir {
	if s.opt.ReadOnly {
		return scratch.Temporary(os.TempDir())
	}
	return scratch.Temporary(s.dir)
}

// Finished is the directory that Work gives, for reading what jobs have kept there; nil if there is none.
func (s *Store) Finished() (*scratch.Dir, error) {
	path := filepath.Join(s.dir, storedir.WorkName)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return scratch.Existing(path), nil
}
