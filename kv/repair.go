package kv

import (
	"context"
	"errors"
	"fmt"

	"github.com/dgraph-io/badger/v4"

	"github.com/graphcleaner/graphcleaner/kv/internal/journal"
)

// A Mend is one thing that Repair did: where, what was wrong there, and what became of it.
type Mend struct {
	Where string `json:"where"`
	What  string `json:"what"`
	Done  string `json:"done"`
}

func (m Mend) String() string { return m.Where + ": " + m.What + ": " + m.Done }

// Repair makes a damaged store one that opens, that Check finds no problem in, and that answers for all that is not
// lost. Whatever it changes it keeps in the directory quarantine of the store, with a report; see Mend.
//
//   - A table of which one byte is wrong is put right: its checksums tell which. What else can be read of a table stays.
//   - What Badger's logs lack and the journal has is written again. A damaged journal is made again; the report says which
//     commits neither had.
//   - Entries of spaces that are kept twice are put back from their second copy. A damaged copy is made again.
//   - The manifest is made again from the tables, the counts from what they count, and the dictionary's reverse
//     directions from each other.
//   - The lists of a damaged adjacency block are made again from those of the other ends; an edge between two nodes of
//     damaged blocks is lost.
//   - A value in a damaged block or record of a column becomes null, a row of a matrix NaN, an id "lost-N" with the
//     place N in the node file.
//   - Damaged entries of spaces, and damaged documents, are removed. The rooms they belong to check and repair them:
//     see index.Repair.
//
// The catalogue cannot be made again: where more than a byte of it is wrong that is ErrCorrupt, and only a backup helps.
// The store must not be open. An undamaged store stays as it is. After an error, or a kill, Repair can be run again.
func Repair(ctx context.Context, dir string, opt Options, progress Progress, report func(Mend)) (err error) {
	if progress == nil {
		progress = func(string, int64, int64) {}
	}
	if err := checkManifestThere(dir); err != nil && !errors.Is(err, ErrCorrupt) {
		return err
	}
	r := &repair{dir: dir, progress: progress, report: report, kept: &quarantine{store: dir}}
	if opt, err = opt.withDefaults(); err != nil {
		return err
	}
	if r.badger, err = badgerOptions(dir, opt, true); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.kept.close()) }()
	if err := r.files(ctx); err != nil {
		return err
	}
	s, err := openBadger(dir, opt, true)
	if err != nil {
		return err
	}
	r.s = s
	if err := r.journal(); err != nil {
		return errors.Join(err, s.Close())
	}
	for _, step := range []func(context.Context) error{r.copies, r.records, r.remakeCopy} {
		if err := step(ctx); err != nil {
			return errors.Join(err, s.Close())
		}
	}
	if err := s.Close(); err != nil {
		return err
	}
	return r.makeJournal()
}

// A repair is one run of Repair.
type repair struct {
	dir      string
	badger   badger.Options
	progress Progress
	report   func(Mend)
	kept     *quarantine

	s  *Store
	tx *Tx // the store as it was

	journals   []string      // the files of a journal that is to be made again
	remade     bool          // it is
	copyDamage error         // of the second copy of spaces
	identity   journal.Store // as the journal has it

	bulk *Bulk // nil where nothing is to be written again
}

// done tells of something that was done, or is about to be.
func (r *repair) done(where, what, done string, args ...any) error {
	m := Mend{where, what, fmt.Sprintf(done, args...)}
	if err := r.kept.note(m); err != nil {
		return err
	}
	r.report(m)
	return nil
}
