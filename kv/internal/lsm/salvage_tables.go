package lsm

import (
	"encoding/binary"
	"errors"
	"path/filepath"
	"slices"

	"github.com/dgraph-io/badger/v4/y"

	"github.com/graphcleaner/graphcleaner/kv/internal/pack"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A salvaged is entries that are still to be read.
type salvaged struct {
	now  pack.Entry
	rest []pack.Entry
}

// Entry is the entry that it stands on.
func (s *salvaged) Entry() pack.Entry { return s.now }

// Next goes to the next entry.
func (s *salvaged) Next() (on bool, err error) {
	if len(s.rest) == 0 {
		return false, nil
	}
	s.now, s.rest = s.rest[0], s.rest[1:]
	return true, nil
}

// A salvagedTable is a table of which the entries that verify are read.
type salvagedTable struct {
	salvaged
	*salvage
	reader *pack.Reader
	isPack bool
	count  int          // of blocks
	found  []blockPlace // the blocks, if the index is damaged
	newest uint64       // version
	next   int          // block
	last   []byte       // the last key of the blocks before
	damage error        // that was met first
	lost   Losses
}

// A blockPlace is where a block of a table lies, and what is wrong with it; nil for nothing.
type blockPlace struct {
	from, to int
	damage   error
}

// openTable opens a table, and returns its newest version.
func (s *salvage) openTable(path string, isPack bool) (newest uint64, err error) {
	t := &salvagedTable{salvage: s, isPack: isPack}
	if t.reader, t.damage = pack.Open(path); errors.Is(t.damage, record.ErrCorrupt) {
		t.reader, err = pack.Map(path)
		if errors.Is(err, record.ErrCorrupt) { // it is empty
			return 0, s.tell(err, lostTable, filepath.Base(path), "lost")
		}
	} else {
		err = t.damage
	}
	if err != nil {
		return 0, err
	}
	s.closers = append(s.closers, t.reader.Close)
	if t.damage == nil {
		t.count, t.newest = t.reader.Blocks(), t.reader.Index().MaxVersion()
	} else if err := t.search(); err != nil {
		return 0, err
	} else if t.count == 0 {
		return 0, s.tell(t.damage, lostTable, filepath.Base(path), "lost: none of its blocks was found")
	}
	s.newest = max(s.newest, t.newest)
	s.blocks += int64(t.count)
	s.bytes += t.reader.Mark.Size
	s.inputs = append(s.inputs, t)
	return t.newest, nil
}

// search finds the blocks of a table without its index.
func (t *salvagedTable) search() error {
	var all bool
	t.found, all = searchBlocks(t.reader.Path, t.reader.Data, func() bool { return t.ctx.Err() != nil })
	if err := t.ctx.Err(); err != nil {
		return err
	}
	if !all {
		t.lost.Add(Loss{Kind: "record of tables", Count: UnknownCount})
	}
	t.count = len(t.found)
	for _, b := range t.found {
		if b.damage == nil {
			entries, _ := pack.Entries(t.reader.Data[b.from:b.to])
			for _, e := range entries {
				t.newest = max(t.newest, y.ParseTs(e.Key))
			}
		}
	}
	return nil
}

// searchBlocks finds the blocks of a table without its index, by their checksums. A damaged one goes on to where a
// sound one, or the index, begins. all says that nothing is left out before the index. The search ends if stop says so.
func searchBlocks(path string, data []byte, stop func() bool) (blocks []blockPlace, all bool) {
	index := -1 // where it begins, as the end of the table says
	if body, _, ok := pack.CutChecksum(data); ok && len(body) >= 4 {
		index = len(body) - 4 - int(binary.BigEndian.Uint32(body[len(body)-4:]))
	}
	soundEnd := func(from int) int {
		near := data[:min(len(data), from+longestBlock)]
		return blockEnd(near, from, func(to int) bool { return pack.IsSound(data[from:to]) })
	}
	for from := 0; from != index && !stop(); {
		b := blockPlace{from: from, to: soundEnd(from)}
		if b.to == 0 {
			b.to = blockEnd(data, from, func(to int) bool { return to == index || soundEnd(to) > 0 || stop() })
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

// longestBlock is above the size of any block: a record that is longer than others is alone in its block.
const longestBlock = valueThreshold + pack.BlockSize

// blockEnd is the first place after another, and before the end of a table, where a block may end and found says
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

// Next goes to the next entry that verifies. At the end it reports the damage.
func (t *salvagedTable) Next() (on bool, err error) {
	for len(t.rest) == 0 {
		if t.next == t.count {
			return false, t.end()
		}
		t.read(t.place(t.next))
		t.next++
		t.salvage.read++
		t.progress("tables", t.salvage.read, t.blocks)
	}
	return t.salvaged.Next()
}

// place is where a block lies.
func (t *salvagedTable) place(i int) (b blockPlace) {
	if t.found != nil {
		return t.found[i]
	}
	if b.from, b.to, b.damage = t.reader.Place(i); b.damage == nil {
		b.damage = t.reader.Verify(i)
	}
	return b
}

// read reads the entries of a block that verify, and counts the others.
func (t *salvagedTable) read(b blockPlace) {
	count := 0
	fault := pack.GuardFile(t.reader.Path, func() (err error) {
		var entries []pack.Entry
		entries, count = pack.Entries(t.reader.Data[b.from:min(b.to, len(t.reader.Data))])
		for _, e := range entries {
			switch {
			case b.damage == nil && pack.IsBadgers(e.Key):
				count--
			case trusted(e, t.newest) && (t.last == nil || y.CompareKeys(e.Key, t.last) > 0):
				t.rest = append(t.rest, e)
				t.last = e.Key
				if !t.isPack {
					t.note(e)
				}
			}
		}
		return nil
	})
	lost := Loss{Kind: "record of tables", Count: int64(count - len(t.rest)), AtMost: b.damage != nil}
	if b.damage == nil && lost.Count > 0 {
		b.damage = record.CorruptFile(t.reader.Path, "some of its records are damaged")
	}
	if fault != nil || b.damage != nil && count == 0 {
		lost.Count = UnknownCount
	}
	if t.damage == nil {
		t.damage = b.damage
	}
	t.lost.Add(lost)
}

// end reports the damage, once.
func (t *salvagedTable) end() error {
	damage := t.damage
	t.damage = nil
	return t.tell(damage, t.lost, filepath.Base(t.reader.Path), "what can be read of it is left")
}

// trusted reports whether an entry can be taken for what was written: its record has a checksum of its own, over the
// key. newest is the version of the table.
func trusted(e pack.Entry, newest uint64) bool {
	key, version := y.ParseKey(e.Key), y.ParseTs(e.Key)
	if version == 0 || version > newest || e.Value.ExpiresAt != 0 || e.Value.UserMeta != 0 || !record.IsKnown(key) {
		return false
	}
	_, err := record.Decode(key, e.Value.Value)
	return e.Value.Meta&^(markDiscardsEarlier|markOfTransaction|markEndOfTransaction) == 0 && (err == nil || isDeletion(e))
}

// note keeps in mind the generation of an entry that is in no pack.
func (s *salvage) note(e pack.Entry) {
	if record.Kind(e.Key[0]) >= record.FirstGenerational && !isDeletion(e) {
		s.found.Last = max(s.found.Last, record.GenerationOf(e.Key))
	}
}

// isDeletion says whether an entry has a key be deleted.
func isDeletion(e pack.Entry) bool {
	return record.IsDeletion(y.ParseKey(e.Key), e.Value.Value)
}

// readLogs reads the logs of memtables. Their entries fit into memory, as those of memtables do.
func (s *salvage) readLogs() error {
	logs, err := openLogs(s.dir)
	all := new(salvaged)
	for _, l := range logs {
		s.closers = append(s.closers, func() error { return l.file.Close(-1) })
		var lost Losses
		for _, e := range l.entries {
			s.newest = max(s.newest, y.ParseTs(e.Key))
			s.bytes += entryRoom(e.Key, e.Value.Value)
			if trusted(e, s.newest) {
				all.rest = append(all.rest, e)
				s.note(e)
			} else if !pack.IsBadgers(e.Key) {
				lost.Add(Loss{Kind: "record of tables", Count: 1})
			}
		}
		if len(lost) > 0 {
			damage := record.CorruptFile(l.file.Fd.Name(), "some of its records are damaged")
			err = errors.Join(err, s.tell(damage, lost, filepath.Base(l.file.Fd.Name()), "left out"))
		}
	}
	slices.Reverse(all.rest) // of two of one version of a key, the later one counts
	slices.SortStableFunc(all.rest, func(a, b pack.Entry) int { return y.CompareKeys(a.Key, b.Key) })
	s.inputs = append(s.inputs, all)
	return err
}
