package kv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/graphcleaner/graphcleaner/kv/internal/decisions"
	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// A Correction is one thing that a repair did. Its fields are
//
//	Where string // the place
//	What  string // the damage
//	Done  string
//	Lost  Losses
type Correction = lsm.Correction

// Losses are the things that a repair lost for good, each kind once, in the order in which it was met. Has says whether
// kinds are among them. Each has the fields
//
//	Kind   string // such as "label", "id", "edge", "row of matrix m"
//	Count  int64  // UnknownCount: nobody knows how many
//	AtMost bool   // Count is a bound
type Losses = lsm.Losses

// A roomRepair repairs the data that an upper room keeps in a store that Repair has repaired, such as index.Repair.
type roomRepair = func(ctx context.Context, s *Store, report func(Correction)) error

// Repair repairs a damaged store. Afterwards the store opens, Check finds no problem, and all data that is not lost
// can be read. Repair returns the losses.
//
// It reads what verifies, writes it anew in DIR.repairing, and then renames two directories: the store as it was
// becomes DIR.before-repair, the repaired one takes its place. To undo a repair, rename DIR.before-repair back. While
// it is there, no other repair begins (ErrExists). An error or a kill leaves the store as it was. Then disregard the
// Corrections reported until then, and run Repair again. It needs as much room on the disk as the store (ErrNoSpace),
// and the right to write into the directory in which the store is. An undamaged store stays as it is.
//
//   - Of a damaged table the records stay that verify. If its index is damaged, its blocks are found by their
//     checksums. A table that the manifest does not name counts too, unless a crash left it and others have its
//     records.
//   - A catalogue that is damaged, or earlier than its copy, is taken from the copy.
//   - The counts are counted again. Each direction of the dictionary is rebuilt from the other.
//   - Entries of spaces that are kept twice are taken from decisions.log. If that is damaged, it is written anew.
//   - The lists of a lost adjacency block are rebuilt from the lists of the neighbours; an edge between two nodes of
//     lost blocks is lost.
//   - A value in a lost block of a column becomes null, a row of a matrix NaN, an id "lost-N" with the place N in the
//     node file. A value or a row that was changed since may be the one before.
//   - A document of which a part is lost is removed. Each function of rooms, such as index.Repair, then checks and
//     repairs the entries and documents of its room. They run in the given order, with opt, on the repaired store.
//
// If the catalogue and its copy are damaged, Repair returns ErrCorrupt, and only a backup helps. The store must not
// be open.
func Repair(
	ctx context.Context, dir string, opt Options, progress Progress, report func(Correction), rooms ...roomRepair,
) (lost Losses, err error) {
	if progress == nil {
		progress = func(string, int64, int64) {}
	}
	if opt.ReadOnly {
		return nil, fmt.Errorf("%s: %w: a store is not repaired read-only", dir, ErrReadOnly)
	}
	if opt, err = opt.withDefaults(); err != nil {
		return nil, err
	}
	if err := undoSwap(dir); err != nil {
		return nil, err
	}
	path, unlock, err := storedir.Lock(dir, false)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(renamed(err, path, dir), unlock()) }()
	if err := lsm.CheckManifest(path); err != nil && !errors.Is(err, ErrCorrupt) {
		return nil, err
	}
	place, err := newRepairPlace(path)
	if err != nil {
		return nil, err
	}
	r := &repair{place: place, name: dir, dir: place.store(), progress: progress, report: report}
	if err = r.run(ctx, opt, rooms); err == nil && r.changed {
		if err = r.tellOfForeign(); err == nil {
			err = place.swap()
		}
	}
	if err != nil || !r.changed {
		return nil, errors.Join(renamed(err, r.dir, path), place.remove())
	}
	place.leaveBehind()
	return r.lost, nil
}

// A repair is one run of Repair.
type repair struct {
	place     *workplace
	name      string // the directory of the store as it was given, for messages
	dir       string // in which the repaired store is made
	progress  Progress
	report    func(Correction)
	changed   bool
	lost      Losses
	uncounted bool // nobody knows how many edges there were
	recounts  bool // the graph is to be written again, as the counts were wrong

	s     *Store
	tx    *Tx      // the store as it was
	check *checker // of tx

	salvaged lsm.Salvaged
	copied   catalogCopy // empty if there is none

	log       *decisions.Log // decisions.log; nil if there is none of this store that can be read
	logDamage error

	bulk *Bulk // nil if nothing is to be written again
}

// run writes the readable part of the store anew, and repairs that.
func (r *repair) run(ctx context.Context, opt Options, rooms []roomRepair) error {
	err := os.Mkdir(r.dir, storedir.Mode)
	if err != nil {
		return err
	}
	if r.salvaged, err = lsm.Salvage(ctx, r.place.target, r.dir, r.progress, r.tell); err != nil {
		return err
	}
	_, unlock, err := storedir.Lock(r.dir, false)
	if err != nil {
		return err
	}
	if r.s, err = openBadger(r.dir, opt, true, unlock); err != nil {
		return err
	}
	r.copied, err = r.s.parseCatalogCopy(r.salvaged.Catalog)
	for _, step := range []func(context.Context) error{r.header, r.openLog, r.catalogue, r.decisions, r.records,
		r.renewLog} {
		if err == nil {
			err = step(ctx)
		}
	}
	if r.log != nil {
		err = errors.Join(err, r.log.Close())
	}
	if err := errors.Join(err, r.s.Close()); err != nil {
		return err
	}
	if len(rooms) == 0 {
		return nil
	}
	s, err := Open(r.dir, opt)
	if err != nil {
		return err
	}
	for _, room := range rooms {
		if err == nil {
			err = room(ctx, s, r.tell)
		}
	}
	return errors.Join(err, s.Close())
}

// tellOfForeign reports files that are not the store's, which stay where the store was.
func (r *repair) tellOfForeign() error {
	names, err := foreignFiles(r.place.target)
	for _, name := range names {
		r.done(name, "it is no file of a store", "left in "+filepath.Base(r.place.target+BeforeRepair))
	}
	return err
}

// done reports a correction made, or about to be made.
func (r *repair) done(where, what, done string) {
	r.tell(Correction{Where: where, What: what, Done: done})
}

// lose is done for a correction that loses something for good.
func (r *repair) lose(loss lsm.Loss, where, what, done string, args ...any) {
	var lost Losses
	lost.Add(loss)
	r.tell(Correction{Where: where, What: what, Done: fmt.Sprintf(done, args...), Lost: lost})
}

func (r *repair) tell(m Correction) {
	m.What = strings.NewReplacer(r.dir, r.name, r.place.target, r.name).Replace(m.What)
	r.changed = true
	r.lost.AddAll(m.Lost)
	r.report(m)
}

// A renamedError names files by the directory that the user knows.
type renamedError struct {
	err      error
	from, to string
}

// renamed is an error that says to for from; nil for nil.
func renamed(err error, from, to string) error {
	if err == nil || from == to {
		return err
	}
	return &renamedError{err, from, to}
}

func (e *renamedError) Error() string { return strings.ReplaceAll(e.err.Error(), e.from, e.to) }
func (e *renamedError) Unwrap() error { return e.err }
