package kv

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/pb"
	"github.com/dgraph-io/badger/v4/table"
	"google.golang.org/protobuf/proto"

	"github.com/graphcleaner/graphcleaner/internal/durable"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A recordWriter takes the records of a bulk write, whose generations no catalogue names yet.
type recordWriter interface {
	// put writes the record of a body. The writer keeps key; body is the caller's again.
	put(key, body []byte) error

	// flush returns once all is written.
	flush() error

	// cancel gives up what is not written; after flush it does nothing.
	cancel() error
}

// A tableBatch writes the records of a load as tables of Badger's last level, each byte once: there is no log, and
// nothing to merge. The keys of a stream, which is a generation of one kind, and of a matrix one tile of it, ascend;
// tables hold records of one stream, so that they do not overlap, whatever is written later.
//
// The tables are files of other names until Store.attach makes Badger know them. One goroutine.
type tableBatch struct {
	dir     string
	opt     badger.Options
	most    int64  // bytes at which a table ends
	begun   int    // tables
	record  []byte // scratch
	newest  uint64 // version that tables say they have, at least
	streams map[tableStream]*tableWriter
	ended   []*tableWriter // in the order of their end

	syncs   sync.WaitGroup
	syncing chan struct{} // holds a token of each that runs
	mu      sync.Mutex    // guards failed
	failed  error         // of a sync
}

// A tableStream is how the keys of a stream begin.
type tableStream [9]byte

const (
	// tableBytes is the size of a table: large enough that few are to be synced and opened.
	tableBytes = 16 << 20

	// tableSyncs is how many tables are made durable while others are written.
	tableSyncs = 2
)

func newTableBatch(s *Store) *tableBatch {
	return &tableBatch{
		dir: s.dir, opt: s.db.Opts(), most: tableBytes, newest: tableVersion, streams: map[tableStream]*tableWriter{},
		syncing: make(chan struct{}, tableSyncs),
	}
}

func streamOf(key []byte) (s tableStream) {
	const generational, tiled = 5, 9
	n := generational
	if record.Kind(key[0]) == record.KindMatrix {
		n = tiled
	}
	copy(s[:], key[:n])
	return s
}

func (b *tableBatch) put(key, body []byte) error { return b.wrap(b.add(key, body)) }

func (b *tableBatch) add(key, body []byte) error {
	b.record = record.Append(b.record[:0], key, body)
	return b.addRecord(streamOf(key), key, b.record, tableVersion)
}

// addRecord adds a record of a version to the table of a stream.
func (b *tableBatch) addRecord(name tableStream, key, record []byte, version uint64) (err error) {
	t := b.streams[name]
	if t == nil {
		b.begun++
		if t, err = newTableWriter(filepath.Join(b.dir, fmt.Sprintf("spill-table-%d.tmp", b.begun))); err != nil {
			return err
		}
		t.newest = b.newest
		b.streams[name] = t
	}
	if err := t.add(key, record, version, b.opt); err != nil {
		return err
	}
	if t.bytes() < b.most {
		return nil
	}
	return b.end(name)
}

// wrap says what was to be written.
func (b *tableBatch) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("writing tables: %w", wrapBadger(err))
}

// end ends the table of a stream, and has it made durable.
func (b *tableBatch) end(name tableStream) error {
	t := b.streams[name]
	delete(b.streams, name)
	b.ended = append(b.ended, t)
	if err := t.end(b.opt); err != nil {
		return err
	}
	b.mu.Lock()
	err := b.failed
	b.mu.Unlock()
	if err != nil {
		return err
	}
	b.syncing <- struct{}{}
	b.syncs.Go(func() {
		defer func() { <-b.syncing }()
		if err := t.sync(); err != nil {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.failed = cmp.Or(b.failed, err)
		}
	})
	return nil
}

func (b *tableBatch) flush() error {
	names := make([]tableStream, 0, len(b.streams))
	for name := range b.streams {
		names = append(names, name)
	}
	slices.SortFunc(names, func(x, y tableStream) int { return slices.Compare(x[:], y[:]) })
	for _, name := range names {
		if err := b.end(name); err != nil {
			return b.wrap(err)
		}
	}
	b.syncs.Wait()
	return b.wrap(b.failed)
}

// cancel removes the tables that Badger does not know.
func (b *tableBatch) cancel() (err error) {
	b.syncs.Wait()
	for _, t := range b.streams {
		b.ended = append(b.ended, t)
	}
	clear(b.streams)
	for _, t := range b.ended {
		err = errors.Join(err, t.remove())
	}
	b.ended = nil
	return err
}

// attach makes a flushed tableBatch part of the store, which it opens anew. It ends all snapshots, and waits for their
// reads; who begins one meanwhile waits for it. The caller holds the writer's lock, or is the only one who knows the store.
// Where Badger cannot be opened again the store is closed.
func (s *Store) attach(b *tableBatch) error {
	if len(b.ended) == 0 {
		return nil
	}
	if err := s.closable(spareRoom); err != nil {
		return err
	}
	s.endSnapshots()
	defer s.mu.Unlock()
	opt := s.db.Opts()
	if err := errors.Join(wrapBadger(s.db.Close()), s.failure.err()); err != nil {
		s.closed = true
		return errors.Join(err, s.unlock())
	}
	err := b.install(s.dir)
	s.merges.watch(nil)
	db, opening := badger.Open(opt)
	if opening != nil {
		s.closed = true
		return errors.Join(err, wrapBadger(opening), s.unlock())
	}
	s.db = db
	s.merges.watch(db)
	s.written.Store(0)
	s.logs = logCount{}
	return err
}

// install gives the tables the names that Badger knows them by, and enters them in its manifest. Badger is closed.
func (b *tableBatch) install(dir string) error {
	manifest, cut, err := readManifest(dir)
	if err := cmp.Or(err, cut); err != nil {
		return err
	}
	next := uint64(0)
	for number := range manifest.Tables {
		next = max(next, number)
	}
	var changes pb.ManifestChangeSet
	for _, t := range b.ended {
		next++
		if err := os.Rename(t.file.Name(), table.NewFilename(next, dir)); err != nil {
			return err
		}
		changes.Changes = append(changes.Changes, &pb.ManifestChange{
			Id: next, Op: pb.ManifestChange_CREATE, Level: uint32(b.opt.MaxLevels - 1),
		})
	}
	b.ended = nil
	if err := durable.SyncDirectory(dir); err != nil {
		return err
	}
	return appendManifest(dir, &changes)
}

// appendManifest adds a record to Badger's manifest:
//
//	length    uint32  big-endian
//	checksum  uint32  CRC-32C of what follows
//	a pb.ManifestChangeSet
func appendManifest(dir string, changes *pb.ManifestChangeSet) (err error) {
	body, err := proto.Marshal(changes)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, badger.ManifestFilename), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	record := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	record = binary.BigEndian.AppendUint32(record, crc32.Checksum(body, castagnoli))
	if _, err := f.Write(append(record, body...)); err != nil {
		return wrapBadger(err)
	}
	return f.Sync()
}
