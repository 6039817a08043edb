package lsm

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"

	"github.com/graphcleaner/graphcleaner/kv/internal/pack"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// A Correction is one thing that RepairFiles did. It names the file, the damage, the action and the loss.
type Correction struct {
	Where, What, Done string
	Lost              Loss
}

// A Loss counts the lost things of a kind, or bounds their number; there are none if Count is zero.
type Loss struct {
	Kind   string
	Count  int64
	AtMost bool
}

// UnknownCount is the Count of a Loss if nobody knows how many were lost.
const UnknownCount = -1

// A fileRepair is one run of RepairFiles.
type fileRepair struct {
	dir      string
	opt      badger.Options
	progress func(stage string, done, total int64)
	report   func(Correction) error
	delayed  *[]Correction // not nil: what is done goes there, and is not reported
	copied   []byte        // of the catalogue; nil if there is none
}

// RepairFiles makes the files of a database, which is not open, ones that Badger can open, and reports what it does. It returns the copy of
// the catalogue that the file of it has, nil if there is none.
func RepairFiles(
	ctx context.Context, dir string, opt Options, progress func(stage string, done, total int64), report func(Correction) error,
) (copied []byte, err error) {
	b, err := badgerOptions(dir, opt)
	if err != nil {
		return nil, err
	}
	r := &fileRepair{dir: dir, opt: b, progress: progress, report: report}
	err = guardFaults(func() error {
		if err := r.registry(); err != nil {
			return err
		}
		if err := r.logs(); err != nil {
			return err
		}
		if err := r.packs(ctx); err != nil {
			return err
		}
		return r.tables(ctx)
	})
	return r.copied, err
}

// done reports what was done, or is about to be.
func (r *fileRepair) done(where, what, done string, args ...any) error {
	return r.lose(Loss{}, where, what, done, args...)
}

// lose is done for what loses something for good.
func (r *fileRepair) lose(lost Loss, where, what, done string, args ...any) error {
	return r.tell(Correction{Where: where, What: what, Done: fmt.Sprintf(done, args...), Lost: lost})
}

func (r *fileRepair) tell(m Correction) error {
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
	return r.done(badger.KeyRegistryFileName, err.Error(), "rebuilt: nothing is encrypted, it holds no key")
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
		case len(head) < logHeader:
			lost := Loss{Kind: "commit", Count: UnknownCount}
			if len(head) == 0 { // Badger makes logs by way of an empty file
				lost = Loss{}
			}
			if err = os.Remove(path); err == nil {
				short := fmt.Sprintf("it has %d bytes, want at least %d", len(head), logHeader)
				err = r.lose(lost, name, short, "taken out: it holds no commit")
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

// A blockPlace is where a block of a table lies, and what is wrong with it; nil for nothing.
type blockPlace struct {
	from, to int
	damage   error
}

// repairTable makes a table one that Badger can read; usable is false if nothing of it is left, whole if nothing of it
// is lost.
func (r *fileRepair) repairTable(ctx context.Context, path string) (usable, whole bool, err error) {
	t, damage := pack.Open(path)
	if errors.Is(damage, record.ErrCorrupt) {
		return r.repairIndex(path, damage)
	}
	if damage != nil {
		return false, false, damage
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	blocks := make([]blockPlace, t.Blocks())
	for i := range blocks {
		if i%contextEvery == 0 && ctx.Err() != nil {
			return false, false, ctx.Err()
		}
		b := &blocks[i]
		if b.from, b.to, b.damage = t.Place(i); b.damage == nil {
			b.damage = t.Verify(i)
		}
		if b.damage != nil && !errors.Is(b.damage, record.ErrCorrupt) {
			return false, false, b.damage
		}
	}
	if !slices.ContainsFunc(blocks, blockPlace.isDamaged) {
		return true, true, nil
	}
	usable, err = r.salvage(path, t.Data, blocks, t.Index().MaxVersion())
	return usable, false, err
}

func (b blockPlace) isDamaged() bool { return b.damage != nil }

// repairIndex is repairTable for a table whose index cannot be read.
func (r *fileRepair) repairIndex(path string, damage error) (usable, whole bool, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return false, false, err
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
		return false, false, err
	}
	usable, err = r.salvage(path, data, blocks, math.MaxUint64)
	return usable, all && !slices.ContainsFunc(blocks, blockPlace.isDamaged), err
}

// searchBlocks finds the blocks of a table without its index, by their checksums. A damaged one goes on to where a sound one, or
// the index, begins. all says that nothing is left out before the index.
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

// blockEnd is the first place behind another, and before the end of a table, where a block may end and found says that one
// does; 0 if there is none.
func blockEnd(data []byte, from int, found func(to int) bool) int {
	const shortest, longest = 2, 8 // encoded checksum
	for to := from + 4 + shortest; to < len(data); to++ {
		if length := binary.BigEndian.Uint32(data[to-4:]); length >= shortest && length <= longest && found(to) {
			return to
		}
	}
	return 0
}

// salvage writes a table again with the records that are left in its blocks. usable is false if there are none.
func (r *fileRepair) salvage(path string, data []byte, blocks []blockPlace, maxVersion uint64) (usable bool, err error) {
	b := table.NewTableBuilder(r.tableOptions(uint64(2 * len(data))))
	defer b.Close()
	var last []byte
	for _, block := range blocks {
		entries, count := pack.Entries(data[block.from:block.to])
		left := 0
		for _, e := range entries {
			if block.isDamaged() && !trusted(e, maxVersion) || last != nil && y.CompareKeys(e.Key, last) <= 0 {
				continue
			}
			b.Add(e.Key, e.Value, 0)
			last = e.Key
			left++
		}
		if block.isDamaged() || left < count {
			if err := r.tellOfBlock(filepath.Base(path), block, left, count); err != nil {
				return false, err
			}
		}
	}
	if b.Empty() {
		return false, os.Remove(path)
	}
	return true, storedir.ReplaceFile(path, b.Finish())
}

// tellOfBlock reports how many records are left of a block.
func (r *fileRepair) tellOfBlock(name string, block blockPlace, left, count int) error {
	damage := "its records are not in order"
	if block.isDamaged() {
		damage = block.damage.Error()
	}
	loss, done := Loss{Kind: "record of tables", Count: int64(count - left), AtMost: true}, fmt.Sprintf("%d of its %d records are left", left, count)
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

// trusted reports whether an entry of a damaged block can be taken for what was written: its record has a checksum of its
// own, over the key. Of a deletion only the form of the key speaks for it.
func trusted(e pack.Entry, maxVersion uint64) bool {
	key, version := y.ParseKey(e.Key), y.ParseTs(e.Key)
	if version == 0 || version > maxVersion || e.Value.ExpiresAt != 0 || e.Value.UserMeta != 0 || len(key) == 0 {
		return false
	}
	switch e.Value.Meta &^ (markDiscardsEarlier | markOfTransaction | markEndOfTransaction) {
	case 0:
		_, err := record.Decode(key, e.Value.Value)
		return err == nil
	case pack.MarkDeleted:
		return record.Kind(key[0]).String() != "" && len(e.Value.Value) == 0
	}
	return false
}
