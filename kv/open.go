package kv

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/graphcleaner/graphcleaner/internal/machine"
	"github.com/graphcleaner/graphcleaner/internal/realpath"
	"github.com/graphcleaner/graphcleaner/kv/internal/decisions"
	"github.com/graphcleaner/graphcleaner/kv/internal/graph"
	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/snapshot"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// Open opens a store. It returns ErrNotStore for a directory without one (fs.ErrNotExist if there is no
// directory), ErrCorrupt if a file of it is damaged or missing, ErrVersion for a store of another format,
// ErrLocked if another process writes, or this one would write while another reads.
func Open(dir string, opt Options) (*Store, error) {
	began := time.Now()
	if err := undoSwap(dir); err != nil {
		return nil, err
	}
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no store at %s: %w", dir, fs.ErrNotExist)
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s: %w: it is a file", dir, ErrNotStore)
	}
	path, unlock, err := storedir.Lock(dir, opt.ReadOnly)
	if err != nil {
		return nil, err
	}
	if err := lsm.CheckManifest(path); err != nil {
		return nil, errors.Join(renamed(err, path, dir), unlock())
	}
	s, err := openBadger(path, opt, true, unlock)
	if err != nil {
		return nil, renamed(err, path, dir)
	}
	s.name = dir
	if err := s.start(); err != nil {
		return nil, errors.Join(renamed(err, path, dir), s.closeBadger())
	}
	s.log("open", began, nil)
	return s, nil
}

// isStore reports whether a directory looks like a store. It does not open the store.
func isStore(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, lsm.ManifestName))
	return err == nil
}

// StoreAround returns the store that a path, which need not be there, lies in: a directory above it, links followed. It
// is "" if there is none.
func StoreAround(path string) (string, error) {
	path, err := realpath.Of(path)
	if err != nil {
		return "", err
	}
	dir := filepath.Dir(path)
	for above := dir; ; above = filepath.Dir(above) {
		if isStore(above) {
			// Further up a file of the name of a manifest may be anybody's.
			_, err := os.Stat(filepath.Join(above, lsm.KeyRegistryName))
			if err == nil || above == dir {
				return above, nil
			}
		}
		if above == filepath.Dir(above) {
			return "", nil
		}
	}
}

// ownNames are the names, as patterns, of the files of a store in its directory.
var ownNames = []string{
	"MANIFEST", "MANIFEST-REWRITE", "KEYREGISTRY", "REWRITE-KEYREGISTRY", "DISCARD", storedir.LockFile, "catalog",
	"spill-*",
	"*.sst", "*.pack", "*.mem", "*.vlog", decisions.FileName,
	storedir.WorkName, storedir.HolderName,
}

// CheckOwnFiles returns an ErrForeignFile that names a file in the directory of the store which is not the store's own.
// Who deletes a store asks first, because such a file may be somebody's.
func (s *Store) CheckOwnFiles() error {
	foreign, err := foreignFiles(s.dir)
	if err == nil && len(foreign) > 0 {
		err = fmt.Errorf("%s%c%s: %w", s.name, filepath.Separator, foreign[0], ErrForeignFile)
	}
	return err
}

// foreignFiles are the names of files in the directory of a store that are not the store's own.
func foreignFiles(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		own := slices.ContainsFunc(ownNames, func(pattern string) bool {
			matches, err := filepath.Match(pattern, entry.Name())
			return err == nil && matches
		})
		if !own {
			names = append(names, entry.Name())
		}
	}
	return names, err
}

// start reads the records that must be there, and drops those that a crash left behind.
func (s *Store) start() error {
	if err := s.readHeader(); errors.Is(err, ErrNotStore) {
		return cmp.Or(s.damagedTable(), err)
	} else if err != nil {
		return err
	}
	if err := s.openDecisions(); err != nil {
		return err
	}
	if s.opt.ReadOnly {
		return s.View(func(*Tx) error { return nil }) // the catalogue must decode
	}
	if err := s.openPacks(); err != nil {
		return err
	}
	if err := s.followDecisions(); err != nil {
		return err
	}
	temporary, err := storedir.FilesNamed(s.dir, "spill-", ".tmp")
	if err != nil {
		return err
	}
	for _, name := range temporary {
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	return s.sweep()
}

// damagedTable returns the first damage of a table of a store whose header is not found: it may be in there, or in a
// log that a crash left. It returns nil if there is no decisions.log: then the database may be of another program.
func (s *Store) damagedTable() (damage error) {
	if _, err := os.Stat(filepath.Join(s.dir, decisions.FileName)); err != nil {
		return nil
	}
	look := func(int, int) error { return damage }
	err := s.db.FindDamage(context.Background(), look, func(_ string, found error) { damage = cmp.Or(damage, found) })
	if s.db.LeftByCrash() {
		damage = cmp.Or(damage, record.CorruptFile(s.dir, "its header is lost: a log of Badger is damaged or missing"))
	}
	return cmp.Or(damage, err)
}

// Create makes an empty store in a directory that is not there, or empty; ErrExists otherwise.
func Create(dir string, opt Options) (*Store, error) {
	return create(dir, opt, true)
}

// create is Create. With synced false it is the store of a Loader, and nothing is durable before Close.
func create(dir string, opt Options, synced bool) (*Store, error) {
	if opt.ReadOnly {
		return nil, fmt.Errorf("%s: %w: a store is not created read-only", dir, ErrReadOnly)
	}
	path, err := realpath.Of(dir)
	if err != nil {
		return nil, err
	}
	s, err := createAt(path, opt, synced)
	if err != nil {
		return nil, renamed(err, path, dir)
	}
	s.name = dir
	return s, nil
}

// createAt is create in a directory whose path has no links.
func createAt(path string, opt Options, synced bool) (*Store, error) {
	if err := errors.Join(undoSwap(path), checkTarget(path)); err != nil {
		return nil, err
	}
	if err := storedir.Make(path); err != nil {
		return nil, err
	}
	began := time.Now()
	path, unlock, err := storedir.Lock(path, false)
	if err != nil {
		return nil, err
	}
	s, err := openBadger(path, opt, synced, unlock)
	if err != nil {
		return nil, err
	}
	err = s.writeHeader()
	if err == nil && synced {
		err = s.sweep() // so that there is a list of packs
	}
	if err != nil {
		return nil, errors.Join(err, s.closeBadger())
	}
	s.log("open", began, nil)
	return s, nil
}

// openBadger opens Badger in a directory that is locked. Closing the store calls unlock, and so does an error.
func openBadger(
	dir string, opt Options, synced bool, unlock func() error,
) (s *Store, err error) {
	if opt, err = opt.withDefaults(); err != nil {
		return nil, errors.Join(err, unlock())
	}
	s = &Store{
		dir:        dir,
		name:       dir,
		opt:        opt,
		unlock:     unlock,
		synced:     synced,
		cache:      snapshot.NewCache(opt.MemoryBudget),
		partitions: new(graph.Partitions),
		writer:     writerLock{held: make(chan struct{}, 1)},
		worker:     writerLock{held: make(chan struct{}, 1)},
		txs:        map[*Tx]struct{}{},
	}
	s.db, err = lsm.Open(dir, lsm.Options{
		MemoryBudget: opt.MemoryBudget, ReadOnly: opt.ReadOnly, Loading: !synced,
	})
	if err != nil {
		return nil, errors.Join(err, unlock())
	}
	s.commits = s.db.Version()
	return s, nil
}

// Options opens a store. The zero value is ready to use.
type Options struct {
	// MemoryBudget bounds the bytes the store holds: Badger's tables in memory and its caches, records that were
	// looked up, changes and values of all nodes that were asked for, and what bulk writers buffer. Zero means a quarter
	// of the machine's memory; less than 64 MiB is taken as 64 MiB.
	MemoryBudget int64

	// ReadOnly opens without a write lock, so that several processes may read at once.
	ReadOnly bool

	// OnRead, if not nil, is asked before everything that a transaction reads or writes, by many goroutines at once. If it
	// returns an error, that fails. It must not use the transaction. Tests have the disk fail by it.
	OnRead func() error

	// OnWrite is called inside the transaction for every change of a value in a column marked indexed, after the change is
	// made. If OnWrite returns an error, the write fails with it. A store that has indexed columns refuses writes to them
	// when opened without it (ErrIndexed).
	OnWrite func(tx *Tx, v NodeID, column string, before, after Value) error

	// OnRewrite begins the index of an indexed column that a Patch writes again. It is needed where OnWrite is.
	OnRewrite func(b *Bulk, column string) (ColumnIndex, error)

	// Logger, if not nil, logs what the store does: "open", "close", "commit" with the number
	// of the commit as Tx.LastCommit tells it, "bulk", "sweep", "compact", "check", "backup" and "corrupt record". Commits
	// and sweeps are on the level of debugging, what failed is a warning, damage an error. Its handler is called under
	// the writer's lock: it must not wait for this store.
	Logger *slog.Logger
}

// A ColumnIndex is an index that is written with its column. It is given every value but null, ascending by node, and
// finished before the Bulk commits; Mark puts it into use in the transaction of that commit. It is closed in every
// case.
type ColumnIndex interface {
	Add(v NodeID, value Value) error
	Finish() error
	Mark(tx *Tx) error
	Close() error
}

// Progress reports how far a stage has come; total 0 means unknown. Called often, from one goroutine at a time.
type Progress func(stage string, done, total int64)

func (opt Options) withDefaults() (Options, error) {
	if opt.MemoryBudget < 0 {
		return opt, fmt.Errorf("kv: MemoryBudget is %d, want 0 (default) or more", opt.MemoryBudget)
	}
	if opt.MemoryBudget == 0 {
		opt.MemoryBudget = machine.MemoryBudget()
	}
	opt.MemoryBudget = max(opt.MemoryBudget, machine.LeastBudget)
	return opt, nil
}

// DiskBytes is how many bytes the files of the store take on disk. A file that is removed meanwhile counts nothing.
func (s *Store) DiskBytes() (total int64, err error) {
	entries, err := os.ReadDir(s.Dir())
	for _, entry := range entries {
		if info, gone := entry.Info(); gone == nil && !info.IsDir() {
			total += storedir.AllocatedBytes(info)
		}
	}
	return total, err
}
