package kv

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graphcleaner/graphcleaner/internal/durable"
	"github.com/graphcleaner/graphcleaner/kv/internal/journal"
	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// journal opens the journal. If the journal is damaged or does not fit the records in Badger, journal writes again every
// readable commit that is not older than these records. Then makeJournal makes another journal.
func (r *repair) journal() error {
	torn, err := r.tornJournal()
	if err != nil {
		return err
	}
	damage := r.held.age
	if damage == nil {
		damage = r.s.openJournal()
	}
	if damage == nil && r.s.journal == nil {
		damage = r.s.missingJournal(r.s.commits)
	}
	if r.s.journal != nil {
		r.identity = r.s.journal.Segments()[0].Store
	}
	if damage == nil && torn != "" {
		return r.done(torn, "it ends with a frame that is cut off, and the store was closed", "cut to its last frame; no commit is lost")
	}
	if !errors.Is(damage, ErrCorrupt) {
		return damage
	}
	held, err := r.s.storedCommit()
	if err != nil && !errors.Is(err, ErrCorrupt) {
		return err
	}
	known := err == nil && held > 0
	if r.journals, err = journal.Files(r.dir, journalName); err != nil {
		return err
	}
	all, err := r.s.readJournal()
	if err != nil {
		return err
	}
	if len(all.Segments) > 0 {
		r.identity = all.Segments[0].Store
	}
	r.s.commits = max(held, r.s.db.Version())
	r.foreignJournal = r.isForeign(all.Contents)
	own := len(all.Segments) > 0 && !r.foreignJournal
	if own && (!known || held <= all.Last()) {
		all.outdated = r.held.outdated(all.Contents, held)
		r.s.commits = max(r.s.commits, all.Last())
		if err := r.s.replay(all, held); err != nil {
			return err
		}
	}
	what, lost := "; how many commits there were is not known", Losses{{Kind: "commit", Count: UnknownCount}}
	if own && known {
		what, lost, err = r.held.lostCommits(all.Contents, held)
		if err != nil {
			return err
		}
	}
	done := fmt.Sprintf("rebuilt; the store has come to commit %d%s", r.s.commits, what)
	r.remade = true
	if err := r.s.setRecord(record.CommitKey(), record.CommitBody(r.s.commits)); err != nil {
		return err
	}
	name := journalName
	if len(r.journals) > 0 {
		name = filepath.Base(r.journals[len(r.journals)-1])
	}
	return r.tell(Correction{Where: name, What: damage.Error(), Done: done, Lost: lost})
}

// tornJournal is the name of the last file of the journal if that ends with a frame that is cut off, as only a crash leaves
// it, and the store was closed; else "". Opening the journal cuts the file.
func (r *repair) tornJournal() (name string, err error) {
	if crashed, err := lsm.LeftByCrash(r.place.store); err != nil || crashed {
		return "", err
	}
	c, err := journal.Scan(r.dir, journalName, nil)
	if err != nil || !c.Torn {
		return "", err
	}
	return filepath.Base(c.Segments[len(c.Segments)-1].Path), nil
}

// isForeign says whether a journal is that of another store.
func (r *repair) isForeign(c *journal.Contents) bool {
	if err := r.s.readHeader(); err != nil {
		return false
	}
	for _, segment := range c.Segments {
		if segment.Store != (journal.Store{}) && segment.Store != r.s.header.identity() {
			return true
		}
	}
	return false
}

// lostCommits says which commits neither Badger, which has come to one, nor the journal has.
func (h *heldCommits) lostCommits(c *journal.Contents, held uint64) (what string, losses Losses, err error) {
	var lost []string
	lose := func(first, last uint64) {
		for first = max(first, h.floor(held)+1); first <= last; first++ {
			if h.logged(first) {
				continue
			}
			run := first
			for run < last && !h.logged(run+1) && run != held {
				run++
			}
			what, sure := commits(first, run)+" lost", first > held || first <= c.Base()
			if !sure {
				what = "whether " + what + " is not known"
			}
			lost = append(lost, what)
			losses.add(Loss{Kind: "commit", Count: int64(run - first + 1), AtMost: !sure})
			first = run
		}
	}
	lose(1, c.Base())
	open := c.Last() < held // it ends too early, so nobody knows where it ended
	for _, d := range c.Damage {
		told := len(lost)
		lose(max(d.First, c.Base()+1), d.Last)
		if next := d.Last + 1; len(lost) == told && next <= c.Last() && next > h.floor(held) && !h.logged(next) {
			lost = append(lost, fmt.Sprintf("a part of commit %d may be lost", next)) // written before it
			losses.add(Loss{Kind: "commit", Count: 1, AtMost: true})
		}
		open = open || d.Open
	}
	changed := slices.ContainsFunc(c.Damage, func(d journal.Damage) bool { return d.Changed })
	if changed && held == c.Last()+1 {
		open = false // Badger holds the commit of the last frame
	}
	if open {
		info, err := os.Stat(c.Segments[len(c.Segments)-1].Path)
		if err != nil {
			return "", nil, err
		}
		// As Close leaves it, a journal is one file without a frame. Of such a one only the head can be damaged.
		open = len(c.Damage) == 0 || len(c.Segments) > 1 || c.Size() != 0 || info.Size() != c.Segments[0].End
	}
	if open {
		lost = append(lost, fmt.Sprintf("commits after %d may be lost", max(held, c.Last())))
		losses.add(Loss{Kind: "commit", Count: UnknownCount})
	}
	if len(lost) == 0 {
		return "; no commit is lost", nil, nil
	}
	return "; " + strings.Join(lost, ", "), losses, nil
}

// makeJournal rebuilds the journal of a closed store, if it must be rebuilt.
func (r *repair) makeJournal() error {
	if !r.remade {
		return nil
	}
	if err := r.s.createJournal(); err != nil {
		return err
	}
	if err := removeFiles(r.journals); err != nil {
		return err
	}
	return errors.Join(r.s.journal.Close(), durable.SyncDirectory(r.dir), storedir.AlignModes(r.dir))
}
