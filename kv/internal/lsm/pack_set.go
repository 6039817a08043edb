package lsm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"

	"github.com/graphcleaner/graphcleaner/kv/internal/pack"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// A pack is a table that holds records of one kind and one generation. So packs never overlap, and a generation goes
// with its packs. As the name of a pack has its generation, the catalogue, which names generations, says which packs
// there are.
type packID struct {
	number     uint64 // that no other pack has
	generation record.Generation
}

const (
	// packNumber is added to the number of a pack in the manifest of a closed database. Badger's own tables have smaller
	// numbers, and no table may have one of more than 32 bits.
	packNumber = 2_000_000_000

	// packSuffix ends the name of a pack in a database that is open for writing. In one that is closed it has the name
	// of a table.
	packSuffix = ".pack"
)

func isPack(table uint64) bool { return table >= packNumber }

// openPath is the path of a pack in a database that is open for writing.
func (id packID) openPath(dir string) string {
	return filepath.Join(dir, fmt.Sprintf("%d-%06d%s", id.generation, id.number, packSuffix))
}

// closedPath is the path of a pack in a database that is closed.
func (id packID) closedPath(dir string) string { return table.NewFilename(packNumber+id.number, dir) }

// parseOpenPack is the pack of a name in a database that is open for writing.
func parseOpenPack(name string) (id packID, ok bool) {
	name, ok = strings.CutSuffix(name, packSuffix)
	generation, number, both := strings.Cut(name, "-")
	if !ok || !both {
		return id, false
	}
	g, err := strconv.ParseUint(generation, 10, 32)
	n, err2 := strconv.ParseUint(number, 10, 32)
	return packID{n, record.Generation(g)}, err == nil && err2 == nil
}

// A heldPack is a pack of a database that is open for writing.
type heldPack struct {
	*pack.Table
	id   packID
	sets int  // that have it
	gone bool // it is to be removed once no set has it
}

// A stream is how the keys of a pack begin: a kind and a generation.
type stream [5]byte

func (h *heldPack) stream() stream { return stream(h.First[:len(stream{})]) }

// A packSet is what a snapshot sees of packs. It does not change.
type packSet struct {
	packs   []*heldPack // by their first keys
	all     pack.Tables
	streams map[stream]pack.Tables
	users   int
}

func newPackSet(packs []*heldPack) *packSet {
	s := &packSet{packs: packs, streams: map[stream]pack.Tables{}}
	slices.SortFunc(s.packs, func(a, b *heldPack) int { return y.CompareKeys(a.First, b.First) })
	var run []*pack.Table
	for i, h := range s.packs {
		run = append(run, h.Table)
		if i+1 == len(s.packs) || s.packs[i+1].stream() != h.stream() {
			from := i
			for from > 0 && s.packs[from-1].stream() == h.stream() {
				from--
			}
			s.streams[h.stream()] = pack.Tables{run[from : i+1 : i+1]}
		}
	}
	if len(run) > 0 {
		s.all = pack.Tables{run}
	}
	return s
}

// of are the packs that may have keys with a prefix; none of an incomplete prefix of a stream.
func (s *packSet) of(key []byte) pack.Tables {
	if s == nil || len(key) < len(stream{}) {
		return nil
	}
	return s.streams[stream(key[:len(stream{})])]
}

// mayHave reports whether one of the packs has a record of a key, or cannot tell. A deletion of the key is to hide that.
func (s *packSet) mayHave(key []byte) bool {
	tables := s.of(key)
	if tables == nil {
		return false
	}
	return !errors.Is(guardFaults(func() error {
		_, _, err := tables.Cursors().Get(key)
		return err
	}), record.ErrNotFound)
}

// packs are those of a database that is open for writing. Who reads has the set that counted when it began. A pack
// that no set has any more is closed, and its file is removed if it is to go.
type packs struct {
	mu   sync.Mutex
	dir  string
	disk storedir.Disk // of dir, which may have been moved
	now  *packSet
	last uint64 // the greatest number that was given out; of who holds the writer's lock

	opened  bool // OpenPacks has opened them
	crashed bool // the database was left by a crash
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

func (p *packs) mayHave(key []byte) bool {
	s := p.acquire()
	defer p.release(s) //nolint:errcheck // a pack that stays behind is removed by the next open
	return s.mayHave(key)
}

// replace has other packs count. Those left out go.
func (p *packs) replace(next []*heldPack) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.now
	p.now = newPackSet(next)
	for _, h := range next {
		h.sets++
	}
	for _, h := range before.packs {
		h.gone = !slices.ContainsFunc(next, func(n *heldPack) bool { return n.id == h.id })
	}
	return p.end(before)
}

// end lets go of the packs of a set that neither counts nor is used.
func (p *packs) end(s *packSet) (err error) {
	if s == p.now || s.users > 0 {
		return nil
	}
	for _, h := range s.packs {
		if h.sets--; h.sets > 0 {
			continue
		}
		err = errors.Join(err, h.Close())
		if h.gone {
			err = errors.Join(err, p.disk.Remove(h.id.openPath(p.dir)))
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
	if d.tables != nil || d.readOnly {
		return nil
	}
	f, err := list(d.dir)
	if err != nil {
		return err
	}
	for number, listed := range d.catalog.packs {
		if id := (packID{number, generationOf(listed)}); live(id.generation) && !slices.Contains(f.open, id) {
			return record.CorruptFile(id.openPath(d.dir), "it is missing")
		}
	}
	var held []*heldPack
	for _, id := range f.open {
		d.packs.last = max(d.packs.last, id.number)
		path := id.openPath(d.dir)
		if !live(id.generation) {
			if err := os.Remove(path); err != nil {
				return err
			}
			continue
		}
		h, err := d.openPack(id, path)
		if err != nil {
			return err
		}
		held = append(held, h)
	}
	d.packs.opened = true
	return d.packs.replace(held)
}

// openPack makes sure that a file is a pack of its number.
func (d *DB) openPack(id packID, path string) (*heldPack, error) {
	listed, err := d.catalog.look(id.number, path)
	if err != nil {
		return nil, err
	}
	if generationOf(listed) != id.generation {
		return nil, record.CorruptFile(path, "it begins with %s", record.Describe(y.ParseKey(listed.First)))
	}
	return &heldPack{Table: pack.NewTable(d.disk, path, listed), id: id}, nil
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
func (d *DB) KeepPacks(live func(g record.Generation) bool, changed bool, body func() ([]byte, error)) (dropped int64, err error) {
	if err := d.failure.err(); err != nil {
		return 0, err
	}
	d.packs.mu.Lock()
	before := d.packs.now.packs
	d.packs.mu.Unlock()
	var kept []*heldPack
	for _, h := range before {
		if live(h.id.generation) {
			kept = append(kept, h)
		} else {
			dropped += h.Size
		}
	}
	if changed || !d.catalog.has(kept) {
		text, err := body()
		if err == nil {
			err = d.catalog.write(d.dir, text, kept)
		}
		if err != nil {
			return 0, fmt.Errorf("the file %s: %w", CatalogName, err)
		}
	}
	if len(kept) == len(before) {
		return 0, nil
	}
	return dropped, d.packs.replace(kept)
}
