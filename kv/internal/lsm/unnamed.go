package lsm

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"
	"github.com/dgraph-io/ristretto/v2/z"

	"github.com/graphcleaner/graphcleaner/internal/crc32c"
	"github.com/graphcleaner/graphcleaner/internal/durable"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// Badger removes the tables that its manifest does not name when it opens a store. After a crash there are such tables:
// one that was finished and not named yet, the records of which are in a log or in the tables it was merged of, and those
// that were merged. But the manifest may be an old one, or cut short. Then they hold the only copies of records.

// clearUnnamed makes sure that Badger may remove the unnamed tables of a store that a crash left, whose manifest and
// named tables are sound. It returns ErrCorrupt if one holds records that are nowhere else. One that cannot be read is
// moved into the quarantine if the named tables and the journal have every commit, and is an ErrCorrupt otherwise.
func clearUnnamed(dir string, manifest badger.Manifest, strays []uint64, beside Journal) (err error) {
	c := &census{}
	defer func() { err = errors.Join(err, c.close()) }()
	var unreadable []uint64
	var spans []tableSpan
	for _, id := range strays {
		t, err := openCensusTable(table.NewFilename(id, dir), id)
		if errors.Is(err, record.ErrCorrupt) {
			unreadable = append(unreadable, id)
			continue
		}
		if err != nil {
			return err
		}
		c.tables = append(c.tables, t)
		spans = append(spans, t.span)
	}
	bad, err := c.dropDamaged()
	if err != nil {
		return err
	}
	unreadable = append(unreadable, bad...)
	if len(c.tables) > 0 {
		if err := c.addNamed(dir, manifest, spans); err != nil {
			return err
		}
		logged, err := readLogs(dir)
		if err != nil {
			return err
		}
		if err := c.countOnly(context.Background(), logged.versions); err != nil {
			return err
		}
	}
	for _, t := range c.tables {
		if t.only > 0 {
			return record.CorruptFile(t.reader.Path, "%s does not name it, and %d of its records are nowhere else", badger.ManifestFilename, t.only)
		}
	}
	if len(unreadable) > 0 {
		last, err := LastCommit(dir)
		if err == nil {
			err = beside.Completes(last)
		}
		if err != nil {
			return fmt.Errorf("%s cannot be read, and %s does not name it: %w", table.NewFilename(unreadable[0], dir), badger.ManifestFilename, err)
		}
	}
	for _, id := range unreadable {
		if err := setAside(dir, table.IDToFilename(id)); err != nil {
			return err
		}
	}
	return nil
}

// dropDamaged takes tables out of the census of which a block is damaged.
func (c *census) dropDamaged() (bad []uint64, err error) {
	var sound []*censusTable
	for _, t := range c.tables {
		err := verifyTable(t.reader.Path)
		switch {
		case errors.Is(err, record.ErrCorrupt):
			bad = append(bad, t.id)
			err = t.reader.Close()
		case err == nil:
			sound = append(sound, t)
		}
		if err != nil {
			return nil, err
		}
	}
	c.tables = sound
	return bad, nil
}

// addNamed adds the named tables that overlap spans, to be looked up. One whose last block is damaged counts for nothing.
func (c *census) addNamed(dir string, manifest badger.Manifest, spans []tableSpan) error {
	for id := range manifest.Tables {
		t, err := openCensusTable(table.NewFilename(id, dir), id)
		if errors.Is(err, record.ErrCorrupt) {
			continue
		}
		if err != nil {
			return err
		}
		overlaps := false
		for _, span := range spans {
			overlaps = overlaps || span.overlaps(t.span)
		}
		if !overlaps {
			if err := t.reader.Close(); err != nil {
				return err
			}
			continue
		}
		t.named = true
		c.tables = append(c.tables, t)
	}
	return nil
}

// setAside moves a file of the store, which Badger is to do without, into the quarantine.
func setAside(dir, name string) error {
	to := filepath.Join(dir, storedir.QuarantineName, "aside")
	if err := os.MkdirAll(to, storedir.Mode); err != nil {
		return err
	}
	free := filepath.Join(to, name)
	for n := 1; ; n++ {
		if _, err := os.Lstat(free); errors.Is(err, fs.ErrNotExist) {
			break
		} else if err != nil {
			return err
		}
		free = filepath.Join(to, name+"."+strconv.Itoa(n))
	}
	if err := os.Rename(filepath.Join(dir, name), free); err != nil {
		return err
	}
	return errors.Join(durable.SyncDirectory(to), durable.SyncDirectory(dir))
}

// logContents are what the logs of memtables have.
type logContents struct {
	versions map[uint64]bool // of all transactions
	commits  []uint64        // of those that wrote their number, ascending
}

// LoggedCommits are the commits that the logs of memtables have, ascending, as far as they can be read.
func LoggedCommits(dir string) (commits []uint64, err error) {
	err = guardFaults(func() error {
		logged, err := readLogs(dir)
		if err == nil {
			commits = logged.commits
		}
		return err
	})
	return commits, err
}

func readLogs(dir string) (*logContents, error) {
	logs, err := memTableLogs(dir)
	if err != nil {
		return nil, err
	}
	c := &logContents{versions: map[uint64]bool{}}
	for _, path := range logs {
		err := readLog(path, func(entries iter.Seq[logEntry]) error {
			c.add(entries)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(c.commits)
	return c, nil
}

// A logEntry is an entry of a log. Its key has the version, but for the end of a commit.
type logEntry struct {
	mark       byte
	key, value []byte
}

// hasVersion says whether it is of a record.
func (e logEntry) hasVersion() bool { return e.mark&markEndOfTransaction == 0 && len(e.key) > 8 }

// readLog calls use with the entries of a log, which are borrowed for the call.
func readLog(path string, use func(entries iter.Seq[logEntry]) error) error {
	info, err := os.Stat(path)
	if err != nil || info.Size() == 0 { // which cannot be mapped
		return err
	}
	file, err := z.OpenMmapFile(path, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(use(logEntries(file.Data)), file.Close(-1))
}

// logEntries are the entries of a log, up to where Badger stops to read it. Behind the beginning a
// log has entries:
//
//	mark, mark of the user     a byte each
//	length of key, of value    uvarint
//	when it expires            uvarint
//	key, with its version      of the end of a commit: without meaning, and the version is the value, in decimal
//	value
//	checksum                   CRC-32C of all that, big-endian
func logEntries(text []byte) iter.Seq[logEntry] {
	return func(yield func(logEntry) bool) {
		if len(text) < logHeader {
			return
		}
		const mostKey = 1 << 16
		for text := text[logHeader:]; len(text) > 2; {
			at := 2
			var lengths [3]uint64
			for i := range lengths {
				x, n := binary.Uvarint(text[at:])
				if n <= 0 {
					return
				}
				lengths[i], at = x, at+n
			}
			if lengths[0] > mostKey || lengths[1] > uint64(len(text)) {
				return
			}
			keyEnd := at + int(lengths[0])
			end := keyEnd + int(lengths[1])
			if end+crc32c.Size > len(text) || lengths[0] == 0 || crc32c.Of(text[:end]) != binary.BigEndian.Uint32(text[end:]) {
				return
			}
			if !yield(logEntry{text[0], text[at:keyEnd], text[keyEnd:end]}) {
				return
			}
			text = text[end+crc32c.Size:]
		}
	}
}

// add adds what the entries of a log say.
func (c *logContents) add(entries iter.Seq[logEntry]) {
	numbered := false // the transaction that is being read
	for e := range entries {
		switch {
		case e.mark&markEndOfTransaction != 0:
			version, err := strconv.ParseUint(string(bytes.TrimSpace(e.value)), 10, 64)
			if err != nil {
				return
			}
			c.versions[version] = true
			if numbered {
				c.commits = append(c.commits, version)
			}
			numbered = false
		case e.mark&markOfTransaction == 0 && e.hasVersion():
			c.versions[y.ParseTs(e.key)] = true
		case e.hasVersion() && bytes.Equal(y.ParseKey(e.key), record.CommitKey()):
			numbered = true
		}
	}
}
