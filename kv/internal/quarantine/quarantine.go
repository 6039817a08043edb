// Package quarantine keeps the files that a store had before a repair, and exchanges files so that a kill at any moment loses
// none. It knows nothing of what is in the files.
//
// The directory quarantine in a store has a Directory for each repair: 1, 2 and so on. In it are
//
//	report.jsonl    the report of the repair, a line for each thing that it did
//	records.jsonl   damaged records as they were: {"key": hexadecimal, "record": in words, "value": base64}
//	before          the files that the store had before
//	after           during the repair: the copy that it works on
//	incoming        during an exchange: the files that are still to move into the store
//
// Nothing in the directory is part of the store: it may be deleted while no process has the store open. Whoever calls Begin
// or Finish has locked the store.
package quarantine

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

	"github.com/graphcleaner/graphcleaner/internal/durable"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// Names in a Directory.
const (
	reportName   = "report.jsonl"
	recordsName  = "records.jsonl"
	beforeName   = "before"
	afterName    = "after"
	incomingName = "incoming"
)

// A Directory is the quarantine of a repair that is under way.
type Directory struct {
	store   string
	number  int
	path    string
	report  *os.File
	records *os.File
}

// Begin makes the Directory of the next repair of a store, and removes those of repairs that were killed. No exchange is
// under way: Finish was called.
func Begin(store string) (d *Directory, err error) {
	if err := removeAbandoned(store); err != nil {
		return nil, err
	}
	numbers, err := repairs(store)
	if err != nil {
		return nil, err
	}
	d = &Directory{store: store, number: 1}
	if len(numbers) > 0 {
		d.number = numbers[len(numbers)-1] + 1
	}
	d.path = pathOf(store, d.number)
	if err := os.MkdirAll(d.path, storedir.Mode); err != nil {
		return nil, err
	}
	if d.report, err = createPrivate(filepath.Join(d.path, reportName)); err != nil {
		return nil, err
	}
	if d.records, err = createPrivate(filepath.Join(d.path, recordsName)); err != nil {
		return nil, errors.Join(err, d.report.Close())
	}
	return d, nil
}

func pathOf(store string, number int) string {
	return filepath.Join(store, storedir.QuarantineName, strconv.Itoa(number))
}

// repairs are the numbers of the repairs in the quarantine of a store, ascending.
func repairs(store string) (numbers []int, err error) {
	entries, err := os.ReadDir(filepath.Join(store, storedir.QuarantineName))
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

// removeAbandoned removes the copies on which repairs worked that were killed. No exchange is under way: the store has all
// of its files.
func removeAbandoned(store string) error {
	numbers, err := repairs(store)
	if err != nil {
		return err
	}
	for _, n := range numbers {
		path := pathOf(store, n)
		if _, err := os.Stat(filepath.Join(path, afterName)); err == nil {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// Copy is the directory of the copy on which the repair works.
func (d *Directory) Copy() string { return filepath.Join(d.path, afterName) }

// Fill copies the files of the store into Copy. It returns storedir.ErrNoSpace unless the disk has room for them and for so
// many more bytes.
func (d *Directory) Fill(spare int64, progress func(done, total int64)) error {
	names, err := storedir.Files(d.store)
	if err != nil {
		return err
	}
	var total, done int64
	for _, name := range names {
		info, err := os.Stat(filepath.Join(d.store, name))
		if err != nil {
			return err
		}
		total += storedir.AllocatedBytes(info)
	}
	if err := storedir.CheckRoom(d.store, total+spare); err != nil {
		return fmt.Errorf("repairing works on a copy of the store and keeps what it was: %w", err)
	}
	for _, name := range names {
		size, err := copyFile(filepath.Join(d.store, name), filepath.Join(d.Copy(), name))
		if err != nil {
			return wrapFull(err)
		}
		done += size
		progress(done, total)
	}
	return nil
}

// Report adds a line to the report, as JSON.
func (d *Directory) Report(line any) error { return appendJSON(d.report, line) }

// KeepRecord keeps a damaged record as it is, with its description in words.
func (d *Directory) KeepRecord(key []byte, words string, value []byte) error {
	return appendJSON(d.records, struct {
		Key    string `json:"key"`
		Record string `json:"record"`
		Value  []byte `json:"value"`
	}{hex.EncodeToString(key), words, value})
}

func appendJSON(f *os.File, v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return wrapFull(err)
}

// Discard removes the Directory of a repair that failed, or that had nothing to repair.
func (d *Directory) Discard() error {
	err := errors.Join(d.report.Close(), d.records.Close(), os.RemoveAll(d.path))
	removeIfEmpty(filepath.Dir(d.path))
	return err
}

// removeIfEmpty removes a directory. One that has something in it stays.
func removeIfEmpty(dir string) {
	if err := os.Remove(dir); err != nil {
		return // what is in it is of use
	}
}

// Install puts the repaired copy in the place of the store.
func (d *Directory) Install() error {
	err := storedir.AlignModesAs(d.Copy(), d.store)
	if err := errors.Join(err, syncFiles(d.Copy())); err != nil {
		return errors.Join(err, d.Discard())
	}
	err = errors.Join(d.report.Sync(), d.records.Sync(), d.report.Close(), d.records.Close())
	if err := errors.Join(err, durable.SyncDirectory(filepath.Dir(d.path))); err != nil {
		return err
	}
	e := &exchange{d.path, d.number}
	return e.begin(d.store)
}

// readReport reads the report of a repair.
func readReport[Line any](store string, number int) (report []Line, err error) {
	path := filepath.Join(pathOf(store, number), reportName)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for row := range bytes.Lines(text) {
		var line Line
		if err := json.Unmarshal(row, &line); err != nil {
			return nil, record.CorruptFile(path, "%v", err)
		}
		report = append(report, line)
	}
	return report, nil
}

// wrapFull is storedir.WrapFull for an error of writing to a quarantine.
func wrapFull(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("quarantine: %w", storedir.WrapFull(err))
}
