package lsm

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/dgraph-io/badger/v4/y"

	"github.com/graphcleaner/graphcleaner/internal/durable"
	"github.com/graphcleaner/graphcleaner/kv/internal/pack"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// A blockPlace is where a block of a table lies, and what is wrong with it; nil for nothing.
type blockPlace struct {
	from, to int
	damage   error
}

// repairTable makes a table one that Badger can read; usable is false if nothing of it is left.
func (r *fileRepair) repairTable(ctx context.Context, path string) (usable bool, err error) {
	r.progress("tables", r.looked, r.all)
	r.looked++
	t, damage := pack.Open(path)
	if errors.Is(damage, record.ErrCorrupt) {
		return r.repairIndex(path, damage)
	}
	if damage != nil {
		return false, damage
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	blocks, whole := make([]blockPlace, t.Blocks()), true
	err = verifyBlocks(ctx, t, func(block int, damage error) { blocks[block].damage, whole = damage, false })
	if err != nil || whole {
		return whole, err
	}
	for i := range blocks {
		b := &blocks[i]
		var misplaced error
		b.from, b.to, misplaced = t.Place(i)
		b.damage = cmp.Or(b.damage, misplaced)
	}
	return r.salvage(path, t.Data, blocks, t.Index().MaxVersion())
}

func (b blockPlace) isDamaged() bool { return b.damage != nil }

// repairIndex is repairTable for a table whose index cannot be read.
func (r *fileRepair) repairIndex(path string, damage error) (usable bool, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return false, err
	}
	blocks, all := searchBlocks(path, data)
	lost, done := Loss{}, "rebuilt"
	if !all {
		lost, done = Loss{Kind: "record of tables", Count: UnknownCount}, "rebuilt for the blocks that were found"
	}
	if len(blocks) == 0 {
		lost, done = Loss{Kind: "table of records", Count: 1}, "taken out: none of its blocks was found"
	}
	if err := r.lose(lost, filepath.Base(path), damage.Error(), "%s", done); err != nil {
		return false, err
	}
	return r.salvage(path, data, blocks, 0)
}

// searchBlocks finds the blocks of a table without its index, by their checksums. A damaged one goes on to where a
// sound one, or the index, begins. all says that nothing is left out before the index.
func searchBlocks(path string, data []byte) (blocks []blockPlace, all bool) {
	index := -1 // where it begins, as the end of the table says
	if body, _, ok := pack.CutChecksum(data); ok && len(body) >= 4 {
		index = len(body) - 4 - int(binary.BigEndian.Uint32(body[len(body)-4:]))
	}
	soundEnd := func(from int) int {
		return blockEnd(data, from, func(to int) bool { return pack.IsSound(data[from:to]) })
	}
	for from := 0; from != index; {
		b := blockPlace{from: from, to: soundEnd(from)}
		if b.to == 0 {
			b.to = blockEnd(data, from, func(to int) bool { return to == index || soundEnd(to) > 0 })
			b.damage = record.CorruptFile(path, "the checksum of the block from byte %d on does not match", from)
		}
		if b.to == 0 {
			return blocks, false
		}
		blocks = append(blocks, b)
		from = b.to
	}
	return blocks, true
}

// blockEnd is the first place behind another, and before the end of a table, where a block may end and found says
// that one does; 0 if there is none.
func blockEnd(data []byte, from int, found func(to int) bool) int {
	const shortest, longest = 2, 8 // encoded checksum
	for to := from + 4 + shortest; to < len(data); to++ {
		if length := binary.BigEndian.Uint32(data[to-4:]); length >= shortest && length <= longest && found(to) {
			return to
		}
	}
	return 0
}

// salvage writes a table again with the records that are left in its blocks; newest is its newest version, zero if
// nobody knows. usable is false if there are none.
func (r *fileRepair) salvage(path string, data []byte, blocks []blockPlace, newest uint64) (usable bool, err error) {
	if err := storedir.CheckRoom(r.dir, int64(len(data))+SpareRoom); err != nil {
		return false, err
	}
	w := pack.NewWriter(filepath.Join(r.dir, salvageName))
	w.Newest = newest
	defer func() {
		if !usable {
			err = errors.Join(err, w.Remove(os.Remove))
		}
	}()
	var last []byte
	for _, block := range blocks {
		entries, count := pack.Entries(data[block.from:block.to])
		left := 0
		for _, e := range entries {
			if block.isDamaged() && !trusted(e, newest) || last != nil && y.CompareKeys(e.Key, last) <= 0 {
				continue
			}
			if err := w.AddEntry(e); err != nil {
				return false, err
			}
			last = e.Key
			left++
		}
		if block.isDamaged() || left < count {
			if err := r.tellOfBlock(filepath.Base(path), block, left, count); err != nil {
				return false, err
			}
		}
	}
	if last == nil {
		return false, os.Remove(path)
	}
	if err := w.End(); err != nil {
		return false, storedir.WrapFull(err)
	}
	if err := errors.Join(w.Sync(), os.Rename(w.Path(), path)); err != nil {
		return false, storedir.WrapFull(err)
	}
	return true, durable.SyncDirectory(r.dir)
}

// salvageName is that of a table that is to replace another.
const salvageName = "spill-salvage.tmp"

// tellOfBlock reports how many records are left of a block.
func (r *fileRepair) tellOfBlock(name string, block blockPlace, left, count int) error {
	damage := "its records are not in order"
	if block.isDamaged() {
		damage = block.damage.Error()
	}
	loss, done := Loss{Kind: "record of tables", Count: int64(count - left),
		AtMost: true}, fmt.Sprintf("%d of its %d records are left", left, count)
	if count == 0 {
		loss, done = Loss{Kind: "record of tables", Count: UnknownCount}, "none of its records can be read"
	}
	return r.lose(loss, name, damage, "%s", done)
}

// Marks that Badger puts beside a value, beside those that a table is read by.
const (
	markDiscardsEarlier  = 1 << 2
	markOfTransaction    = 1 << 6
	markEndOfTransaction = 1 << 7
)

// trusted reports whether an entry of a damaged block can be taken for what was written: its record has a checksum of
// its own, over the key. Of a deletion only the form of the key speaks for it. newest is that of the table, zero if
// nobody knows.
func trusted(e pack.Entry, newest uint64) bool {
	key, version := y.ParseKey(e.Key), y.ParseTs(e.Key)
	if version == 0 || newest > 0 && version > newest || e.Value.ExpiresAt != 0 || e.Value.UserMeta != 0 || len(key) == 0 {
		return false
	}
	switch e.Value.Meta &^ (markDiscardsEarlier | markOfTransaction | markEndOfTransaction) {
	case 0:
		_, err := record.Decode(key, e.Value.Value)
		return err == nil || errors.Is(err, record.ErrNotFound)
	case pack.MarkDeleted:
		return record.Kind(key[0]).String() != "" && len(e.Value.Value) == 0
	}
	return false
}
