package lsm

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dgraph-io/badger/v4"
	badgeroptions "github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/ristretto/v2/z"

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
//   - tables that the manifest names no more, since a fold merged them, or never named: they were finished, but their
//     logs or the tables they merge are still there. clearUnnamed makes sure of that;
//   - a last record of the manifest that is not complete, about such tables;
//   - a log without a byte, by way of which Badger makes and deletes logs.
//
// All are damage in a store that was closed. A table that is named and missing always is.

// checkFiles returns an ErrCorrupt that names a damaged file of a store which no other process writes; crashed says
// whether it was left by a crash.
func checkFiles(dir string, crashed bool) error {
	manifest, strays, err := checkNames(dir, crashed)
	if err != nil {
		return err
	}
	for id, entry := range manifest.Tables {
		if isPack(id) {
			continue
		}
		if err := checkTable(table.NewFilename(id, dir), entry.Compression); err != nil {
			return err
		}
	}
	if len(strays) == 0 {
		return nil
	}
	return clearUnnamed(dir, manifest, strays)
}

// checkNames is checkFiles but for what is in tables. It returns the manifest, and the tables that this does not name, which there are
// only after a crash.
func checkNames(dir string, crashed bool) (manifest badger.Manifest, strays []uint64, err error) {
	if err := checkRegistry(dir); err != nil {
		return manifest, nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return manifest, nil, err
	}
	empty, err := checkLogs(logsAmong(dir, entries))
	if err != nil {
		return manifest, nil, err
	}
	manifest, cut, err := readManifest(dir)
	if err != nil {
		return manifest, nil, err
	}
	leftover := cmp.Or(empty, cut)
	for _, entry := range entries {
		if id, ok := table.ParseFileID(entry.Name()); ok && !isPack(id) {
			if _, named := manifest.Tables[id]; !named {
				strays = append(strays, id)
				leftover = cmp.Or(leftover, record.CorruptFile(filepath.Join(dir, entry.Name()), "%s does not name it", badger.ManifestFilename))
			}
		}
	}
	if leftover != nil && !crashed {
		return manifest, nil, leftover
	}
	return manifest, strays, nil
}

// readManifest reads the manifest as Badger does; cut is not nil if its last record is not complete.
func readManifest(dir string) (manifest badger.Manifest, cut, err error) {
	f, err := os.Open(filepath.Join(dir, badger.ManifestFilename))
	if err != nil {
		return manifest, nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return replayManifest(f)
}

// replayManifest is readManifest of a file that was opened and not read.
func replayManifest(f *os.File) (manifest badger.Manifest, cut, err error) {
	info, err := f.Stat()
	if err != nil {
		return manifest, nil, err
	}
	var end int64
	err = pack.GuardFile(f.Name(), func() (err error) {
		manifest, end, err = badger.ReplayManifestFile(f, 0, badger.Options{})
		return err
	})
	if err == nil && end < info.Size() {
		cut = record.CorruptFile(f.Name(), "its last record is cut off after %d bytes", info.Size()-end)
	}
	return manifest, cut, err
}

// checkRegistry reads the file of keys; nothing is encrypted, so that it holds no key. If it is missing Badger
// makes it.
func checkRegistry(dir string) error {
	path := filepath.Join(dir, badger.KeyRegistryFileName)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err // Badger would not wrap it
	}
	if err := f.Close(); err != nil {
		return err
	}
	return pack.GuardFile(path, func() error {
		_, err := badger.OpenKeyRegistry(badger.KeyRegistryOptions{Dir: dir, ReadOnly: true})
		return err
	})
}

// logHeader is the size of what a log of Badger begins with: eight bytes that number the key it is encrypted with, zero
// for none, and twelve of no meaning then.
const logHeader = 20

// checkLogs looks at the beginning of the value logs and of the logs of memtables; empty is not nil if one is.
func checkLogs(logs []string) (empty, err error) {
	for _, path := range logs {
		head, err := readHead(path, logHeader)
		switch {
		case err != nil:
			return nil, err
		case len(head) == 0:
			empty = record.CorruptFile(path, "it is empty")
		case len(head) < logHeader:
			return nil, record.CorruptFile(path, "it has %d bytes, want at least %d", len(head), logHeader)
		case [8]byte(head) != [8]byte{}:
			return nil, record.CorruptFile(path, "it says that it is encrypted")
		}
	}
	return empty, nil
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

// checkTable opens a table as Badger does, and checks its index and its last block.
func checkTable(path string, compression badgeroptions.CompressionType) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return record.CorruptFile(path, "it is missing")
	case err != nil:
		return err
	case info.Size() == 0:
		return record.CorruptFile(path, "it is empty") // and cannot be mapped
	}
	file, err := z.OpenMmapFile(path, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	err = pack.GuardFile(path, func() error {
		pack.ReadAtRandom(file.Data)
		if at, _, _, ok := pack.FindIndex(file.Data); ok {
			pack.WillRead(file.Data, at, len(file.Data))
		}
		_, err := table.OpenTable(file, table.Options{Compression: compression, ChkMode: badgeroptions.OnBlockRead})
		return err
	})
	return errors.Join(err, file.Close(-1))
}

// logFiles are the value logs and the logs of memtables.
func logFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	return logsAmong(dir, entries), err
}

// logsAmong are logFiles of a directory that was read.
func logsAmong(dir string, entries []fs.DirEntry) (logs []string) {
	for _, entry := range entries {
		if ext := filepath.Ext(entry.Name()); ext == ".vlog" || ext == memTableLog {
			logs = append(logs, filepath.Join(dir, entry.Name()))
		}
	}
	return logs
}

const memTableLog = ".mem"

// memTableLogs are the logs of memtables that were not flushed to a table.
func memTableLogs(dir string) ([]string, error) { return storedir.FilesNamed(dir, "", memTableLog) }
