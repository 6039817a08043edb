package kv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/dgraph-io/badger/v4"
	badgeroptions "github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/pb"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"
)

// files makes the files of a store ones that Badger can open.
func (r *repair) files(ctx context.Context) (err error) {
	if err := writable(r.dir); err != nil {
		return fmt.Errorf("%s cannot be written to, and so not be repaired: %w", r.dir, err)
	}
	unlock, err := lockDirectory(r.dir, false)
	if err != nil {
		return err
	}
	if unlock != nil {
		defer func() { err = errors.Join(err, unlock()) }()
	} else if locksDirectories {
		return newLockedError(r.dir, holder(r.dir))
	}
	if err := r.registry(); err != nil {
		return err
	}
	crashed, err := r.logs()
	if err != nil {
		return err
	}
	if crashed {
		err := undoMerges(r.dir)
		if err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return r.tables(ctx, crashed)
}

func (r *repair) registry() error {
	err := checkRegistry(r.dir)
	if !errors.Is(err, ErrCorrupt) {
		return err
	}
	path := filepath.Join(r.dir, badger.KeyRegistryFileName)
	if err := r.kept.moveFile(path); err != nil {
		return err
	}
	return r.done(badger.KeyRegistryFileName, err.Error(), "made again: nothing is encrypted, it holds no key")
}

// logs looks at the beginning of the logs, and says whether a crash left any.
func (r *repair) logs() (crashed bool, err error) {
	if _, err := os.Stat(filepath.Join(r.dir, lockFileName)); err == nil {
		crashed = true
	}
	logs, err := logFiles(r.dir)
	if err != nil {
		return false, err
	}
	for _, path := range logs {
		crashed = crashed || filepath.Ext(path) == ".mem"
		head, err := readHead(path, logHeader)
		if err != nil {
			return false, err
		}
		name := filepath.Base(path)
		switch {
		case len(head) == 0: // Badger makes logs by way of an empty file
			err = os.Remove(path)
		case len(head) < logHeader:
			if err = r.kept.moveFile(path); err == nil {
				err = r.done(name, fmt.Sprintf("it has %d bytes, want at least %d", len(head), logHeader), "taken out: it holds nothing")
			}
		case [8]byte(head) != [8]byte{}:
			if err = r.kept.copyFile(path); err == nil {
				err = r.kept.sync()
			}
			if err == nil {
				err = overwrite(path, make([]byte, 8))
			}
			if err == nil {
				err = r.done(name, "it says that it is encrypted", "put right: nothing is")
			}
		}
		if err != nil {
			return false, err
		}
	}
	return crashed, nil
}

// readHead reads up to n bytes from the beginning of a file.
func readHead(path string, n int) (head []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	head = make([]byte, n)
	read := 0
	for read < n {
		m, err := f.Read(head[read:])
		if read += m; err != nil || m == 0 {
			break // what is there is short
		}
	}
	return head[:read], nil
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

// tables repairs the tables, and then the manifest.
func (r *repair) tables(ctx context.Context, crashed bool) error {
	named, damage, err := readManifest(r.dir)
	if damage == nil && errors.Is(err, ErrCorrupt) || errors.Is(err, fs.ErrNotExist) {
		damage, err = err, nil
		if named.Tables == nil {
			named.Tables = map[uint64]badger.TableManifest{}
		}
	}
	if err != nil {
		return err
	}
	if damage != nil && crashed && len(named.Tables) > 0 {
		damage = nil // a record that a crash cut off is about tables that Badger then does without
	}
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		return err
	}
	spans := map[uint64]tableSpan{}
	unnamed := map[uint64]bool{}
	changed := damage != nil
	for i, entry := range entries {
		id, ok := table.ParseFileID(entry.Name())
		if !ok {
			continue
		}
		_, isNamed := named.Tables[id]
		if !isNamed && crashed && damage == nil {
			continue // Badger removes it
		}
		r.progress("tables", int64(i), int64(len(entries)))
		path := filepath.Join(r.dir, entry.Name())
		span, usable, err := r.table(ctx, path)
		if err != nil {
			return err
		}
		if !usable || !isNamed {
			changed = true
		}
		if usable {
			spans[id], unnamed[id] = span, !isNamed
		}
	}
	for _, id := range slices.Sorted(maps.Keys(named.Tables)) {
		path := table.NewFilename(id, r.dir)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) && !r.kept.has(path) {
			changed = true
			if err := r.done(filepath.Base(path), "it is missing", "lost"); err != nil {
				return err
			}
		}
	}
	if !changed {
		return nil
	}
	levels := map[uint64]uint8{}
	for _, id := range slices.Sorted(maps.Keys(spans)) {
		if levels[id] = named.Tables[id].Level; !unnamed[id] {
			continue
		}
		levels[id] = r.level(id, spans)
		err := r.done(table.IDToFilename(id), "the manifest does not name it", "taken back at level %d", levels[id])
		if err != nil {
			return err
		}
	}
	return r.manifest(levels, damage)
}

// A tableSpan is from the least to the greatest key of a table.
type tableSpan struct{ first, last []byte }

// level is where a table can be that no manifest names: where its keys are those of no other table at the last level,
// which takes no overlap, and otherwise at level 0, where a read looks at the version of what it finds.
func (r *repair) level(id uint64, spans map[uint64]tableSpan) uint8 {
	own := spans[id]
	for other, span := range spans {
		if other != id && bytes.Compare(own.first, span.last) <= 0 && bytes.Compare(span.first, own.last) <= 0 {
			return 0
		}
	}
	return uint8(r.badger.MaxLevels - 1)
}

// has says whether a file of the store is in the quarantine.
func (q *quarantine) has(path string) bool {
	if q.path == "" {
		return false
	}
	_, err := os.Stat(filepath.Join(q.path, filepath.Base(path)))
	return err == nil
}

// manifest makes the manifest again, for tables with their levels.
func (r *repair) manifest(levels map[uint64]uint8, damage error) error {
	path := filepath.Join(r.dir, badger.ManifestFilename)
	if err := r.kept.copyFile(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var changes pb.ManifestChangeSet
	for _, id := range slices.Sorted(maps.Keys(levels)) {
		changes.Changes = append(changes.Changes, &pb.ManifestChange{
			Id: id, Op: pb.ManifestChange_CREATE, Level: uint32(levels[id]),
		})
	}
	text, err := manifestText(&changes)
	if err != nil {
		return err
	}
	if err := r.replaceFile(path, text); err != nil {
		return err
	}
	if damage == nil {
		return nil // its tables were told of
	}
	return r.done(badger.ManifestFilename, damage.Error(), "made again for %d tables", len(levels))
}

// replaceFile puts a text in the place of a file, at once and durably.
func (r *repair) replaceFile(path string, text []byte) error {
	if err := r.kept.sync(); err != nil {
		return err
	}
	begun := filepath.Join(r.dir, "spill-repair.tmp") // which the next open removes
	if err := writeSynced(begun, text); err != nil {
		return wrapSpace(err)
	}
	if err := os.Rename(begun, path); err != nil {
		return err
	}
	return syncDirectory(r.dir)
}

// table makes a table one that Badger can read; usable is false where nothing of it is left.
func (r *repair) table(ctx context.Context, path string) (span tableSpan, usable bool, err error) {
	usable, err = r.repairTable(ctx, path)
	if err != nil || !usable {
		return span, false, err
	}
	t, err := openTableReader(path)
	if err != nil {
		return span, false, err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	first, err := t.first(0)
	if err != nil {
		return span, false, err
	}
	from, to, err := t.place(t.blocks() - 1)
	if err != nil {
		return span, false, err
	}
	entries, _ := blockEntries(t.data[from:to])
	if len(entries) == 0 {
		return span, false, corruptFile(path, "its last block is empty")
	}
	return tableSpan{bytes.Clone(first), y.ParseKey(entries[len(entries)-1].key)}, true, nil
}

func (r *repair) repairTable(ctx context.Context, path string) (usable bool, err error) {
	t, damage := openTableReader(path)
	if errors.Is(damage, ErrCorrupt) {
		if t, err = r.index(path, damage); err != nil || t == nil {
			return false, err
		}
	} else if damage != nil {
		return false, damage
	}
	defer func() { err = errors.Join(err, t.close()) }()
	var bad []int
	for i := range t.blocks() {
		if i%contextEvery == 0 && ctx.Err() != nil {
			return false, ctx.Err()
		}
		if err := t.verify(i); errors.Is(err, ErrCorrupt) {
			bad = append(bad, i)
		} else if err != nil {
			return false, err
		}
	}
	if len(bad) == 0 {
		return true, nil
	}
	return r.blocks(t, bad)
}

// index repairs the index of a table, and opens it; nil where it cannot.
func (r *repair) index(path string, damage error) (*tableReader, error) {
	name := filepath.Base(path)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	mended, ok := mendIndex(data)
	if !ok {
		if err := r.kept.moveFile(path); err != nil {
			return nil, err
		}
		return nil, r.done(name, damage.Error(), "taken out: where its records begin is not known")
	}
	if err := r.kept.copyFile(path); err != nil {
		return nil, err
	}
	if err := r.replaceFile(path, mended); err != nil {
		return nil, err
	}
	if err := r.done(name, damage.Error(), "put right, by its checksum"); err != nil {
		return nil, err
	}
	return openTableReader(path)
}

// blocks repairs blocks of a table; usable is false where nothing of the table is left.
func (r *repair) blocks(t *tableReader, bad []int) (usable bool, err error) {
	name := filepath.Base(t.path)
	if !r.kept.has(t.path) {
		if err := r.kept.copyFile(t.path); err != nil {
			return false, err
		}
	}
	text, whole := slices.Clone(t.data), true
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
			return false, err
		}
	}
	if whole {
		return true, r.replaceFile(t.path, text)
	}
	return r.salvage(t, text, isBad)
}

// salvage writes a table again with the records that are left of it; bad says which of its blocks are damaged.
func (r *repair) salvage(t *tableReader, text []byte, bad map[int]bool) (usable bool, err error) {
	b := table.NewTableBuilder(table.Options{
		TableSize: uint64(2 * len(text)), BlockSize: r.badger.BlockSize, BloomFalsePositive: r.badger.BloomFalsePositive,
		Compression: badgeroptions.None, ChkMode: badgeroptions.NoVerification,
	})
	defer b.Close()
	var last []byte
	for i := range t.blocks() {
		from, to, err := t.place(i)
		if err != nil {
			continue
		}
		entries, lost := blockEntries(text[from:to])
		found := len(entries) + lost
		if bad[i] {
			entries = slices.DeleteFunc(entries, func(e tableEntry) bool { return !trusted(e, t.index.MaxVersion()) })
		}
		for _, e := range entries {
			if last != nil && y.CompareKeys(e.key, last) <= 0 {
				continue
			}
			b.Add(e.key, e.value, 0)
			last = e.key
		}
		if bad[i] {
			err := r.done(filepath.Base(t.path), t.verify(i).Error(), "%d of its %d records are left", len(entries), found)
			if err != nil {
				return false, err
			}
		}
	}
	if b.Empty() {
		if err := r.kept.sync(); err != nil { // a copy is kept
			return false, err
		}
		return false, os.Remove(t.path)
	}
	return true, r.replaceFile(t.path, b.Finish())
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
		_, err := decode(key, e.value.Value)
		return err == nil
	case markDeleted:
		return kindNames[kind(key[0])] != "" && len(e.value.Value) == 0
	}
	return false
}
