package lsm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/pb"
	"github.com/dgraph-io/badger/v4/table"
	"google.golang.org/protobuf/proto"

	"github.com/graphcleaner/graphcleaner/internal/crc32c"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// Badger writes tables in the background, and if that fails it tells only its log: a memtable that cannot become a
// table it tries again for ever, Close waits for it, and what it had put into the manifest about the table stays there.
// So the first such failure ends the writing. The store refuses more (ErrFailed), reads go on, and Close leaves
// a store that was not closed properly: what was committed is in the logs, and the manifest names the tables that are
// there. Opening it again for writing goes on from that.

// Badger makes, renames and removes files by their paths. If the path of the directory leads to another one by now,
// these files would be those of another store. That is a failure too (ErrMoved), and Close does not even close Badger.

// A writeFailure is the first write in the background that failed; nil inside as long as none did.
type writeFailure struct {
	disk    storedir.Disk
	flushes atomic.Int64 // memtables that were closed to become tables
	first   atomic.Pointer[error]
	loss    atomic.Pointer[error] // if tables that hold records cannot be read
}

func (f *writeFailure) set(err error) { f.first.CompareAndSwap(nil, &err) }

// lose is set for a failure after which reads would not find everything.
func (f *writeFailure) lose(err error) {
	f.set(err)
	f.loss.CompareAndSwap(nil, &err)
}

// readErr is an ErrFailed if reads would not find everything.
func (f *writeFailure) readErr() error {
	if err := f.loss.Load(); err != nil {
		return fmt.Errorf("%w: %w", ErrFailed, *err)
	}
	return nil
}

// err is an ErrFailed if a write failed, and an ErrMoved if the directory was moved before one did.
func (f *writeFailure) err() error {
	if f.first.Load() == nil {
		if err := f.disk.CheckPlace(); err != nil {
			f.set(err)
		}
	}
	err := f.first.Load()
	switch {
	case err == nil:
		return nil
	case errors.Is(*err, storedir.ErrMoved):
		return *err
	}
	return fmt.Errorf("%w: %w", ErrFailed, *err)
}

// isMoved reports whether the directory was moved before a write failed.
func (f *writeFailure) isMoved() bool { return errors.Is(f.err(), storedir.ErrMoved) }

// A watchedLog learns from what Badger logs which writes failed, and hands it on.
type watchedLog struct {
	next    badger.Logger // nil if nobody listens
	failure *writeFailure
}

// What Badger logs of writes that failed, and of memtables, begins so; tests with failing writes hold it to that.
const (
	commitFailed = "writeRequests:"
	flushFailed  = "error flushing memtable to disk"
	flushBegins  = "Flushing memtable"
)

// Errorf takes note of a transaction of which nobody knows how much is on disk, and ends the goroutine that flushes
// memtables if it would try for ever; Badger has it end like any other.
func (l watchedLog) Errorf(format string, args ...any) {
	if l.next != nil {
		l.next.Errorf(format, args...)
	}
	switch {
	case strings.HasPrefix(format, commitFailed):
		l.failure.set(firstError(args))
	case strings.HasPrefix(format, flushFailed):
		l.failure.set(firstError(args))
		runtime.Goexit()
	}
}

func (l watchedLog) Warningf(format string, args ...any) {
	if l.next != nil {
		l.next.Warningf(format, args...)
	}
}

func (l watchedLog) Infof(format string, args ...any) {
	if l.next != nil {
		l.next.Infof(format, args...)
	}
}

// Debugf counts the memtables that are closed.
func (l watchedLog) Debugf(format string, args ...any) {
	if l.next != nil {
		l.next.Debugf(format, args...)
	}
	if strings.HasPrefix(format, flushBegins) {
		l.failure.flushes.Add(1)
	}
}

// firstError is the error among the arguments of a message.
func firstError(args []any) error {
	for _, arg := range args {
		if err, ok := arg.(error); ok {
			return err
		}
	}
	return errors.New("a table was not written")
}

const (
	// mostLogs is how many memtables there may be when another transaction is handed to Badger: the one that is written
	// to, one that is flushed, and one that waits. So there is always room for the last, where Close puts it.
	mostLogs = 3

	// flushWait is between two looks at whether there are fewer.
	flushWait = 2 * time.Millisecond

	// pinnedAfter is how long a log may stay before it is taken to be one that a reader keeps: Badger removes the log of a
	// memtable that is flushed once no iterator looks at it.
	pinnedAfter = time.Second
)

// awaitFlush waits until Badger can take another transaction, or returns an ErrFailed. It does not wait for readers: one
// that keeps a memtable delays writing by pinnedAfter for each. The caller holds the writer's lock.
func (d *DB) awaitFlush() error {
	if err := d.failure.err(); err != nil || d.logs.enough(d.output.Load(), d.db.Opts().MemTableSize) {
		return err
	}
	for began := time.Now(); ; {
		if err := d.failure.err(); err != nil {
			return err
		}
		if err := d.countLogs(); err != nil {
			return err
		}
		if d.logs.count < mostLogs || !d.reading() {
			d.pinned = 0
			began = time.Now() // Badger is waited for, however long it takes
		}
		if d.logs.count < mostLogs+d.pinned {
			return nil
		}
		if time.Since(began) > pinnedAfter {
			d.pinned = d.logs.count - mostLogs + 1
			return nil
		}
		time.Sleep(flushWait)
	}
}

// A logCount is what was found when the logs of memtables were last looked at. It saves most commits from listing the
// directory.
type logCount struct {
	count  int   // 0 before the first look
	bytes  int64 // that they took on disk
	output int64 // DB.output then
}

// recount is the part of a memtable, one in so many, that may be written until the logs are looked at again. Less than
// a memtable adds one log at most.
const recount = 8

// enough says whether there are certainly few logs, after so many bytes were written in all.
func (c logCount) enough(output, memTable int64) bool {
	since := output - c.output
	return c.count > 0 && c.count+1 < mostLogs && since >= 0 && since < memTable/recount
}

// countLogs looks at the logs. The caller holds the writer's lock.
func (d *DB) countLogs() error {
	output := d.output.Load()
	count, bytes, err := logUse(d.dir)
	if err == nil {
		d.logs = logCount{count, bytes, output}
	}
	return err
}

// Close closes Badger. If a write failed the manifest is made to name the tables that are there; and if there are
// others, which were not finished or could not be removed, the store is left as one that crashed, so that the next open for
// writing removes them. If the directory was moved, all stays as it is, and what Badger has in memory too: closing Badger
// would make tables, and remove logs, by their paths.
func (d *DB) Close() (crashed bool, err error) {
	if d.tables != nil {
		return false, d.closeTables()
	}
	if d.failure.isMoved() {
		return true, errors.Join(d.failure.err(), d.disk.Close())
	}
	err = wrapBadger(d.db.Close())
	if d.readOnly {
		return false, err
	}
	err = errors.Join(err, d.disk.Close())
	failure := d.failure.err()
	if errors.Is(failure, storedir.ErrMoved) {
		return true, failure
	}
	if failure != nil {
		failure = errors.Join(fmt.Errorf("%s: %w", d.dir, failure), reviseManifest(d.dir))
	}
	ids, unknown, listing := d.packs.ids()
	err = errors.Join(err, listing, d.packs.close())
	unnamed, reading := hasUnnamedTables(d.dir)
	crashed = failure != nil || unnamed || unknown
	if !crashed {
		reading = errors.Join(reading, showPacks(d.dir, ids))
		crashed = reading != nil
	}
	if crashed {
		reading = errors.Join(reading, os.WriteFile(filepath.Join(d.dir, storedir.LockFile), nil, 0o600))
	}
	return crashed, errors.Join(failure, err, reading)
}

// hasUnnamedTables says whether there are tables that the manifest does not name, or its last change is cut off.
func hasUnnamedTables(dir string) (bool, error) {
	manifest, cut, err := readManifest(dir)
	if err != nil || cut != nil {
		return cut != nil, err
	}
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		if id, ok := table.ParseFileID(entry.Name()); ok {
			if _, named := manifest.Tables[id]; !named {
				return true, nil
			}
		}
	}
	return false, err
}

// reviseManifest leaves out of the manifest every change that made a table which is not there, and was not removed
// since: it was never carried out. Badger, which wrote it, is closed.
func reviseManifest(dir string) error {
	sets, err := readManifestChanges(dir)
	if err != nil {
		return err
	}
	removed := map[uint64]bool{}
	for _, set := range sets {
		for _, change := range set.Changes {
			removed[change.Id] = removed[change.Id] || change.Op == pb.ManifestChange_DELETE
		}
	}
	var changes pb.ManifestChangeSet
	whole := true
	for _, set := range sets {
		done, err := carriedOut(dir, set, removed)
		if err != nil {
			return err
		}
		if whole = whole && done; done {
			changes.Changes = append(changes.Changes, set.Changes...)
		}
	}
	if whole {
		return nil
	}
	return writeManifest(dir, &changes)
}

// readManifestChanges reads the whole changes of the manifest in dir.
func readManifestChanges(dir string) ([]*pb.ManifestChangeSet, error) {
	path := filepath.Join(dir, badger.ManifestFilename)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	sets, err := manifestChanges(text)
	if err != nil {
		return nil, record.CorruptFile(path, "%v", err)
	}
	return sets, nil
}

// writeManifest replaces the manifest by one of one change.
func writeManifest(dir string, changes *pb.ManifestChangeSet) error {
	path := filepath.Join(dir, badger.ManifestFilename)
	text, err := manifestText(changes)
	if err != nil {
		return err
	}
	return storedir.ReplaceFile(path, text)
}

// carriedOut says whether all tables that a change made are there, or were removed later.
func carriedOut(dir string, set *pb.ManifestChangeSet, removed map[uint64]bool) (bool, error) {
	for _, change := range set.Changes {
		if change.Op != pb.ManifestChange_CREATE || removed[change.Id] {
			continue
		}
		_, err := os.Stat(table.NewFilename(change.Id, dir))
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// manifestMagic is what Badger's manifest begins with: a mark, no version of ours, and the version of its form. Each
// change follows as its length, its CRC-32C, both big-endian, and itself.
const manifestMagic = "Bdgr\x00\x00\x00\x08"

// manifestChanges are the changes of a manifest, but for one that is cut off at its end.
func manifestChanges(text []byte) ([]*pb.ManifestChangeSet, error) {
	if !strings.HasPrefix(string(text), manifestMagic) {
		return nil, errors.New("it does not begin as a manifest")
	}
	return changesIn(text[len(manifestMagic):])
}

// changesIn are the changes in what follows the magic of a manifest, those before an error too.
func changesIn(text []byte) (sets []*pb.ManifestChangeSet, err error) {
	const head = 8
	for len(text) >= head {
		length, sum := int64(binary.BigEndian.Uint32(text)), binary.BigEndian.Uint32(text[4:])
		if length > int64(len(text)-head) {
			break
		}
		body := text[head : head+length]
		text = text[head+length:]
		if crc32c.Of(body) != sum {
			return sets, errors.New("the checksum of a change is wrong")
		}
		set := new(pb.ManifestChangeSet)
		if err := proto.Unmarshal(body, set); err != nil {
			return sets, err
		}
		sets = append(sets, set)
	}
	return sets, nil
}

// manifestText is a manifest of one change.
func manifestText(changes *pb.ManifestChangeSet) ([]byte, error) {
	body, err := proto.Marshal(changes)
	if err != nil {
		return nil, err
	}
	text := binary.BigEndian.AppendUint32([]byte(manifestMagic), uint32(len(body)))
	text = binary.BigEndian.AppendUint32(text, crc32c.Of(body))
	return append(text, body...), nil
}
