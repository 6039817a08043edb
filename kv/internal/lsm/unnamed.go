package lsm

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"iter"
	"os"
	"strconv"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"
	"github.com/dgraph-io/ristretto/v2/z"

	"github.com/graphcleaner/graphcleaner/internal/crc32c"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// Badger removes the tables that its manifest does not name when it opens a store. After a crash there are such tables:
// one that was finished and not named yet, the records of which are in a log or in the tables it was merged of, and those
// that were merged. But the manifest may be an old one, or cut short. Then they hold the only copies of records.

// clearUnnamed makes sure that Badger may remove the unnamed tables of a store that a crash left, whose manifest and
// named tables are sound. It returns ErrCorrupt if one holds records that are nowhere else. One that cannot be read was not finished: what it
// was made of is there.
func clearUnnamed(dir string, manifest badger.Manifest, strays []uint64) (err error) {
	c := &census{}
	defer func() { err = errors.Join(err, c.close()) }()
	var spans []tableSpan
	for _, id := range strays {
		t, err := openCensusTable(table.NewFilename(id, dir), id)
		if errors.Is(err, record.ErrCorrupt) {
			continue
		}
		if err != nil {
			return err
		}
		c.tables = append(c.tables, t)
		spans = append(spans, t.span)
	}
	if err := c.dropDamaged(); err != nil {
		return err
	}
	if len(c.tables) > 0 {
		if err := c.addNamed(dir, manifest, spans); err != nil {
			return err
		}
		logged, err := readLogs(dir)
		if err != nil {
			return err
		}
		if err := c.countOnly(context.Background(), logged); err != nil {
			return err
		}
	}
	for _, t := range c.tables {
		if t.only > 0 {
			return record.CorruptFile(t.reader.Path, "%s does not name it, and %d of its records are nowhere else", badger.ManifestFilename, t.only)
		}
	}
	return nil
}

// dropDamaged takes tables out of the census of which a block is damaged.
func (c *census) dropDamaged() error {
	var sound []*censusTable
	for _, t := range c.tables {
		err := verifyTable(t.reader.Path)
		switch {
		case errors.Is(err, record.ErrCorrupt):
			err = t.reader.Close()
		case err == nil:
			sound = append(sound, t)
		}
		if err != nil {
			return err
		}
	}
	c.tables = sound
	return nil
}

// addNamed adds the named tables that overlap spans, to be looked up. One whose last block is damaged counts for nothing.
func (c *census) addNamed(dir string, manifest badger.Manifest, spans []tableSpan) error {
	for id := range manifest.Tables {
		if isPack(id) {
			continue
		}
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

// readLogs returns the versions of what the logs of memtables have.
func readLogs(dir string) (versions map[uint64]bool, err error) {
	logs, err := memTableLogs(dir)
	if err != nil {
		return nil, err
	}
	versions = map[uint64]bool{}
	for _, path := range logs {
		err := readLog(path, func(entries iter.Seq[logEntry]) error {
			addVersions(versions, entries)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return versions, nil
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

// addVersions adds those of the whole transactions of a log.
func addVersions(versions map[uint64]bool, entries iter.Seq[logEntry]) {
	for e := range entries {
		switch {
		case e.mark&markEndOfTransaction != 0:
			version, err := strconv.ParseUint(string(bytes.TrimSpace(e.value)), 10, 64)
			if err != nil {
				return
			}
			versions[version] = true
		case e.mark&markOfTransaction == 0 && e.hasVersion():
			versions[y.ParseTs(e.key)] = true
		}
	}
}
