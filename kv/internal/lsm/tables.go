package lsm

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/pb"
	"github.com/dgraph-io/badger/v4/table"
	"google.golang.org/protobuf/proto"

	"github.com/graphcleaner/graphcleaner/internal/crc32c"
	"github.com/graphcleaner/graphcleaner/internal/durable"
	"github.com/graphcleaner/graphcleaner/kv/internal/pack"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A Tables writes the records of a load as tables of Badger's last level, each byte once: there is no log, and
// nothing to merge. The keys of a stream, which is a generation of one kind, and of a matrix one tile of it, ascend.
// Tables hold records of one stream, or all records of several of one kind: generations of that are newer later, so that
// tables do not overlap, whatever is written later.
//
// The tables are files of other names until DB.Attach makes Badger know them. One goroutine.
type Tables struct {
	dir     string
	most    int64  // bytes at which a table ends
	tables  int    // begun
	record  []byte // scratch
	Newest  uint64 // version that tables say they have, at least
	streams map[tableStream]*pack.Writer
	full    map[tableStream]bool // have a table that ended as it was full
	ended   []*pack.Writer       // in the order of their end

	syncs   sync.WaitGroup
	syncing chan struct{} // holds a token of each that runs
	mu      sync.Mutex    // guards failure
	failure error         // of a sync
}

// A tableStream is how the keys of a stream begin.
type tableStream [9]byte

const (
	// tableBytes is the size of a table: large enough that few are to be synced and opened.
	tableBytes = 16 << 20

	// tableSyncs is how many tables are made durable while others are written.
	tableSyncs = 2
)

// firstVersion is the version of what a load writes: the first that Badger gives, which every snapshot sees.
const firstVersion = 1

// NewTables begins tables for a database.
func (d *DB) NewTables() *Tables {
	return &Tables{
		dir: d.dir, most: tableBytes, Newest: firstVersion, streams: map[tableStream]*pack.Writer{},
		full: map[tableStream]bool{}, syncing: make(chan struct{}, tableSyncs),
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

// Put adds the record of a body. The caller may reuse key and body.
func (b *Tables) Put(key, body []byte) error { return b.wrap(b.add(key, body)) }

func (b *Tables) add(key, body []byte) error {
	b.record = record.Append(b.record[:0], key, body)
	return b.addRecord(streamOf(key), key, b.record, firstVersion)
}

// addRecord adds a record of a version to the table of a stream.
func (b *Tables) addRecord(name tableStream, key, record []byte, version uint64) error {
	t := b.streams[name]
	if t == nil {
		b.tables++
		t = pack.NewWriter(filepath.Join(b.dir, fmt.Sprintf("spill-table-%d.tmp", b.tables)))
		t.Newest = b.Newest
		b.streams[name] = t
	}
	if err := t.Add(key, record, version); err != nil {
		return err
	}
	if t.Bytes() < b.most {
		return nil
	}
	b.full[name] = true
	return b.end(name)
}

// AddInOrder adds a record of a version. The keys of all records of the batch ascend.
func (b *Tables) AddInOrder(key, record []byte, version uint64) error {
	return b.wrap(b.addRecord(tableStream{}, key, record, version))
}

// wrap says what was to be written.
func (b *Tables) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("writing tables: %w", wrapBadger(err))
}

// end ends the table of a stream, and has it made durable.
func (b *Tables) end(name tableStream) error {
	t := b.streams[name]
	delete(b.streams, name)
	b.ended = append(b.ended, t)
	if err := t.End(); err != nil {
		return err
	}
	b.mu.Lock()
	err := b.failure
	b.mu.Unlock()
	if err != nil {
		return err
	}
	b.syncing <- struct{}{}
	b.syncs.Go(func() {
		defer func() { <-b.syncing }()
		if err := t.Sync(); err != nil {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.failure = cmp.Or(b.failure, err)
		}
	})
	return nil
}

// Flush ends all tables, and returns once they are durable.
func (b *Tables) Flush() error {
	names := make([]tableStream, 0, len(b.streams))
	for name := range b.streams {
		names = append(names, name)
	}
	slices.SortFunc(names, func(x, y tableStream) int { return slices.Compare(x[:], y[:]) })
	names, err := b.joinSmall(names)
	if err != nil {
		return b.wrap(err)
	}
	for _, name := range names {
		if err := b.end(name); err != nil {
			return b.wrap(err)
		}
	}
	b.syncs.Wait()
	return b.wrap(b.failure)
}

// joinSmall adds the records of streams that have no file yet to the table of the stream before, where it can. So many small
// columns are one file, which is synced once. It returns the streams, of those that names has ascending, that have a table.
func (b *Tables) joinSmall(names []tableStream) (left []tableStream, err error) {
	for _, name := range names {
		t := b.streams[name]
		if err := t.EndBlock(); err != nil { // which may make the file
			return nil, err
		}
		if len(left) == 0 || t.HasFile() || b.full[name] {
			left = append(left, name)
			continue
		}
		before := left[len(left)-1]
		to := b.streams[before]
		if before[0] != name[0] || to.Bytes()+t.Bytes() > b.most || b.fullBetween(before, name) {
			left = append(left, name)
			continue
		}
		if err := to.Join(t); err != nil {
			return nil, err
		}
		delete(b.streams, name)
	}
	return left, nil
}

// fullBetween says whether a stream between two others has a table that was full.
func (b *Tables) fullBetween(x, y tableStream) bool {
	for name := range b.full {
		if slices.Compare(x[:], name[:]) < 0 && slices.Compare(name[:], y[:]) < 0 {
			return true
		}
	}
	return false
}

// Cancel removes the tables that Badger does not know.
func (b *Tables) Cancel() (err error) {
	b.syncs.Wait()
	for _, t := range b.streams {
		b.ended = append(b.ended, t)
	}
	clear(b.streams)
	for _, t := range b.ended {
		err = errors.Join(err, t.Remove())
	}
	b.ended = nil
	return err
}

// Attach makes a flushed Tables part of the database, which it opens anew; open says whether it is open then. Nobody may
// use the database meanwhile, and there is no transaction.
func (d *DB) Attach(b *Tables) (open bool, err error) {
	opt := d.db.Opts()
	if err := errors.Join(wrapBadger(d.db.Close()), d.failure.err()); err != nil {
		return false, err
	}
	err = b.install(d.dir)
	last, reading := lastVersion(d.dir)
	err = errors.Join(err, reading)
	d.merges.watch(nil)
	db, opening := badger.OpenManaged(opt)
	if opening != nil {
		return false, errors.Join(err, wrapBadger(opening))
	}
	d.db = db
	d.merges.watch(db)
	d.output.Store(0)
	d.versions.last = last
	d.logs, d.tree = logCount{}, tree{}
	return true, err
}

// Empty says whether it has no table that attach is to make part of a database.
func (b *Tables) Empty() bool { return len(b.ended) == 0 }

// install gives the tables the names that Badger knows them by, and enters them in its manifest. Badger is closed.
func (b *Tables) install(dir string) error {
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
		if err := os.Rename(t.Path(), table.NewFilename(next, dir)); err != nil {
			return err
		}
		changes.Changes = append(changes.Changes, &pb.ManifestChange{
			Id: next, Op: pb.ManifestChange_CREATE, Level: lastLevel,
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
	record = binary.BigEndian.AppendUint32(record, crc32c.Of(body))
	if _, err := f.Write(append(record, body...)); err != nil {
		return wrapBadger(err)
	}
	return f.Sync()
}
