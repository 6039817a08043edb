package lsm

import (
	"github.com/dgraph-io/badger/v4/table"

	"github.com/graphcleaner/graphcleaner/kv/internal/pack"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A Restorer writes a closed database from records whose keys ascend: those of generations as packs, and the rest as
// tables of Badger. A crash leaves what is to be removed.
type Restorer struct {
	own   manifest // of Badger's tables
	files *PackWriter
}

// NewRestorer begins a database in an empty directory, whose last commit has a version.
func NewRestorer(dir string, newest uint64) *Restorer {
	files := (&DB{dir: dir, failure: new(writeFailure)}).NewPacks()
	r := &Restorer{own: manifest{levels: map[uint64]uint8{}}, files: files}
	files.own = func() *pack.Writer {
		id := uint64(len(r.own.levels) + 1)
		r.own.levels[id] = 0
		w := pack.NewWriter(table.NewFilename(id, dir))
		w.Newest = newest
		return w
	}
	return r
}

// Add adds a record of a version. The caller may reuse key and value.
func (r *Restorer) Add(key, value []byte, version uint64) error {
	if record.Kind(key[0]).InPacks() {
		return r.files.add(streamOf(key), key, value, version)
	}
	return r.files.add(ownStream, key, value, version)
}

// Finish makes all of it durable.
func (r *Restorer) Finish() error {
	if err := r.files.Flush(); err != nil {
		return err
	}
	r.files.ended = nil
	if err := r.own.write(r.files.d.dir, nil); err != nil {
		return err
	}
	return showPacks(r.files.d.dir)
}

// Cancel gives its files back, if it was not finished.
func (r *Restorer) Cancel() error { return r.files.Cancel() }
