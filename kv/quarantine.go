package kv

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// quarantineName is the directory inside a store where Repair keeps what the store was before. Nothing in it is part of
// the store: it may be deleted while no process has the store open.
const quarantineName = lsm.Quarantine

// A quarantine is the directory of one repair, quarantine/1, quarantine/2 and so on:
//
//	report.jsonl    every Mend, in order
//	records.jsonl   damaged records as they were: {"key": hexadecimal, "record": in words, "value": base64}
//	repair.json     an inventory
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

// keepRecord keeps a record as it is.
func (q *quarantine) keepRecord(key, value []byte) error {
	return appendJSON(q.records, struct {
		Key    string `json:"key"`
		Record string `json:"record"`
		Value  []byte `json:"value"`
	}{hex.EncodeToString(key), record.Describe(key), value})
}

// note keeps what was done.
func (q *quarantine) note(m Mend) error { return appendJSON(q.report, m) }

// readReport reads the report of a repair.
func readReport(store string, number int) (mends []Mend, err error) {
	path := filepath.Join(quarantinePath(store, number), "report.jsonl")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(text) {
		var m Mend
		if err := json.Unmarshal(line, &m); err != nil {
			return nil, record.CorruptFile(path, "%v", err)
		}
		mends = append(mends, m)
	}
	return mends, nil
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

// wrapSpace is storedir.WrapFull for an error of writing to a quarantine.
func wrapSpace(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("quarantine: %w", storedir.WrapFull(err))
}
