package pack

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/dgraph-io/badger/v4/y"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A Fold merges tables into new ones, which do not overlap. It keeps of each key the newest version and those that
// snapshots see. A deletion stays only where it covers something. The tables that it merges do not change.
type Fold struct {
	// From are the paths of the tables, from the oldest on. Of two values of one version of a key, that of the later
	// table counts.
	From []string

	// Seen are the versions that snapshots see.
	Seen []uint64

	// IsDead reports whether nobody reads the records of a key any more.
	IsDead func(key []byte) bool

	// IsCovered reports whether tables that are not merged may hold a record of a key: a deletion of it must stay.
	IsCovered func(key []byte) (bool, error)

	// Name names the next table that is made.
	Name func() string

	// Most is the size at which a table ends, in bytes.
	Most int64
}

// Run makes the tables, durable, and returns their paths in the order of their keys. A damaged block is an ErrCorrupt
// that names its table. After an error there is no new table.
func (f *Fold) Run(ctx context.Context) (made []string, err error) {
	w := &foldWriter{Fold: f, seen: append([]uint64{^uint64(0)}, f.Seen...)}
	slices.SortFunc(w.seen, func(a, b uint64) int { return cmp.Compare(b, a) })
	var in []Input
	defer func() {
		for _, t := range in {
			err = errors.Join(err, t.(*foldInput).reader.Close())
		}
		if err != nil {
			made, err = nil, errors.Join(err, w.remove())
		}
	}()
	err = GuardFaults(func() error {
		for _, path := range f.From {
			r, err := Open(path)
			if err != nil {
				return err
			}
			in = append(in, &foldInput{reader: r})
			w.newest = max(w.newest, r.Index().MaxVersion())
		}
		if err := Merge(ctx, in, w.add); err != nil {
			return err
		}
		return w.end()
	})
	if err != nil {
		return nil, err
	}
	return w.made, nil
}

// A foldInput is a table that is merged.
type foldInput struct {
	reader  *Reader
	block   int // that is next
	entries []Entry
	last    []byte // key
}

// Entry is the entry that it stands on.
func (t *foldInput) Entry() Entry { return t.entries[0] }

// Next goes to the next entry; on is false at the end. It trusts no block whose checksum does not match.
func (t *foldInput) Next() (on bool, err error) {
	if len(t.entries) > 0 {
		t.last, t.entries = t.entries[0].Key, t.entries[1:]
	}
	for len(t.entries) == 0 {
		if t.block == t.reader.Blocks() {
			return false, nil
		}
		if t.entries, err = t.reader.Block(t.block); err != nil {
			return false, err
		}
		t.block++
	}
	if t.last != nil && y.CompareKeys(t.last, t.entries[0].Key) >= 0 {
		return false, record.CorruptFile(t.reader.Path, "block %d: its keys do not ascend", t.block-1)
	}
	return true, nil
}

// A foldWriter writes what stays.
type foldWriter struct {
	*Fold
	seen   []uint64 // versions, the greatest first
	newest uint64   // version of the tables that are merged
	kept   []Entry  // scratch
	table  *Writer  // that is being written; nil for none
	tables []*Writer
	made   []string
}

// add writes of the entries of one key those that stay.
func (w *foldWriter) add(entries []Entry) error {
	key := y.ParseKey(entries[0].Key)
	if bytes.HasPrefix(key, badgersKeys) || w.IsDead(key) { // Badger needs its own in logs alone
		return nil
	}
	w.kept = w.kept[:0]
	blind := w.seen // snapshots for which no version was found yet
	for _, e := range entries {
		version, before := y.ParseTs(e.Key), len(blind)
		for len(blind) > 0 && blind[0] >= version {
			blind = blind[1:]
		}
		if len(blind) < before { // they see this one
			w.kept = append(w.kept, e)
		}
	}
	if err := w.dropDeletions(key); err != nil || len(w.kept) == 0 {
		return err
	}
	if w.table == nil {
		w.table = NewWriter(w.Name())
		w.table.Newest = w.newest
		w.tables = append(w.tables, w.table)
	}
	for _, e := range w.kept {
		if err := w.table.AddEntry(e); err != nil {
			return err
		}
	}
	if w.table.Bytes() < w.Most {
		return nil
	}
	return w.end()
}

// dropDeletions drops, from the oldest version on, the deletions that cover nothing.
func (w *foldWriter) dropDeletions(key []byte) error {
	n := len(w.kept)
	for n > 0 && IsDeleted(w.kept[n-1].Value) {
		n--
	}
	if n == len(w.kept) {
		return nil
	}
	covered, err := w.IsCovered(key)
	if err != nil || covered {
		return err
	}
	w.kept = w.kept[:n]
	return nil
}

// end ends the table that is being written.
func (w *foldWriter) end() error {
	if w.table == nil {
		return nil
	}
	t := w.table
	w.table = nil
	err := t.End()
	if err == nil {
		err = t.Sync()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", t.Path(), err)
	}
	w.made = append(w.made, t.Path())
	return nil
}

func (w *foldWriter) remove() (err error) {
	for _, t := range w.tables {
		err = errors.Join(err, t.Remove(os.Remove))
	}
	return err
}
