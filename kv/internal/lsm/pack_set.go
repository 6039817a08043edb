package lsm

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/dgraph-io/badger/v4/y"

	"github.com/graphcleaner/graphcleaner/kv/internal/pack"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// A pack is a table that holds records of one kind and one generation. So packs never overlap, and a generation goes
// with its packs: the catalogue, which names generations, says which packs there are.
const (
	// firstPack is below the numbers of packs, each of which no other pack has. Badger's own tables have smaller
	// numbers, and no table may have one of more than 32 bits.
	firstPack = 2_000_000_000

	// packSuffix ends the name of a pack in a database that is open for writing. In one that is closed it has the name
	// of a table.
	packSuffix = ".pack"
)

func isPack(id uint64) bool { return id > firstPack }

// openPath is the path of a pack in a database that is open for writing.
func openPath(dir string, id uint64) string { return filepath.Join(dir, fmt.Sprint(id, packSuffix)) }

// parseOpenPack is the pack of a name in a database that is open for writing.
func parseOpenPack(name string) (id uint64, ok bool) {
	digits, ok := strings.CutSuffix(name, packSuffix)
	id, err := strconv.ParseUint(digits, 10, 32)
	return id, ok && err == nil && isPack(id)
}

// A heldTable is a table that is read here and not by Badger.
type heldTable struct {
	*pack.Table
	id   uint64
	path string
	sets int  // that have it
	gone bool // it is to be removed once no set has it
}

// A stream is how the keys of a pack begin: a kind and a generation.
type stream [5]byte

// streamOf is that of a key with a generation.
func streamOf(key []byte) stream { return stream(key[:len(stream{})]) }

// A packSet has the tables of a snapshot that are read here: of a database that is open for writing the
// packs, and else all tables. It does not change.
type packSet struct {
	tables  []*heldTable // packs by their first keys
	all     pack.Tables
	streams map[stream]pack.Tables // of packs; nil if there are other tables
	users   int
}

// newPackSet is the set of some packs.
func newPackSet(packs []*heldTable) *packSet {
	s := &packSet{tables: packs, streams: map[stream]pack.Tables{}}
	slices.SortFunc(packs, func(a, b *heldTable) int { return y.CompareKeys(a.First, b.First) })
	var run []*pack.Table
	for _, h := range packs {
		run = append(run, h.Table)
		if of := s.streams[streamOf(h.First)]; of == nil {
			s.streams[streamOf(h.First)] = pack.Tables{{h.Table}}
		} else {
			of[0] = append(of[0], h.Table)
		}
	}
	if len(run) > 0 {
		s.all = pack.Tables{run}
	}
	return s
}

// of are the tables that may have keys with a prefix.
func (s *packSet) of(key []byte) pack.Tables {
	if s.streams == nil || len(key) < len(stream{}) {
		return s.all
	}
	return s.streams[streamOf(key)]
}

// mayHave reports whether one of the packs has a record of a key, or is damaged there. A deletion of the key is to hide
// that.
func (s *packSet) mayHave(key []byte) bool {
	err := guard(key, func() error { return s.of(key).Cursors().Lack(key) })
	return err != nil
}

// packs are the tables of a database that are read here. Who reads has the set that counted when it began. A table
// that no set has any more is closed, and its file is removed if it is to go.
type packs struct {
	mu   sync.Mutex
	disk storedir.Disk // of the directory, which may have been moved
	now  *packSet
	last uint64 // the greatest number that was given out; of who holds the writer's lock
}

// acquire is the set that counts, to be released.
func (p *packs) acquire() *packSet {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now.users++
	return p.now
}

func (p *packs) release(s *packSet) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.users--
	return p.end(s)
}

// replace has another set count. Packs that it leaves out go.
func (p *packs) replace(next *packSet) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.now
	p.now = next
	for _, h := range next.tables {
		h.sets++
	}
	for _, h := range before.tables {
		h.gone = !slices.ContainsFunc(next.tables, func(n *heldTable) bool { return n.id == h.id })
	}
	return p.end(before)
}

// end lets go of the packs of a set that neither counts nor is used.
func (p *packs) end(s *packSet) (err error) {
	if s == p.now || s.users > 0 {
		return nil
	}
	for _, h := range s.tables {
		if h.sets--; h.sets > 0 {
			continue
		}
		err = errors.Join(err, h.Close())
		if h.gone {
			err = errors.Join(err, p.disk.Remove(h.path))
		}
	}
	return err
}

// close lets go of all packs. Nobody reads.
func (p *packs) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.now
	p.now = newPackSet(nil)
	return p.end(s)
}

// OpenPacks has the packs of live generations be read. All others are removed: they are of a write that a crash has
// ended. It is called once the catalogue can be read, before anything is read from packs.
func (d *DB) OpenPacks(live func(g record.Generation) bool) error {
	if d.db == nil {
		return nil
	}
	f, err := list(d.dir)
	if err != nil {
		return err
	}
	for id, listed := range d.catalog.Packs {
		if live(generationOf(listed)) && !slices.Contains(f.open, id) {
			return record.CorruptFile(openPath(d.dir, id), "it is missing")
		}
	}
	var held []*heldTable
	for _, id := range f.open {
		d.packs.last = max(d.packs.last, id)
		h, err := d.openPack(id)
		listed, isListed := d.catalog.Packs[id]
		unfinished := d.crashed && (!isListed || !live(generationOf(listed))) && errors.Is(err, record.ErrCorrupt)
		switch {
		case !unfinished && err != nil:
			return err
		case unfinished || !live(generationOf(h.Listed)):
			if err := os.Remove(openPath(d.dir, id)); err != nil {
				return err
			}
		default:
			held = append(held, h)
		}
	}
	d.opened = true
	return d.packs.replace(newPackSet(held))
}

// openPack makes sure that a file is a pack.
func (d *DB) openPack(id uint64) (*heldTable, error) {
	path := openPath(d.dir, id)
	listed, err := d.catalog.look(id, path)
	if err != nil {
		return nil, err
	}
	if generationOf(listed) == 0 {
		return nil, record.CorruptFile(path, "it begins with %s", record.Describe(y.ParseKey(listed.First)))
	}
	return &heldTable{Table: pack.NewTable(d.disk, path, listed), id: id, path: path}, nil
}

// generationOf is the generation of a pack, zero if it is none.
func generationOf(listed pack.Listed) record.Generation {
	if key := y.ParseKey(listed.First); len(key) >= len(stream{}) {
		return record.GenerationOf(key)
	}
	return 0
}

// KeepPacks lets go of the packs of generations that are not live. Snapshots go on reading them. If the packs that
// are left are not those of the file of the catalogue, or the catalogue has changed, that is written first, with what
// body returns. dropped is the bytes of the packs that were let go.
func (d *DB) KeepPacks(
	live func(g record.Generation) bool, changed bool, body func() ([]byte, error),
) (dropped int64, err error) {
	if err := d.failure.err(); err != nil {
		return 0, err
	}
	d.packs.mu.Lock()
	before := d.packs.now.tables
	d.packs.mu.Unlock()
	var kept []*heldTable
	listed := map[uint64]pack.Listed{}
	for _, h := range before {
		if live(generationOf(h.Listed)) {
			kept = append(kept, h)
			listed[h.id] = h.Listed
		} else {
			dropped += h.Size
		}
	}
	same := func(a, b pack.Listed) bool { return a.Mark == b.Mark }
	if changed || !maps.EqualFunc(listed, d.catalog.Packs, same) {
		text, err := body()
		if err == nil {
			err = d.catalog.write(d.dir, catalogFile{text, listed})
		}
		if err != nil {
			return 0, err
		}
	}
	if len(kept) == len(before) {
		return 0, nil
	}
	return dropped, d.packs.replace(newPackSet(kept))
}
