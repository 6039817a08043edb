package lsm

import (
	"cmp"
	"encoding/binary"
	"errors"
	"iter"
	"maps"
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
	id    uint64
	path  string
	newer bool // it has versions that are nowhere else
}

// findStrays looks at tables which the manifest does not name, where newest is the newest version of those that it
// names. They are in the order in which they may go.
func findStrays(dir string, ids []uint64, newest uint64, logged logVersions) (strays []stray, err error) {
	versions := map[string]uint64{}
	for _, id := range ids {
		s := stray{id: id, path: table.NewFilename(id, dir)}
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
	all     map[uint64]bool
	commits map[uint64]bool // of which they have the record of changes
	logs    int             // of memtables that have any
}

// last is the newest version, zero if there is none.
func (v logVersions) last() uint64 { return slices.Max(append(slices.Collect(maps.Keys(v.all)), 0)) }

// lostCommits is how many commits the logs lack between the newest version that tables have and their own: there was
// another log, or more in one.
func (v logVersions) lostCommits(tabled uint64) (commits uint64) {
	if last := v.last(); last > tabled {
		commits = last - tabled
		for n := range v.commits {
			if tabled < n && n <= last {
				commits--
			}
		}
	}
	return commits
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
	versions.all, versions.commits = map[uint64]bool{}, map[uint64]bool{}
	logs, err := openLogs(dir)
	for _, l := range logs {
		for _, e := range l.entries {
			versions.all[y.ParseTs(e.Key)] = true
			if n, ok := record.ChangesCommit(y.ParseKey(e.Key)); ok {
				versions.commits[n] = true
			}
		}
		if len(l.entries) > 0 {
			versions.logs++
		}
		err = errors.Join(err, l.file.Close(-1))
	}
	return versions, err
}

// A memTable has the entries in the log of a memtable.
type memTable struct {
	file    *z.MmapFile  // to be closed
	entries []pack.Entry // borrowed from the file
}

// openLogs reads the logs of memtables.
func openLogs(dir string) (logs []memTable, err error) {
	paths, err := memTableLogs(dir)
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return logs, err
		}
		if info.Size() == 0 { // which cannot be mapped
			continue
		}
		file, err := z.OpenMmapFile(path, os.O_RDONLY, 0)
		if err != nil {
			return logs, err
		}
		logs = append(logs, memTable{file, wholeTransactions(file.Data)})
	}
	return logs, err
}

// Marks that Badger puts beside an entry of a log, beside those of tables.
const (
	markDiscardsEarlier  = 1 << 2
	markOfTransaction    = 1 << 6
	markEndOfTransaction = 1 << 7
)

// wholeTransactions are the entries of a log, up to where Badger stops to read it, without the ends of transactions.
func wholeTransactions(text []byte) (whole []pack.Entry) {
	begun := 0 // entries of a transaction that has not ended
	version := uint64(0)
	for e := range logEntries(text) {
		switch {
		case e.Value.Meta&markEndOfTransaction != 0:
			ends, err := strconv.ParseUint(string(e.Value.Value), 10, 64)
			if err != nil || ends != version {
				return whole[:len(whole)-begun]
			}
			begun, version = 0, 0
			continue
		case len(e.Key) <= 8:
			return whole[:len(whole)-begun]
		case e.Value.Meta&markOfTransaction != 0:
			if begun > 0 && version != y.ParseTs(e.Key) {
				return whole[:len(whole)-begun]
			}
			version = y.ParseTs(e.Key)
			begun++
		case begun > 0:
			return whole[:len(whole)-begun]
		}
		whole = append(whole, e)
	}
	return whole[:len(whole)-begun]
}

// logEntries are the entries of a log, up to where Badger stops to read it. Behind the beginning a log has entries:
//
//	mark, mark of the user     a byte each
//	length of key, of value    uvarint
//	when it expires            uvarint
//	key, with its version      of the end of a commit: without meaning, and the version is the value, in decimal
//	value
//	checksum                   CRC-32C of all that, big-endian
func logEntries(text []byte) iter.Seq[pack.Entry] {
	return func(yield func(pack.Entry) bool) {
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
			value := y.ValueStruct{Meta: text[0], Value: text[keyEnd:end]}
			if !yield(pack.Entry{Key: text[at:keyEnd], Value: value}) {
				return
			}
			text = text[end+crc32c.Size:]
		}
	}
}
