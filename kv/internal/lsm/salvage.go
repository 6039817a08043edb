package lsm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"slices"

	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"

	"github.com/graphcleaner/graphcleaner/kv/internal/pack"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// A salvage is one run of Salvage.
type salvage struct {
	ctx      context.Context
	dir      string
	progress func(stage string, done, total int64)
	report   func(Correction)

	inputs  []pack.Input // of two entries of one version of a key, that of the later one counts
	closers []func() error
	bytes   int64  // of the inputs
	read    int64  // blocks
	blocks  int64  // of all tables
	newest  uint64 // version of anything

	found Salvaged
}

// Salvaged holds the findings of Salvage beside records.
type Salvaged struct {
	Catalog []byte            // the copy of the catalogue; nil if there is none
	Last    record.Generation // the greatest of any record that was not in a pack
	Crashed bool              // a crash left the database
}

// Salvage writes what can be read of a database, which is not open, as a closed one into an empty directory, and
// reports what is damaged: of every key the newest record, unless that is a deletion. A record counts as lost if it
// does not verify. Salvage writes no copy of the catalogue.
func Salvage(
	ctx context.Context, from, to string, progress func(stage string, done, total int64), report func(Correction),
) (found Salvaged, err error) {
	s := &salvage{ctx: ctx, dir: from, progress: progress, report: report}
	defer func() {
		for _, closing := range s.closers {
			err = errors.Join(err, closing())
		}
	}()
	err = pack.GuardFaults(func() error {
		if err := s.open(); err != nil {
			return err
		}
		return s.write(to)
	})
	return s.found, err
}

// open finds the files to read.
func (s *salvage) open() (err error) {
	if s.found.Crashed, err = leftByCrash(s.dir); err != nil {
		return err
	}
	f, err := list(s.dir)
	if err != nil {
		return err
	}
	if err := s.tell(checkRegistry(s.dir), nil, KeyRegistryName, "written again: nothing is encrypted"); err != nil {
		return err
	}
	for _, path := range f.logs {
		if err := s.checkLog(path); err != nil {
			return err
		}
	}
	m, damage := readManifest(s.dir)
	if errors.Is(damage, fs.ErrNotExist) {
		damage = record.CorruptFile(filepath.Join(s.dir, ManifestName), "it is missing")
	}
	if damage != nil && !errors.Is(damage, record.ErrCorrupt) {
		return damage
	}
	if damage == nil && m.cut == nil && m.isForeign(f) {
		damage = record.CorruptFile(filepath.Join(s.dir, ManifestName), foreign+", or it is older than the tables")
	}
	if err := s.openPacks(f, m); err != nil {
		return err
	}
	if err := s.openTables(f, m, damage); err != nil {
		return err
	}
	return s.readLogs()
}

// tell reports damage to a file, with what it lost and what is done. It returns any other error.
func (s *salvage) tell(damage error, lost Losses, file, done string) error {
	if damage == nil || !errors.Is(damage, record.ErrCorrupt) {
		return damage
	}
	s.report(Correction{Where: file, What: damage.Error(), Done: done, Lost: lost})
	return nil
}

// lostTable is the loss of a whole table.
var lostTable = Losses{{Kind: "table of records", Count: 1}}

// missing reports a table that is not there.
func (s *salvage) missing(file string) {
	damage := record.CorruptFile(filepath.Join(s.dir, file), "it is missing")
	s.report(Correction{Where: file, What: damage.Error(), Done: "lost", Lost: lostTable})
}

// checkLog looks at the beginning of a log. Its entries are read whatever it says.
func (s *salvage) checkLog(path string) error {
	var lost Losses
	damage := checkLogs([]string{path})
	if head, err := readHead(path, logHeader); err != nil {
		return err
	} else if len(head) == 0 {
		damage = record.CorruptFile(path, "it is empty")
	} else if isMemTableLog(path) && len(head) < logHeader {
		lost.Add(Loss{Kind: "commit", Count: UnknownCount})
	}
	return s.tell(damage, lost, filepath.Base(path), "what can be read of it is taken")
}

// openPacks opens the packs. A pack that is not listed, and not whole, is of a write that a crash has ended.
func (s *salvage) openPacks(f files, m manifest) error {
	listed, err := readCatalogFile(s.dir)
	if err := s.tell(err, nil, CatalogName, "written again"); err != nil {
		return err
	}
	s.found.Catalog = listed.Body
	// The names of those that are to be there, by their numbers. One that only the manifest or only the catalogue names
	// was dropped: the other is older.
	missing, named := map[uint64]string{}, m.packs()
	for id := range listed.Packs {
		if len(named) == 0 || slices.Contains(named, id) {
			missing[id] = filepath.Base(openPath(s.dir, id))
		}
	}
	if listed.Body == nil {
		for _, id := range named {
			missing[id] = table.IDToFilename(id)
		}
	}
	for _, id := range f.open {
		path := openPath(s.dir, id)
		_, isListed := listed.Packs[id]
		if _, err := listed.look(id, path); !isListed && listed.Body != nil && errors.Is(err, record.ErrCorrupt) {
			continue
		}
		delete(missing, id)
		if _, err := s.openTable(path, true); err != nil {
			return err
		}
	}
	for _, id := range f.closed {
		delete(missing, id)
		if _, err := s.openTable(table.NewFilename(id, s.dir), true); err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(missing)) {
		s.found.Catalog = nil // it may be of another time
		s.missing(missing[id])
	}
	return nil
}

// openTables opens Badger's own tables; damage says why the manifest cannot be read to its end. It is also damaged if
// it does not name a table, unless a crash explains that. Then the tables that it does not name count too.
func (s *salvage) openTables(f files, m manifest, damage error) error {
	newest, gone := uint64(0), []uint64(nil)
	own := m.own()
	slices.SortStableFunc(own, func(a, b uint64) int { return cmp.Compare(m.levels[b], m.levels[a]) }) // the oldest first
	for _, id := range own {
		if !slices.Contains(f.tables, id) {
			gone = append(gone, id)
			continue
		}
		has, err := s.openTable(table.NewFilename(id, s.dir), false)
		if err != nil {
			return err
		}
		newest = max(newest, has)
	}
	logged, err := readLogs(s.dir)
	if err != nil {
		return err
	}
	strays, err := findStrays(s.dir, m.lacks(f.tables), newest, logged)
	if err != nil {
		return err
	}
	manifestPath := filepath.Join(s.dir, ManifestName)
	if !s.found.Crashed {
		damage = cmp.Or(damage, m.cut)
	}
	for _, stray := range strays {
		if stray.newer || !s.found.Crashed {
			damage = cmp.Or(damage, record.CorruptFile(manifestPath, "it does not name %s", filepath.Base(stray.path)))
		}
		if stray.newer { // what is gone was merged into it
			gone = slices.DeleteFunc(gone, func(id uint64) bool { return id < stray.id })
		}
	}
	if damage != nil {
		for _, stray := range strays {
			has, err := s.openTable(stray.path, false)
			if err != nil {
				return err
			}
			newest = max(newest, has)
		}
	}
	err = s.tell(damage, nil, ManifestName, "written again")
	for _, id := range gone {
		s.missing(table.IDToFilename(id))
	}
	if n := logged.lostCommits(newest); n > 0 && len(gone) == 0 {
		s.report(Correction{
			Where: "logs", What: fmt.Sprintf("of the commits before the last, %d are in none", n), Done: "lost",
			Lost: Losses{{Kind: "commit", Count: int64(min(n, math.MaxInt64)), AtMost: true}},
		})
	}
	return err
}

// write writes the records of the opened files.
func (s *salvage) write(to string) error {
	if err := storedir.CheckRoom(to, s.bytes+SpareRoom); err != nil {
		return fmt.Errorf("repairing makes another store and keeps what it was: %w", err)
	}
	r := NewRestorer(to, s.newest)
	err := pack.Merge(s.ctx, s.inputs, func(e pack.Entry) error {
		if isDeletion(e) {
			return nil
		}
		return r.Add(y.ParseKey(e.Key), e.Value.Value, y.ParseTs(e.Key))
	})
	if err == nil {
		err = r.Finish()
	}
	return errors.Join(err, r.Cancel())
}
