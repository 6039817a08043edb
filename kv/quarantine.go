package kv

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/graphcleaner/graphcleaner/internal/crc32c"
	"github.com/graphcleaner/graphcleaner/internal/durable"
	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// quarantineName is the directory inside a store where Repair keeps what the store was before. Nothing in it is part of
// the store: it may be deleted while no process has the store open.
const quarantineName = lsm.Quarantine

// A quarantine is the directory of one repair, quarantine/1, quarantine/2 and so on:
//
//	report.jsonl    every Correction, in order
//	records.jsonl   damaged records as they were: {"key": hexadecimal, "record": in words, "value": base64}
//	repair.json     a keptRepair
//	before          the files that the store had before
//	after           while Repair works: the copy that it works on
//	repaired        after UndoRepair: the files that the store had before that
//	incoming        while files change places: those that are still to move into the store
type quarantine struct {
	store   string // its directory
	number  int
	path    string
	report  *os.File
	records *os.File
}

// Directories in a quarantine.
const (
	beforeName   = "before"
	afterName    = "after"
	repairedName = "repaired"
)

// A keptRepair is what is known of a repair that is complete.
type keptRepair struct {
	Version uint64     `json:"version"` // Badger's, of the last commit of the repaired store
	Before  []keptFile `json:"before"`
	After   []keptFile `json:"after"`
}

// A keptFile is a file of a store.
type keptFile struct {
	Name     string      `json:"name"` // relative to the directory of the store, with slashes
	Size     int64       `json:"size"`
	Checksum uint32      `json:"crc32c"`
	Mode     fs.FileMode `json:"mode"`
}

// newQuarantine makes the directory of the next repair.
func newQuarantine(store string) (q *quarantine, err error) {
	numbers, err := quarantines(store)
	if err != nil {
		return nil, err
	}
	q = &quarantine{store: store, number: 1}
	if len(numbers) > 0 {
		q.number = numbers[len(numbers)-1] + 1
	}
	q.path = quarantinePath(store, q.number)
	if err := os.MkdirAll(q.path, storedir.Mode); err != nil {
		return nil, err
	}
	if q.report, err = createPrivate(filepath.Join(q.path, "report.jsonl")); err != nil {
		return nil, err
	}
	if q.records, err = createPrivate(filepath.Join(q.path, "records.jsonl")); err != nil {
		return nil, errors.Join(err, q.report.Close())
	}
	return q, nil
}

func quarantinePath(store string, number int) string {
	return filepath.Join(store, quarantineName, strconv.Itoa(number))
}

// quarantines are the numbers of the repairs that are kept, ascending.
func quarantines(store string) (numbers []int, err error) {
	entries, err := os.ReadDir(filepath.Join(store, quarantineName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, entry := range entries {
		if n, err := strconv.Atoi(entry.Name()); err == nil && n > 0 {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, err
}

// createPrivate makes a file that is its owner's alone.
func createPrivate(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
}

// keepRecord keeps a record as it is.
func (q *quarantine) keepRecord(key, value []byte) error {
	return appendJSON(q.records, struct {
		Key    string `json:"key"`
		Record string `json:"record"`
		Value  []byte `json:"value"`
	}{hex.EncodeToString(key), record.Describe(key), value})
}

// note keeps what was done.
func (q *quarantine) note(m Correction) error { return appendJSON(q.report, m) }

// readReport reads the report of a repair.
func readReport(store string, number int) (corrections []Correction, err error) {
	path := filepath.Join(quarantinePath(store, number), "report.jsonl")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(text) {
		var m Correction
		if err := json.Unmarshal(line, &m); err != nil {
			return nil, record.CorruptFile(path, "%v", err)
		}
		corrections = append(corrections, m)
	}
	return corrections, nil
}

func appendJSON(f *os.File, v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return wrapSpace(err)
}

// close makes report and records durable.
func (q *quarantine) close() error {
	return errors.Join(q.report.Sync(), q.records.Sync(), q.report.Close(), q.records.Close())
}

// remove removes the quarantine of a repair that changed nothing.
func (q *quarantine) remove() error {
	err := errors.Join(q.report.Close(), q.records.Close(), os.RemoveAll(q.path))
	removeIfEmpty(filepath.Dir(q.path))
	return err
}

// removeIfEmpty removes a directory. One that has something in it stays.
func removeIfEmpty(dir string) {
	if err := os.Remove(dir); err != nil {
		return // what is in it is of use
	}
}

// removeAbandoned removes the copies on which repairs worked that were killed. No switch is under way: the store has all of
// its files.
func removeAbandoned(store string) error {
	numbers, err := quarantines(store)
	if err != nil {
		return err
	}
	for _, n := range numbers {
		path := quarantinePath(store, n)
		if _, err := os.Stat(filepath.Join(path, afterName)); err == nil {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// storeFiles are the files in the directory of a store that are part of it, relative to it.
func storeFiles(dir string) (names []string, err error) {
	err = storedir.Walk(dir, func(name string, entry fs.DirEntry, err error) error {
		lent := name == quarantineName || name == workName // each a directory, or a symbolic link to one
		switch {
		case err != nil:
			return err
		case lent && entry.IsDir():
			return fs.SkipDir
		case !lent && !entry.IsDir() && name != storedir.DraftName:
			names = append(names, filepath.ToSlash(name))
		}
		return nil
	})
	return names, err
}

// copyStoreFiles copies the files of a store into its quarantine, after it has asked for the room.
func (q *quarantine) copyStoreFiles(progress Progress) (before []keptFile, err error) {
	names, err := storeFiles(q.store)
	if err != nil {
		return nil, err
	}
	var room, done int64
	for _, name := range names {
		info, err := os.Stat(filepath.Join(q.store, name))
		if err != nil {
			return nil, err
		}
		room += storedir.AllocatedBytes(info)
	}
	if err := storedir.CheckRoom(q.store, room+lsm.SpareRoom); err != nil {
		return nil, fmt.Errorf("repairing works on a copy of the store and keeps what it was: %w", err)
	}
	for _, name := range names {
		f, err := copyStoreFile(filepath.Join(q.store, name), filepath.Join(q.path, afterName, name))
		if err != nil {
			return nil, wrapSpace(err)
		}
		f.Name = name
		before = append(before, f)
		done += f.Size
		progress("copying", done, room)
	}
	return before, nil
}

// copyStoreFile copies a file, and leaves out blocks of zeros where the file has them: logs are mostly that.
func copyStoreFile(from, to string) (f keptFile, err error) {
	if err := os.MkdirAll(filepath.Dir(to), storedir.Mode); err != nil {
		return f, err
	}
	source, err := os.Open(from)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	info, err := source.Stat()
	if err != nil {
		return f, err
	}
	target, err := createPrivate(to)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	f.Mode = info.Mode().Perm()
	buf := make([]byte, 256<<10)
	for {
		n, err := io.ReadFull(source, buf)
		if n > 0 {
			f.Checksum = crc32c.Update(f.Checksum, buf[:n])
			if !isZero(buf[:n]) {
				if _, err := target.WriteAt(buf[:n], f.Size); err != nil {
					return f, err
				}
			}
			f.Size += int64(n)
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return f, err
		}
	}
	return f, target.Truncate(f.Size)
}

func isZero(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}

// describeFiles reads the files of a store, and makes them durable if sync says so.
func describeFiles(dir string, sync bool) (files []keptFile, err error) {
	names, err := storeFiles(dir)
	if err != nil {
		return nil, err
	}
	directories := map[string]bool{}
	for _, name := range names {
		f, err := describeFile(filepath.Join(dir, name), sync)
		if err != nil {
			return nil, err
		}
		f.Name = name
		files = append(files, f)
		directories[filepath.Dir(filepath.Join(dir, name))] = true
	}
	for path := range directories {
		if sync {
			if err := durable.SyncDirectory(path); err != nil {
				return nil, err
			}
		}
	}
	return files, nil
}

func describeFile(path string, sync bool) (f keptFile, err error) {
	how := os.O_RDONLY
	if sync {
		how = os.O_RDWR // which Windows wants for it
	}
	file, err := os.OpenFile(path, how, 0)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return f, err
	}
	sum := crc32c.New()
	if f.Size, err = io.Copy(sum, file); err != nil {
		return f, err
	}
	f.Checksum, f.Mode = sum.Sum32(), info.Mode().Perm()
	if sync {
		err = file.Sync()
	}
	return f, err
}

// sameFiles reports whether two lists are of the same files, but for their modes and the mark of the process that writes.
func sameFiles(a, b []keptFile) bool {
	return maps.Equal(byName(a), byName(b))
}

// byName has files by name, without modes and the mark of the process that writes.
func byName(files []keptFile) map[string]keptFile {
	named := map[string]keptFile{}
	for _, f := range files {
		if f.Mode = 0; f.Name != storedir.LockFile {
			named[f.Name] = f
		}
	}
	return named
}

// repairFile is the name of the file of a keptRepair.
const repairFile = "repair.json"

func readKeptRepair(store string, number int) (kept keptRepair, err error) {
	path := filepath.Join(quarantinePath(store, number), repairFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return kept, err
	}
	if err := json.Unmarshal(text, &kept); err != nil {
		return kept, record.CorruptFile(path, "%v", err)
	}
	for _, f := range slices.Concat(kept.Before, kept.After) {
		if !filepath.IsLocal(f.Name) { // the file may come from anybody
			return kept, record.CorruptFile(path, "it names %q, which is no file of a store", f.Name)
		}
	}
	return kept, nil
}

func writeKeptRepair(store string, number int, kept keptRepair) error {
	text, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	return storedir.ReplaceFile(filepath.Join(quarantinePath(store, number), repairFile), text)
}

// wrapSpace is storedir.WrapFull for an error of writing to a quarantine.
func wrapSpace(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("quarantine: %w", storedir.WrapFull(err))
}
