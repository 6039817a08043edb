package lsm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/dgraph-io/badger/v4/table"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A fileRepair is one run of RepairFiles.
type fileRepair struct {
	dir      string
	progress func(stage string, done, total int64)
	report   func(Correction) error
	crashed  bool   // the database was left by a crash
	copied   []byte // of the catalogue; nil if there is none

	looked, all int64 // tables and packs: at how many it has looked, and how many there are
}

// RepairFiles makes the files of a database, which is not open, ones that Badger can open, and reports what it does.
// Packs have the names then of a database that is open for writing, and the file of the catalogue is gone: it is
// written again once they are open. RepairFiles returns the copy of the catalogue that the file has, nil if there is
// none.
func RepairFiles(
	ctx context.Context, dir string, progress func(stage string, done, total int64), report func(Correction) error,
) (copied []byte, err error) {
	r := &fileRepair{dir: dir, progress: progress, report: report}
	err = guardFaults(func() (err error) {
		var f files
		r.crashed, err = leftByCrash(dir)
		if err == nil {
			f, err = list(dir)
		}
		r.all = int64(len(f.tables) + len(f.closed) + len(f.open))
		if err == nil {
			err = r.registry()
		}
		if err == nil {
			err = r.logs(f.logs)
		}
		if err != nil {
			return err
		}
		m, damage := readManifest(dir)
		if errors.Is(damage, fs.ErrNotExist) {
			damage = record.CorruptFile(filepath.Join(dir, ManifestName), "it is missing")
		}
		if damage != nil && !errors.Is(damage, record.ErrCorrupt) {
			return damage
		}
		if damage == nil && m.cut == nil && m.isForeign(f) {
			damage = record.CorruptFile(filepath.Join(dir, ManifestName), foreign+", or it is older than the tables")
		}
		if err := r.packs(ctx, f, m); err != nil {
			return err
		}
		return r.tables(ctx, f, m, damage)
	})
	return r.copied, err
}

// done reports what was done, or is about to be.
func (r *fileRepair) done(where, what, done string, args ...any) error {
	return r.lose(Loss{}, where, what, done, args...)
}

// lose is done for what loses something for good.
func (r *fileRepair) lose(lost Loss, where, what, done string, args ...any) error {
	m := Correction{Where: where, What: what, Done: fmt.Sprintf(done, args...)}
	m.Lost.Add(lost)
	return r.report(m)
}

func (r *fileRepair) registry() error {
	err := checkRegistry(r.dir)
	if !errors.Is(err, record.ErrCorrupt) {
		return err
	}
	if err := os.Remove(filepath.Join(r.dir, KeyRegistryName)); err != nil {
		return err
	}
	return r.done(KeyRegistryName, err.Error(), "rebuilt: nothing is encrypted, it holds no key")
}

// logs looks at the beginning of the logs.
func (r *fileRepair) logs(logs []string) error {
	for _, path := range logs {
		head, err := readHead(path, logHeader)
		name := filepath.Base(path)
		switch {
		case err != nil:
		case len(head) < logHeader:
			lost := Loss{Kind: "commit", Count: UnknownCount}
			if len(head) == 0 || !isMemTableLog(path) { // Badger makes logs by way of an empty file
				lost = Loss{}
			}
			short := fmt.Sprintf("it has %d bytes, want at least %d", len(head), logHeader)
			err = errors.Join(os.Remove(path), r.lose(lost, name, short, "taken out: it holds no commit"))
		case [8]byte(head) != [8]byte{}:
			err = errors.Join(overwrite(path, make([]byte, 8)),
				r.done(name, "it says that it is encrypted", "put right: nothing is"))
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

// packs repairs the packs. A pack that is not listed, and not whole, is of a write that a crash has ended.
func (r *fileRepair) packs(ctx context.Context, f files, m manifest) error {
	listed, err := readCatalogFile(r.dir)
	if errors.Is(err, record.ErrCorrupt) {
		err = r.done(CatalogName, err.Error(), "written again")
	}
	if err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(r.dir, CatalogName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	r.copied = listed.body
	// The names of those that are to be there, by their numbers. One that only the manifest or only the catalogue names
	// was dropped: the other is older.
	missing, named := map[uint64]string{}, m.packs()
	for number, l := range listed.packs {
		if len(named) == 0 || slices.Contains(named, packNumber+number) {
			missing[number] = filepath.Base(packID{number, generationOf(l)}.openPath(r.dir))
		}
	}
	if listed.body == nil {
		for _, id := range named {
			missing[id-packNumber] = table.IDToFilename(id)
		}
	}
	for _, id := range f.open {
		path := id.openPath(r.dir)
		_, isListed := listed.packs[id.number]
		if _, err := listed.look(id.number, path); !isListed && listed.body != nil && errors.Is(err, record.ErrCorrupt) {
			if err := os.Remove(path); err != nil {
				return err
			}
			continue
		}
		delete(missing, id.number)
		if _, err := r.repairTable(ctx, path); err != nil {
			return err
		}
	}
	for _, id := range f.closed {
		delete(missing, id-packNumber)
		path := table.NewFilename(id, r.dir)
		usable, err := r.repairTable(ctx, path)
		if err == nil && usable {
			err = listed.hide(r.dir, id)
		}
		if err != nil {
			return err
		}
	}
	for _, number := range slices.Sorted(maps.Keys(missing)) {
		r.copied = nil // it may be of another time
		if err := r.lose(Loss{Kind: "table of records", Count: 1}, missing[number], "it is missing",
			"taken out"); err != nil {
			return err
		}
	}
	return nil
}

// tables repairs Badger's own tables, and writes the manifest again; damage says why the manifest cannot be read to
// its end. It is also damaged if it lacks tables that have records of their own. Then all tables are of level 0,
// where their order does not matter.
func (r *fileRepair) tables(ctx context.Context, f files, m manifest, damage error) error {
	repaired := manifest{levels: map[uint64]uint8{}}
	newest, gone := uint64(0), []uint64(nil)
	for _, id := range m.own() {
		if !slices.Contains(f.tables, id) {
			gone = append(gone, id)
			continue
		}
		usable, err := r.repairTable(ctx, table.NewFilename(id, r.dir))
		if err != nil {
			return err
		}
		if !usable {
			continue
		}
		l, err := lookAtTable(r.dir, id)
		if err != nil {
			return err
		}
		newest = max(newest, l.Newest)
		repaired.levels[id] = m.levels[id]
	}
	unnamed := m.lacks(f.tables)
	logged, err := readLogs(r.dir)
	if err != nil {
		return err
	}
	strays, err := findStrays(r.dir, unnamed, newest, logged)
	if err != nil {
		return err
	}
	lacks := slices.ContainsFunc(strays, func(s stray) bool { return s.newer })
	if lacks && damage == nil {
		damage = cmp.Or(m.cut, errors.New("it is older than the tables"))
	}
	if damage != nil {
		return r.nameAll(ctx, repaired, unnamed, gone, damage)
	}
	for _, s := range strays {
		if err = os.Remove(s.path); err == nil && !r.crashed {
			err = r.done(filepath.Base(s.path), ManifestName+" does not name it",
				"taken out: it was not finished, or its records are in other tables")
		}
		if err != nil {
			return err
		}
	}
	if m.cut != nil && !r.crashed {
		if err := r.done(ManifestName, m.cut.Error(), "rebuilt for %d tables", len(repaired.levels)); err != nil {
			return err
		}
	}
	if err := r.loseTables(gone); err != nil {
		return err
	}
	return repaired.write(r.dir, nil)
}

// nameAll repairs the tables that a damaged manifest does not name, and has it name them too.
func (r *fileRepair) nameAll(ctx context.Context, m manifest, unnamed, gone []uint64, damage error) error {
	for id := range m.levels {
		m.levels[id] = 0
	}
	for _, id := range unnamed {
		usable, err := r.repairTable(ctx, table.NewFilename(id, r.dir))
		if err != nil {
			return err
		}
		if usable {
			m.levels[id] = 0
		}
		merged := func(gone uint64) bool { return gone < id } // by a fold, into this one
		gone = slices.DeleteFunc(gone, merged)
	}
	if err := r.loseTables(gone); err != nil {
		return err
	}
	if err := r.done(ManifestName, damage.Error(), "rebuilt for %d tables", len(m.levels)); err != nil {
		return err
	}
	return m.write(r.dir, nil)
}

func (r *fileRepair) loseTables(gone []uint64) error {
	for _, id := range gone {
		if err := r.lose(Loss{Kind: "table of records", Count: 1}, table.IDToFilename(id), "it is missing",
			"lost"); err != nil {
			return err
		}
	}
	return nil
}
