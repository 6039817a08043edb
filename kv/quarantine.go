package kv

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// quarantineName is the directory inside a store where Repair puts what it takes out of it. Nothing in it is part of the
// store: it may be deleted.
const quarantineName = "quarantine"

// A quarantine is the directory of one repair, quarantine/1, quarantine/2 and so on, made when there is something to put
// into it:
//
//	report.jsonl    every Mend, in order
//	records.jsonl   records as they were: {"key": hexadecimal, "record": in words, "value": base64}
//	files of the store, as they were
type quarantine struct {
	store   string // its directory
	path    string // "" before it is made
	report  *os.File
	records *os.File
}

// make makes the directory.
func (q *quarantine) make() error {
	if q.path != "" {
		return nil
	}
	all := filepath.Join(q.store, quarantineName)
	if err := os.Mkdir(all, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	for n := 1; ; n++ {
		path := filepath.Join(all, strconv.Itoa(n))
		err := os.Mkdir(path, 0o700)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return err
		}
		q.path = path
		break
	}
	var err error
	if q.report, err = createPrivate(filepath.Join(q.path, "report.jsonl")); err != nil {
		return err
	}
	q.records, err = createPrivate(filepath.Join(q.path, "records.jsonl"))
	return err
}

// createPrivate makes a file that is its owner's alone.
func createPrivate(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
}

// copyFile keeps a file of the store as it is.
func (q *quarantine) copyFile(path string) (err error) {
	if err := q.make(); err != nil {
		return err
	}
	from, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	to, err := createPrivate(filepath.Join(q.path, filepath.Base(path)))
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	if err == nil {
		err = to.Sync()
	}
	return errors.Join(wrapSpace(err), to.Close())
}

// moveFile keeps a file of the store, which is then no longer in it.
func (q *quarantine) moveFile(path string) error {
	if err := q.make(); err != nil {
		return err
	}
	return os.Rename(path, filepath.Join(q.path, filepath.Base(path)))
}

// keepRecord keeps a record as it is.
func (q *quarantine) keepRecord(key, value []byte) error {
	if err := q.make(); err != nil {
		return err
	}
	return appendJSON(q.records, struct {
		Key    string `json:"key"`
		Record string `json:"record"`
		Value  []byte `json:"value"`
	}{hex.EncodeToString(key), describeKey(key), value})
}

// note keeps what was done.
func (q *quarantine) note(m Mend) error {
	if err := q.make(); err != nil {
		return err
	}
	return appendJSON(q.report, m)
}

func appendJSON(f *os.File, v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return wrapSpace(err)
}

// sync makes durable what was put in, before what it was taken from is changed.
func (q *quarantine) sync() error {
	if q.path == "" {
		return nil
	}
	return errors.Join(q.report.Sync(), q.records.Sync(),
		syncDirectory(q.path), syncDirectory(filepath.Dir(q.path)), syncDirectory(q.store))
}

func (q *quarantine) close() error {
	if q.path == "" {
		return nil
	}
	return errors.Join(q.sync(), q.report.Close(), q.records.Close())
}

// wrapSpace is wrapBadger for an error of the system.
func wrapSpace(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("quarantine: %w", wrapBadger(err))
}
