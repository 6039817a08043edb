package lsm

import (
	"errors"
	"os"

	"github.com/dgraph-io/badger/v4/table"

	"github.com/graphcleaner/graphcleaner/kv/internal/pack"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A Restorer writes a closed database from records whose keys ascend: those of generations as packs, and the rest as
// tables of Badger. A crash leaves what is to be removed.
type Restorer struct {
	dir    string
	newest uint64
	packs  *PackWriter
	own    *pack.Writer // nil if there is none that has not ended
	tables []uint64     // numbers of Badger's tables
}

// NewRestorer begins a database in an empty directory, whose last commit has a version.
func NewRestorer(dir string, newest uint64) *Restorer {
	packs := (&DB{dir: dir, failure: new(writeFailure)}).NewPacks()
	return &Restorer{dir: dir, newest: newest, packs: packs}
}

// Add adds a record of a version. The caller may reuse key and value.
func (r *Restorer) Add(key, value []byte, version uint64) error {
	if record.Kind(key[0]).InPacks() {
		return r.packs.add(key, value, version)
	}
	if r.own == nil {
		id := uint64(len(r.tables) + 1)
		r.own = pack.NewWriter(table.NewFilename(id, r.dir))
		r.own.Newest = r.newest
		r.tables = append(r.tables, id)
	}
	err := r.own.Add(key, value, version)
	if err == nil && r.own.Bytes() >= packBytes {
		err = r.endOwn()
	}
	return wrapBadger(err)
}

func (r *Restorer) endOwn() error {
	if r.own == nil {
		return nil
	}
	err := errors.Join(r.own.End(), r.own.Sync())
	if err == nil {
		r.own = nil
	}
	return err
}

// Finish makes all of it durable.
func (r *Restorer) Finish() error {
	if err := r.endOwn(); err != nil {
		return wrapBadger(err)
	}
	if err := r.packs.Finish(); err != nil {
		return err
	}
	r.packs.ended = nil
	m := manifest{levels: map[uint64]uint8{}}
	for _, id := range r.tables {
		m.levels[id] = 0
	}
	if err := m.write(r.dir, nil); err != nil {
		return err
	}
	return showPacks(r.dir)
}

// Cancel gives its files back, if it was not finished.
func (r *Restorer) Cancel() error {
	err := r.packs.Cancel()
	if r.own != nil {
		err = errors.Join(err, r.own.Remove(os.Remove))
		r.own = nil
	}
	return err
}
