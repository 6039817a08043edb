package lsm

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"iter"
	"os"
	"slices"
	"strconv"

	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"
	"github.com/dgraph-io/ristretto/v2/z"

	"github.com/graphcleaner/graphcleaner/internal/crc32c"
	"github.com/graphcleaner/graphcleaner/kv/internal/pack"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// After a crash there may be tables that the manifest does not name, which are of no use:
//
//   - One that Badger made of a memtable and did not name yet. The log of the memtable is there, and has all its
//     versions. Such a table may be unfinished.
//   - One that a fold made, or merged. What it was merged of, or into, is named, and its newest version too.
//
// But the manifest may be an old one, or cut short. Then it lacks the tables that were made last, and no named table
// has a version as new as theirs.
//
// A fold drops a deletion with what is deleted. So of the tables that it merged, those with earlier versions go
// first: a table with a deletion is there for as long as one that has what was deleted.

// A stray is a table that the manifest does not name.
type stray struct {
	path  string
	newer bool // it has versions that are nowhere else
}

// findStrays looks at tables which the manifest does not name, where newest is the newest version of those that it
// names. They are in the order in which they may go.
func findStrays(dir string, ids []uint64, newest uint64, logged logVersions) (strays []stray, err error) {
	versions := map[string]uint64{}
	for _, id := range ids {
		s := stray{path: table.NewFilename(id, dir)}
		l, err := pack.Look(s.path)
		if err == nil && l.Newest > newest {
			s.newer, err = logged.lack(s.path)
		}
		if errors.Is(err, record.ErrCorrupt) {
			s.newer, err = logged.logs == 0, nil // else it may be unfinished
		}
		if err != nil {
			return nil, err
		}
		versions[s.path] = l.Newest
		strays = append(strays, s)
	}
	slices.SortStableFunc(strays, func(a, b stray) int { return cmp.Compare(versions[a.path], versions[b.path]) })
	return strays, nil
}

// logVersions are the versions that logs have.
type logVersions struct {
	all  map[uint64]bool
	logs int // of memtables that have any
}

// newest is the newest of them, zero if there is none.
func (v logVersions) newest() (newest uint64) {
	for version := range v.all {
		newest = max(newest, version)
	}
	return newest
}

// lack says whether a table has a version that the logs lack. A damaged block is an ErrCorrupt.
func (v logVersions) lack(path string) (lack bool, err error) {
	t, err := pack.Open(path)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	for i := range t.Blocks() {
		entries, err := t.Block(i)
		if err != nil {
			return false, err
		}
		for _, e := range entries {
			lack = lack || !v.all[y.ParseTs(e.Key)]
		}
	}
	return lack, nil
}

// readLogs returns the versions that the logs of memtables have.
func readLogs(dir string) (versions logVersions, err error) {
	versions.all = map[uint64]bool{}
	logs, err := memTableLogs(dir)
	if err != nil {
		return versions, err
	}
	for _, path := range logs {
		if err := versions.read(path); err != nil {
			return versions, err
		}
	}
	return versions, nil
}

// read adds the versions of a log.
func (v *logVersions) read(path string) error {
	info, err := os.Stat(path)
	if err != nil || info.Size() == 0 { // which cannot be mapped
		return err
	}
	file, err := z.OpenMmapFile(path, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	has := false
	for version := range wholeVersions(logEntries(file.Data)) {
		v.all[version] = true
		has = true
	}
	if has {
		v.logs++
	}
	return file.Close(-1)
}

// A logEntry is an entry of a log. Its key has the version, but for the end of a commit.
type logEntry struct {
	mark       byte
	key, value []byte
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

// wholeVersions are those of the whole transactions of a log.
func wholeVersions(entries iter.Seq[logEntry]) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for e := range entries {
			var version uint64
			switch {
			case e.mark&markEndOfTransaction != 0:
				var err error
				if version, err = strconv.ParseUint(string(bytes.TrimSpace(e.value)), 10, 64); err != nil {
					return
				}
			case e.mark&markOfTransaction != 0 || len(e.key) <= 8:
				continue
			default:
				version = y.ParseTs(e.key)
			}
			if !yield(version) {
				return
			}
		}
	}
}
