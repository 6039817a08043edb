package lsm

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/table"

	"github.com/graphcleaner/graphcleaner/kv/internal/pack"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// Badger trusts its files when it opens them: it panics on a damaged table, and deletes the tables that its manifest
// does not name, although the manifest may only have been cut short. So all are looked at before it runs.
//
// A process that writes keeps a file LOCK in the store, and removes it last. If there is one, or a log of a
// memtable, but no process, there was a crash, and it may have left
//
//   - tables that the manifest does not name (unnamed.go);
//   - a last record of the manifest that is not complete, about such a table;
//   - a log without a byte, by way of which Badger makes and deletes logs.
//
// All are damage in a store that was closed. A table that is named and missing always is.

// files are those of a database, by their kinds.
type files struct {
	tables []uint64 // Badger's own
	closed []uint64 // packs with names of tables
	open   []uint64 // packs with names of their own
	logs   []string // paths of Badger's logs, of memtables and of values
}

// list reads a directory.
func list(dir string) (f files, err error) {
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		name := entry.Name()
		if id, ok := table.ParseFileID(name); ok && isPack(id) {
			f.closed = append(f.closed, id)
		} else if ok {
			f.tables = append(f.tables, id)
		} else if pack, ok := parseOpenPack(name); ok {
			f.open = append(f.open, pack)
		} else if ext := filepath.Ext(name); ext == ".vlog" || ext == memTableLog {
			f.logs = append(f.logs, filepath.Join(dir, name))
		}
	}
	return f, err
}

const memTableLog = ".mem"

func isMemTableLog(path string) bool { return filepath.Ext(path) == memTableLog }

// memTableLogs are the logs of memtables that were not flushed to a table.
func memTableLogs(dir string) ([]string, error) { return storedir.FilesNamed(dir, "", memTableLog) }

// checkNames returns an ErrCorrupt that names a damaged file of a database which no other process writes, except for
// what is in tables; crashed says whether it was left by a crash. It returns the manifest, and the tables that this
// does not name, which there are only after a crash.
func checkNames(dir string, crashed bool) (m manifest, strays []uint64, err error) {
	if err := checkRegistry(dir); err != nil {
		return m, nil, err
	}
	f, err := list(dir)
	if err != nil {
		return m, nil, err
	}
	if err := checkLogs(f.logs); err != nil {
		return m, nil, err
	}
	if m, err = readManifest(dir); err != nil {
		return m, nil, err
	}
	if m.cut != nil && !crashed {
		return m, nil, m.cut
	}
	if err := checkPacks(dir, m, f); err != nil {
		return m, nil, err
	}
	leftover := m.cut
	strays = m.lacks(f.tables)
	for _, id := range strays {
		leftover = cmp.Or(leftover, record.CorruptFile(table.NewFilename(id, dir), "%s does not name it", ManifestName))
	}
	if leftover != nil && !crashed {
		return m, nil, leftover
	}
	return m, strays, nil
}

// checkPacks returns an ErrCorrupt if a pack is missing that the manifest names, or another program has written to a
// closed database.
func checkPacks(dir string, m manifest, f files) error {
	if m.isForeign(f) {
		return record.CorruptFile(filepath.Join(dir, ManifestName), foreign)
	}
	for _, id := range m.packs() {
		if !slices.Contains(f.closed, id) && !slices.Contains(f.open, id) {
			return record.CorruptFile(table.NewFilename(id, dir), "it is missing")
		}
	}
	return nil
}

// isForeign reports whether another program has written to a database with packs, which is closed.
func (m manifest) isForeign(f files) bool {
	named := m.packs()
	unnamed := func(id uint64) bool { return !slices.Contains(named, id) }
	return len(named)+len(f.closed) > 0 && (m.records > 1 || slices.ContainsFunc(f.closed, unnamed))
}

// checkRegistry reads the file of keys; nothing is encrypted, so that it holds no key. If it is missing Badger
// makes it.
func checkRegistry(dir string) error {
	path := filepath.Join(dir, KeyRegistryName)
	if _, err := readHead(path, 1); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err // Badger would not wrap it
	}
	return pack.GuardFile(path, func() error {
		_, err := badger.OpenKeyRegistry(badger.KeyRegistryOptions{Dir: dir, ReadOnly: true})
		return err
	})
}

// logHeader is the size of what a log of Badger begins with: eight bytes that number the key it is encrypted with, zero
// for none, and twelve of no meaning then.
const logHeader = 20

// checkLogs looks at the beginning of logs. One without a byte is none.
func checkLogs(logs []string) error {
	for _, path := range logs {
		head, err := readHead(path, logHeader)
		switch {
		case err != nil:
			return err
		case len(head) == 0:
		case len(head) < logHeader:
			return record.CorruptFile(path, "it has %d bytes, want at least %d", len(head), logHeader)
		case [8]byte(head) != [8]byte{}:
			return record.CorruptFile(path, "it says that it is encrypted")
		}
	}
	return nil
}

// readHead reads the first n bytes of a file, fewer if the file is shorter.
func readHead(path string, n int64) (head []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.ReadAll(io.LimitReader(f, n))
}

// removeEmptyLogs removes logs without a byte. Badger makes, and deletes, a log by way of an empty file, and will not
// open a store that was killed at that moment.
func removeEmptyLogs(logs []string) error {
	for _, name := range logs {
		info, err := os.Stat(name)
		if err == nil && info.Size() == 0 {
			err = os.Remove(name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
