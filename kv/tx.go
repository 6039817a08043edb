package kv

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/graphcleaner/graphcleaner/kv/internal/changes"
	"github.com/graphcleaner/graphcleaner/kv/internal/decisions"
	"github.com/graphcleaner/graphcleaner/kv/internal/dict"
	"github.com/graphcleaner/graphcleaner/kv/internal/graph"
	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/snapshot"
)

// A Tx sees the store as it was when it began, and in an Update what it wrote itself. A Tx of View and Begin may be
// used by many goroutines at once, one of Update by the closure's only.
type Tx struct {
	s   *Store
	txn *lsm.Txn
	cat *catalog // shared with other snapshots, a clone once changed, a copy once counted
	err error    // why the snapshot could not begin

	write   bool
	changed bool  // the catalogue is a clone, and to be written
	counted bool  // only the counts of the catalogue are a copy, and to be written
	failed  error // a write failed half-way: the transaction must not commit

	group *commitGroup // in which it wrote or waits; nil for none

	numbered bool   // it is a commit with a number
	renews   bool   // decisions.log is to be written anew
	last     uint64 // the number of the last commit, itself if it has one
	result   error  // of the commit

	entries     []decisions.Entry // for decisions.log
	writes      int               // counts writes, so that readers inside an Update notice them
	nodesBefore int               // before the first write
	touched     changes.Sets      // of the writes
	removes     bool              // it has removed nodes

	mu     sync.Mutex
	active int  // reads under way
	ended  bool // no new reads
	done   chan struct{}

	structures *structures // of a snapshot whose catalogue does not change, else nil

	removed atomic.Pointer[removedSet] // nil until somebody asks

	cache   *snapshot.Cache // of the store
	cursors cursors
}

// structures are the adjacency and the dictionary of a snapshot. A snapshot makes them once, so that a lookup copies
// neither.
type structures struct {
	graph graph.Graph
	dict  dict.Dict
}

// begin starts a transaction. A writing one is begun by who holds the writer's lock.
func (s *Store) begin(write bool) *Tx {
	tx := s.beginBare(write, nil)
	if tx.err == nil {
		tx.err = tx.start()
	}
	return tx
}

// emptyCatalog is that of transactions that have read none. It does not change.
var emptyCatalog = newCatalog()

// beginBare is begin without the catalogue, or goes on with what a group has written.
func (s *Store) beginBare(write bool, g *commitGroup) *Tx {
	tx := &Tx{s: s, write: write, cat: emptyCatalog, cache: s.cache, done: make(chan struct{})}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		tx.err = fmt.Errorf("%s: %w", s.name, ErrClosed)
		tx.ended = true
		close(tx.done)
		return tx
	}
	s.txs[tx] = struct{}{}
	if g != nil {
		tx.group, tx.txn, tx.cat, tx.nodesBefore = g, g.txn, g.cat, g.cat.Nodes
	} else {
		tx.txn = s.db.Begin(write)
	}
	if tx.last = tx.txn.ReadVersion(); write {
		tx.last = s.commits
	}
	s.mu.Unlock()
	return tx
}

// start reads the catalogue, which a Close waits for.
func (tx *Tx) start() error {
	if err := tx.acquire(); err != nil {
		return err
	}
	defer tx.release()
	return tx.loadCatalog()
}

// loadCatalog reads of the catalogue and its counts what others have not read.
func (tx *Tx) loadCatalog() error {
	version, err := tx.versionOf(record.PartKey(catalogKey(), 0))
	if err != nil {
		return err
	}
	countsVersion, err := tx.versionOf(countsKey())
	if err != nil {
		return err
	}
	c := tx.s.latest.Load()
	if c == nil || c.version != version {
		if c, err = tx.uncountedCatalog(); err != nil {
			return err
		}
	}
	if c.countsVersion != countsVersion {
		err := tx.records().Get(countsKey(), func(body []byte) (err error) {
			c, err = c.withCounts(body)
			return err
		})
		if err != nil {
			return err
		}
		c.countsVersion = countsVersion
		tx.s.latest.Store(c)
	}
	tx.cat, tx.nodesBefore = c, c.Nodes
	if !tx.write {
		tx.structures = &structures{tx.newGraph(), tx.newDict()}
	}
	return nil
}

// uncountedCatalog reads the catalogue except for the counts.
func (tx *Tx) uncountedCatalog() (c *catalog, err error) {
	version, err := tx.versionOf(record.PartKey(catalogKey(), 0))
	if err != nil {
		return nil, err
	}
	err = snapshot.Chain(tx.records(), catalogKey(), func(body []byte) (err error) {
		if c, err = decodeCatalog(body); err == nil {
			c.version = version
		}
		return err
	})
	return c, err
}

// versionOf is the version of a record that every store has.
func (tx *Tx) versionOf(key []byte) (version uint64, err error) {
	if _, version, err = tx.txn.Get(key); errors.Is(err, ErrNotFound) {
		err = record.Corrupt(key, "it is missing")
	}
	return version, err
}

// Close ends a snapshot of Begin. Reads under way on other goroutines end first; later ones return ErrClosed.
func (tx *Tx) Close() { tx.end() }

func (tx *Tx) end() {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if tx.ended {
		return
	}
	tx.ended = true
	if tx.active == 0 {
		tx.discard()
	}
}

// discard gives the snapshot back to Badger, unless a group goes on with it. The caller holds tx.mu, and no read is
// under way.
func (tx *Tx) discard() {
	if tx.group == nil {
		tx.txn.Discard()
	}
	tx.s.mu.Lock()
	delete(tx.s.txs, tx)
	tx.s.mu.Unlock()
	close(tx.done)
}

// acquire announces a read, which must end with release.
func (tx *Tx) acquire() error {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if err := tx.usable(); err != nil {
		return err
	}
	tx.active++
	return nil
}

// Err is nil while the transaction can be used, and ErrClosed after it or its store was closed. If the transaction
// could not begin, Err is the reason. While Err is not nil, do not use the results of methods without an error, such
// as NumNodes.
func (tx *Tx) Err() error {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	return tx.usable()
}

func (tx *Tx) usable() error {
	switch {
	case tx.err != nil:
		return tx.err
	case tx.ended:
		return fmt.Errorf("transaction: %w", ErrClosed)
	}
	if err := tx.s.db.ReadFailed(); err != nil || tx.s.opt.OnRead == nil {
		return err
	}
	return tx.s.opt.OnRead()
}

func (tx *Tx) release() {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	tx.active--
	if tx.active == 0 && tx.ended {
		tx.discard()
	}
}

// NumNodes is the number of NodeIDs, n: that of the nodes which are there, see Shape, and of those that were removed.
func (tx *Tx) NumNodes() int { return tx.cat.Nodes }

// A Shape is the kind of the graph of a snapshot.
type Shape struct {
	Present int   // nodes that are there: NumNodes without those that were removed
	Edges   int64 // undirected ones, each counted once
	Arcs    int64 // of a directed graph; of an undirected one each edge is two

	Directed, Weighted bool
	IntegerIDs         bool // every external id is an integer in its shortest form; so in an empty store
}

// Shape is the kind of the graph.
func (tx *Tx) Shape() Shape {
	c := tx.cat
	return Shape{c.Nodes - c.Removed, c.Edges, c.numArcs(), c.Directed, c.Weighted, c.IntegerIDs}
}

// Classes are the names by Class number; the caller must not change the slice. The bulk load numbers them in the order
// of namelist.Sorted; classes first used later follow.
func (tx *Tx) Classes() []string { return tx.cat.Classes }

// writable returns nil in an Update that is not over.
func (tx *Tx) writable() error {
	if err := tx.Err(); err != nil {
		return err
	}
	if !tx.write {
		return fmt.Errorf("transaction: %w: write in Update", ErrReadOnly)
	}
	return nil
}

// change returns the catalogue to change, which is then written with the transaction, with all its names. Who has
// nothing to change in it does not ask for it.
func (tx *Tx) change() (*catalog, error) {
	if err := tx.writable(); err != nil {
		return nil, err
	}
	if !tx.changed {
		tx.cat = tx.cat.clone()
		tx.cat.Next = max(tx.cat.Next, tx.s.unused)
		tx.changed = true
	}
	tx.writes++
	return tx.cat, nil
}

// count returns the counts to change, which are then written with the transaction. What change changes is theirs too.
func (tx *Tx) count() (*counts, error) {
	if err := tx.writable(); err != nil {
		return nil, err
	}
	if !tx.changed && !tx.counted {
		c := *tx.cat
		tx.cat = &c
		tx.counted = true
	}
	tx.writes++
	return &tx.cat.counts, nil
}

// put writes the record of a body under key, which the transaction keeps.
func (tx *Tx) put(key, body []byte) error {
	if err := tx.writable(); err != nil {
		return err
	}
	value := record.Encode(key, body)
	tx.entries = append(tx.entries, decisions.Entry{Key: key, Value: value})
	return tx.wrote(tx.txn.Set(key, value))
}

// remove deletes a key, which the transaction keeps.
func (tx *Tx) remove(key []byte) error {
	if err := tx.writable(); err != nil {
		return err
	}
	tx.entries = append(tx.entries, decisions.Entry{Key: key})
	return tx.wrote(tx.txn.Set(key, nil))
}

// wrote notes a write. After one that failed the transaction cannot commit: part of a change may be in it.
func (tx *Tx) wrote(err error) error {
	tx.writes++
	return tx.fail(err)
}

// fail keeps the first error that makes the transaction unfit to commit, and returns err.
func (tx *Tx) fail(err error) error {
	if tx.failed == nil {
		tx.failed = err
	}
	return err
}

// commit makes everything durable, and visible. The caller holds the writer's lock, and nobody waits in a group.
func (tx *Tx) commit() error {
	if err := tx.prepare(); err != nil {
		return err
	}
	tx.s.commit(tx.txn, tx)
	return tx.result
}

// prepare writes the catalogue and the changes, makes sure of room on the disk, and numbers the transaction. Its
// commit is sure to follow.
func (tx *Tx) prepare() error {
	if tx.failed != nil {
		return fmt.Errorf("nothing is written: %w", tx.failed)
	}
	if err := tx.writeCatalog(); err != nil {
		return err
	}
	if tx.hasDecisions() {
		if err := tx.put(decidedKey(), nil); err != nil {
			return err
		}
	}
	if err := tx.putChanges(); err != nil {
		return err
	}
	if err := tx.txn.MakeRoom(); err != nil {
		return fmt.Errorf("nothing is written: %w", err)
	}
	if len(tx.entries) > 0 { // else it changes nothing
		tx.s.commits++
		tx.numbered = true
	}
	tx.last = tx.s.commits
	return nil
}

// writeCatalog writes the changes of the catalogue.
func (tx *Tx) writeCatalog() error {
	if tx.changed {
		body, err := msgpack.Marshal(tx.cat)
		if err != nil {
			return err
		}
		if err := tx.checkCatalog(len(body)); err != nil {
			return err
		}
		if err := snapshot.PutChain(tx.records(), catalogKey(), body); err != nil {
			return err
		}
	}
	if !tx.changed && !tx.counted {
		return nil
	}
	body, err := msgpack.Marshal(tx.cat.counts)
	if err != nil {
		return err
	}
	return tx.put(countsKey(), body)
}
