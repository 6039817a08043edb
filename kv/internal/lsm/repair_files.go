package lsm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// A Mended is one thing that RepairFiles did: to which file, what was wrong with it, what became of it, and what is lost.
type Mended struct {
	Where, What, Done string
	Lost              Lost
}

// A Lost is how many things of a kind are lost, or a bound of it; none where Count is zero.
type Lost struct {
	Kind   string
	Count  int64
	AtMost bool
}

// UnknownCount is the Count of a Lost where nobody knows how many were lost.
const UnknownCount = -1

// A fileRepair is one run of RepairFiles.
type fileRepair struct {
	dir      string
	opt      badger.Options
	progress func(stage string, done, total int64)
	report   func(Mended) error
	delayed  *[]Mended // not nil: what is done goes there, and is not reported
}

// RepairFiles makes the files of a database, which is not open, ones that Badger can open, and reports what it does.
func RepairFiles(
	ctx context.Context, dir string, opt Options, progress func(stage string, done, total int64), report func(Mended) error,
) error {
	b, err := badgerOptions(dir, opt)
	if err != nil {
		return err
	}
	r := &fileRepair{dir: dir, opt: b, progress: progress, report: report}
	return guardFaults(func() error {
		if err := r.registry(); err != nil {
			return err
		}
		if err := r.logs(); err != nil {
			return err
		}
		return r.tables(ctx)
	})
}

// done reports what was done, or is about to be.
func (r *fileRepair) done(where, what, done string, args ...any) error {
	return r.lose(Lost{}, where, what, done, args...)
}

// lose is done for what loses something for good.
func (r *fileRepair) lose(lost Lost, where, what, done string, args ...any) error {
	return r.tell(Mended{Where: where, What: what, Done: fmt.Sprintf(done, args...), Lost: lost})
}

func (r *fileRepair) tell(m Mended) error {
	if r.delayed != nil {
		*r.delayed = append(*r.delayed, m)
		return nil
	}
	return r.report(m)
}

func (r *fileRepair) registry() error {
	err := checkRegistry(r.dir)
	if !errors.Is(err, record.ErrCorrupt) {
		return err
	}
	if err := os.Remove(filepath.Join(r.dir, badger.KeyRegistryFileName)); err != nil {
		return err
	}
	return r.done(badger.KeyRegistryFileName, err.Error(), "made again: nothing is encrypted, it holds no key")
}

// logs looks at the beginning of the logs.
func (r *fileRepair) logs() error {
	logs, err := logFiles(r.dir)
	if err != nil {
		return err
	}
	for _, path := range logs {
		head, err := readHead(path, logHeader)
		if err != nil {
			return err
		}
		name := filepath.Base(path)
		switch {
		case len(head) < logHeader: // Badger makes logs by way of an empty file
			if err = os.Remove(path); err == nil {
				short := fmt.Sprintf("it has %d bytes, want at least %d", len(head), logHeader)
				err = r.done(name, short, "taken out: it holds no commit")
			}
		case [8]byte(head) != [8]byte{}:
			if err = overwrite(path, make([]byte, 8)); err == nil {
				err = r.done(name, "it says that it is encrypted", "put right: nothing is")
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// overwrite writes bytes over the beginning of a file.
func overwrite(path string, b []byte) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.WriteAt(b, 0); err != nil {
		return err
	}
	return f.Sync()
}

// repairTable makes a table one that Badger can read; usable is false where nothing of it is left.
func (r *fileRepair) repairTable(ctx context.Context, path string) (usable, whole bool, err error) {
	t, damage := openTableReader(path)
	if errors.Is(damage, record.ErrCorrupt) {
		if t, err = r.index(path, damage); err != nil || t == nil {
			return false, false, err
		}
	} else if damage != nil {
		return false, false, damage
	}
	defer func() { err = errors.Join(err, t.close()) }()
	var bad []int
	for i := range t.blocks() {
		if i%contextEvery == 0 && ctx.Err() != nil {
			return false, false, ctx.Err()
		}
		if err := t.verify(i); errors.Is(err, record.ErrCorrupt) {
			bad = append(bad, i)
		} else if err != nil {
			return false, false, err
		}
	}
	if len(bad) == 0 {
		return true, true, nil
	}
	return r.blocks(t, bad)
}

// index repairs the index of a table, and opens it; nil where it cannot.
func (r *fileRepair) index(path string, damage error) (*tableReader, error) {
	name := filepath.Base(path)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	mended, ok := mendIndex(data)
	if !ok {
		if err := os.Remove(path); err != nil {
			return nil, err
		}
		return nil, r.lose(Lost{Kind: "table of records", Count: 1}, name, damage.Error(), "taken out: where its records begin is not known")
	}
	if err := storedir.ReplaceFile(path, mended); err != nil {
		return nil, err
	}
	if err := r.done(name, damage.Error(), "put right, by its checksum"); err != nil {
		return nil, err
	}
	return openTableReader(path)
}

// blocks repairs blocks of a table; usable is false where nothing of the table is left, whole where something is lost.
func (r *fileRepair) blocks(t *tableReader, bad []int) (usable, whole bool, err error) {
	name := filepath.Base(t.path)
	text := slices.Clone(t.data)
	whole = true
	isBad := map[int]bool{} // and stays so
	for _, i := range bad {
		damage := t.verify(i)
		from, to, err := t.place(i)
		if err != nil {
			isBad[i], whole = true, false
			continue
		}
		mended, ok := mendBlock(t.data[from:to])
		if !ok {
			isBad[i], whole = true, false
			continue
		}
		copy(text[from:to], mended)
		if err := r.done(name, damage.Error(), "put right, by its checksum"); err != nil {
			return false, false, err
		}
	}
	if whole {
		return true, true, storedir.ReplaceFile(t.path, text)
	}
	usable, err = r.salvage(t, text, isBad)
	return usable, false, err
}

// salvage writes a table again with the records that are left of it; bad says which of its blocks are damaged.
func (r *fileRepair) salvage(t *tableReader, text []byte, bad map[int]bool) (usable bool, err error) {
	b := table.NewTableBuilder(r.tableOptions(uint64(2 * len(text))))
	defer b.Close()
	var last []byte
	for i := range t.blocks() {
		from, to, err := t.place(i)
		if err != nil {
			if err := r.lose(Lost{Kind: "record of tables", Count: UnknownCount}, filepath.Base(t.path), err.Error(), "left out"); err != nil {
				return false, err
			}
			continue
		}
		entries, count := blockEntries(text[from:to])
		left := 0
		for _, e := range entries {
			if bad[i] && !trusted(e, t.index.MaxVersion()) || last != nil && y.CompareKeys(e.key, last) <= 0 {
				continue
			}
			b.Add(e.key, e.value, 0)
			last = e.key
			left++
		}
		if bad[i] || left < count {
			if err := r.tellOfBlock(t, i, left, count); err != nil {
				return false, err
			}
		}
	}
	if b.Empty() {
		return false, os.Remove(t.path)
	}
	return true, storedir.ReplaceFile(t.path, b.Finish())
}

// tellOfBlock tells of how many records are left of a block.
func (r *fileRepair) tellOfBlock(t *tableReader, block, left, count int) error {
	damage := "its records are not in order"
	if err := t.verify(block); err != nil {
		damage = err.Error()
	}
	loss, done := Lost{Kind: "record of tables", Count: int64(count - left), AtMost: true}, fmt.Sprintf("%d of its %d records are left", left, count)
	if count == 0 {
		loss, done = Lost{Kind: "record of tables", Count: UnknownCount}, "none of its records can be read"
	}
	return r.lose(loss, filepath.Base(t.path), damage, "%s", done)
}

// Marks that Badger puts beside a value.
const (
	markDeleted          = 1 << 0
	markDiscardsEarlier  = 1 << 2
	markOfTransaction    = 1 << 6
	markEndOfTransaction = 1 << 7
)

// trusted reports whether an entry of a damaged block can be taken for what was written: its record has a checksum of its
// own, over the key. Of a deletion only the form of the key speaks for it.
func trusted(e tableEntry, maxVersion uint64) bool {
	key, version := y.ParseKey(e.key), y.ParseTs(e.key)
	if version == 0 || version > maxVersion || e.value.ExpiresAt != 0 || e.value.UserMeta != 0 || len(key) == 0 {
		return false
	}
	switch e.value.Meta &^ (markDiscardsEarlier | markOfTransaction | markEndOfTransaction) {
	case 0:
		_, err := record.Decode(key, e.value.Value)
		return err == nil
	case markDeleted:
		return record.Kind(key[0]).String() != "" && len(e.value.Value) == 0
	}
	return false
}
