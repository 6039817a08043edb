package lsm

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/fb"
	badgeroptions "github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/pb"
	"github.com/dgraph-io/badger/v4/table"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// Badger merges tables in this order: it makes the tables that they become, each in a goroutine; it enters those in its
// manifest, in one change that takes out the tables it merged; it has reads see them; and it removes what it merged.
// Version 4.9.6 drops the error of a table that cannot be made (levelsController.subcompact defers Throttle.Done(err),
// which evaluates err while it is nil), and goes through the other steps without that table.
//
// Its log tells how many keys go into each table, before the table is made, and when a merge has ended. So the tables
// that a merge has made are compared with those that it was to make. If one is lacking the store has failed:
// nothing more is written, and nothing read, since what is missing would look as if it never was.
//
// The tables that go into a merge are kept by an iterator until that comparison. If it fails they are kept for good, and
// undoMerges, after the store is closed or before it is opened again, has the manifest name them once more. Their files
// alone say that this is to be done, so that a crash at any moment before the comparison leads there as well. Links to
// the files would not keep them: Badger cuts a file to no bytes before it removes it. A merge that begins while Badger
// closes is not kept: then nothing can be read any more, so there is no iterator.
//
// Merges are undone from the last on. So a merge that is complete keeps its tables until all that ran when it ended
// are compared too.

// A mergeGuard compares what merges make with what they should.
type mergeGuard struct {
	failure *writeFailure
	moves   atomic.Int64 // how often a memtable was closed, or a merge ended

	mu     sync.Mutex
	db     *badger.DB     // nil until it is opened
	reader *badger.Txn    // whose iterators keep tables; nil as long as db is
	merges map[int]*merge // that run, by Badger's number of who merges
	ended  []*merge       // complete, and kept for others that run
}

// A merge is one of Badger's, from the first table that it is about to make.
type merge struct {
	before map[uint64]bool             // the tables there were
	since  map[uint64]badger.TableInfo // the tables that came, by their numbers
	keys   []int                       // of each table to be made
	hold   *badger.Iterator            // keeps the tables that are merged; nil if they are not kept
	beside map[*merge]bool             // that ran when it ended, and still run
}

// see takes note of the tables that came since, and that it has not seen yet.
func (m *merge) see(tables []badger.TableInfo) {
	for _, info := range tables {
		if m.lacks(info.ID) {
			m.since[info.ID] = info
		}
	}
}

// lacks says whether a table is one that it has not seen yet.
func (m *merge) lacks(id uint64) bool {
	_, seen := m.since[id]
	return !seen && !m.before[id]
}

func newMergeGuard(failure *writeFailure) *mergeGuard {
	return &mergeGuard{failure: failure, merges: map[int]*merge{}}
}

// watch says which tables there are to look at, and to keep; nil while Badger opens.
func (g *mergeGuard) watch(db *badger.DB) {
	var reader *badger.Txn
	if db != nil {
		reader = db.NewTransactionAt(0, false)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.db, g.reader, g.ended = db, reader, nil
}

// makes is called before a merge makes a table of so many keys; with 0, it makes none. The tables that are merged are still
// where they were.
func (g *mergeGuard) makes(who, keys int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	m := g.merges[who]
	if m == nil {
		m = &merge{before: map[uint64]bool{}, since: map[uint64]badger.TableInfo{}}
		if g.db != nil {
			tables := g.tables()
			for _, info := range tables {
				m.before[info.ID] = true
			}
			// This merge may take tables away that another has just made, before that one is told to have ended.
			for _, other := range g.merges {
				other.see(tables)
			}
		}
		g.merges[who] = m
		g.keep(m)
	}
	if keys > 0 {
		m.keys = append(m.keys, keys)
	}
}

// tables are the tables there are, by the manifest. Those that a merge has not seen yet have their keys counted.
func (g *mergeGuard) tables() []badger.TableInfo {
	infos, err := g.named()
	if err != nil {
		return g.db.Tables()
	}
	return infos
}

func (g *mergeGuard) named() (infos []badger.TableInfo, err error) {
	manifest, err := openManifest(g.db.Opts().Dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, manifest.Close()) }()
	err = eachTable(manifest, g.isNew, func(id uint64, level uint8, index *fb.TableIndex) {
		info := badger.TableInfo{ID: id, Level: int(level)}
		if index != nil {
			info.KeyCount = index.KeyCount()
		}
		infos = append(infos, info)
	})
	return infos, err
}

// isNew says whether a merge that runs has not seen a table yet.
func (g *mergeGuard) isNew(id uint64) bool {
	for _, m := range g.merges {
		if m.lacks(id) {
			return true
		}
	}
	return false
}

// keep has a merge keep all tables there are, unless Badger is closing.
func (g *mergeGuard) keep(m *merge) {
	if g.reader == nil {
		return
	}
	defer func() {
		if recover() != nil {
			m.hold = nil
		}
	}()
	m.hold = g.reader.NewIterator(badger.IteratorOptions{})
}

// release gives up the tables that a merge keeps.
func (g *mergeGuard) release(m *merge) {
	if m.hold != nil {
		m.hold.Close()
	}
}

// done is called after a merge of a level has made its tables, and reads see them.
func (g *mergeGuard) done(who, level int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	m := g.merges[who]
	if m == nil || g.db == nil {
		delete(g.merges, who)
		return
	}
	m.see(g.tables()) // which need it among the merges
	delete(g.merges, who)
	if keys := m.lacking(level); keys > 0 && m.hold != nil {
		g.failure.lose(fmt.Errorf("a table of %d keys could not be made of those it was merged from, which are kept", keys))
	} else if keys > 0 {
		g.failure.lose(fmt.Errorf("%w: a table of %d keys could not be made of those it was merged from, which are removed",
			record.ErrCorrupt, keys))
	}
	if g.failure.err() != nil {
		return // all that is kept now is kept for good
	}
	m.beside = map[*merge]bool{}
	for _, other := range g.merges {
		m.beside[other] = true
	}
	g.ended = append(g.ended, m)
	g.ended = slices.DeleteFunc(g.ended, func(ended *merge) bool {
		delete(ended.beside, m)
		if len(ended.beside) == 0 {
			g.release(ended)
		}
		return len(ended.beside) == 0
	})
}

// failed is called after a merge has ended without effect, and the store has failed.
func (g *mergeGuard) failed(who int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.merges, who)
}

// lacking returns the keys of the first table that is not among those that came since; 0 if there is none. A merge of
// level 0 makes tables of that level, or of a lower one, all of them; other merges and memtables make tables meanwhile.
func (m *merge) lacking(level int) int {
	var first, lower []int // by their keys; first are those of level 0
	for _, info := range m.since {
		if info.Level == 0 {
			first = append(first, int(info.KeyCount))
		} else {
			lower = append(lower, int(info.KeyCount))
		}
	}
	if level == 0 && notAmong(m.keys, first) == 0 {
		return 0
	}
	return notAmong(m.keys, lower)
}

// notAmong returns the first of keys that is not in tables, each of which counts once; 0 if there is none. It changes tables.
func notAmong(keys, tables []int) int {
	for _, n := range keys {
		at := slices.Index(tables, n)
		if at < 0 {
			return n
		}
		tables = slices.Delete(tables, at, at+1)
	}
	return 0
}

// Flatten merges all tables into one level. After an error the store has failed, or is as it was. The caller holds the
// writer's lock.
func (d *DB) Flatten() error {
	d.committed(0)
	done := make(chan error, 1)
	go func() { done <- wrapBadger(d.db.Flatten(1)) }()
	select {
	case err := <-done:
		return cmp.Or(d.failure.err(), err)
	case <-d.failure.moved:
		return d.failure.err()
	}
}

// undoMerges has the manifest of a store that was not closed properly name the tables again that the last merges took
// out of it, if all of them are there: nobody found that the merges were complete. What the merges made is then
// named no more. Merges before one of which a table is gone were. The tables that memtables became meanwhile stay.
// Badger is closed.
func undoMerges(dir string) error {
	sets, err := readManifestChanges(dir)
	if err != nil {
		return err
	}
	end := len(sets)
	for i, set := range slices.Backward(sets) {
		if flushed(set) {
			continue
		}
		whole, err := mergedThere(dir, set)
		if err != nil {
			return err
		}
		if !whole {
			break
		}
		end = i
	}
	if end == len(sets) {
		return nil
	}
	var changes pb.ManifestChangeSet
	for i, set := range sets {
		if i < end || flushed(set) {
			changes.Changes = append(changes.Changes, set.Changes...)
		}
	}
	return writeManifest(dir, &changes)
}

// flushed says whether a change is about a memtable that became a table.
func flushed(set *pb.ManifestChangeSet) bool {
	return !slices.ContainsFunc(set.Changes, func(change *pb.ManifestChange) bool {
		return change.Op != pb.ManifestChange_CREATE || change.Level > 0
	})
}

// mergedThere says whether a change is that of a merge, and all that was merged is there and whole.
func mergedThere(dir string, set *pb.ManifestChangeSet) (bool, error) {
	sources := 0
	for _, change := range set.Changes {
		if change.Op != pb.ManifestChange_DELETE {
			continue
		}
		sources++
		path := table.NewFilename(change.Id, dir)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if _, err := checkTable(path, badgeroptions.None); errors.Is(err, record.ErrCorrupt) {
			return false, nil
		} else if err != nil {
			return false, err
		}
	}
	return sources > 0, nil
}
