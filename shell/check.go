package shell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
)

// checkCommand verifies a store, and repairs it where it is asked to.
type checkCommand struct {
	DB     string `arg:"" name:"DB" help:"Directory of the store."`
	Repair bool   `help:"Make again what can be, and take out the rest, where there is a problem."`
	Report string `placeholder:"FILE" help:"Of --repair: what was done, one JSON object a line; - for standard output."`
	Yes    bool   `short:"y" help:"Answer the confirmation."`
	resources
}

func (*checkCommand) Help() string {
	return `Reads every record, compares its checksum, and checks what must agree between records: the edges of both their ends, the dictionary in ` +
		`both directions, every index with its column, the history with the labels, and the runs. It changes nothing, and fails when it ` +
		`finds a problem.

    graphcleaner check my.graph

With --repair a store that has problems is repaired, once you have confirmed it. A block of which one byte is wrong is put right; indexes, degrees, ` +
		`lists of neighbours, the dictionary and counts are made again from what they derive from; a value that cannot be read becomes null. What ` +
		`is taken out is kept in the directory quarantine of the store, with a report. A repair that was interrupted can be run again. ` +
		`Where you have a backup, that is the better way.

    graphcleaner check my.graph --repair --report repair.jsonl`
}

func (c *checkCommand) Run(ctx context.Context, s *streams) error {
	if err := c.apply(); err != nil {
		return err
	}
	if c.Report != "" && !c.Repair {
		return usagef("--report says what --repair did: want both")
	}
	began := time.Now()
	problems, err := c.check(ctx, s)
	if err != nil {
		return leaving(err, "%d problems were found until then", problems)
	}
	s.progress.clear()
	if problems == 0 {
		_, err = s.printf("%s: no problems, %.1f s\n", c.DB, time.Since(began).Seconds())
		return err
	}
	if !c.Repair {
		return fmt.Errorf("%s has %s; restore a backup, or run %s check %s --repair",
			c.DB, countText(problems, "problem", "problems"), s.program, shellWord(c.DB))
	}
	return c.repair(ctx, s, problems)
}

// check prints every problem of the store, one a line, and counts them. A store that cannot be opened has one.
func (c *checkCommand) check(ctx context.Context, s *streams) (problems int, err error) {
	var printed error
	report := func(p kv.Problem) {
		problems++
		s.progress.clear()
		if printed == nil {
			_, printed = s.printf("%s: %s\n", p.Where, p.What)
		}
	}
	opened := false
	err = withStoreToRead(c.DB, c.store(), func(store *kv.Store) error {
		opened = true
		if err := store.Check(ctx, s.progress.report(), report); err != nil {
			return err
		}
		err := store.View(func(tx *kv.Tx) error {
			return errors.Join(index.Check(ctx, tx, report), cleaner.Check(ctx, tx, report))
		})
		if problems > 0 && errors.Is(err, kv.ErrCorrupt) {
			return nil // damage that was told of keeps them from going on
		}
		return err
	})
	if !opened && errors.Is(err, kv.ErrCorrupt) {
		report(kv.Problem{Where: c.DB, What: err.Error()})
		err = nil
	}
	return problems, errors.Join(err, printed)
}

// repair repairs a store with problems, and checks it again.
func (c *checkCommand) repair(ctx context.Context, s *streams, problems int) error {
	if !c.Yes {
		question := fmt.Sprintf("Repair %s, which has %s? What cannot be made again is taken out.",
			c.DB, countText(problems, "problem", "problems"))
		yes, err := s.confirm(question)
		if err != nil {
			return err
		}
		if !yes {
			return fmt.Errorf("%s is as it was: it was not confirmed", c.DB)
		}
	}
	var done []kv.Mend
	err := c.mend(ctx, s, func(m kv.Mend) { done = append(done, m) })
	s.progress.clear()
	if reporting := c.tell(s, done); reporting != nil {
		err = errors.Join(err, unreported(reporting, "%s is repaired", c.DB))
	}
	if err != nil {
		return leaving(err, "%d repairs were made; run it again to go on", len(done))
	}
	left, err := c.check(ctx, s)
	if err != nil {
		return leaving(err, "%s is repaired, and was not checked again to the end", c.DB)
	}
	if left > 0 {
		return fmt.Errorf("%s has %s left after %s", c.DB, countText(left, "problem", "problems"), countText(len(done), "repair", "repairs"))
	}
	s.progress.clear()
	_, err = s.printf("%s: no problems after %s\n", c.DB, countText(len(done), "repair", "repairs"))
	return err
}

// mend repairs the store from the lowest room up.
func (c *checkCommand) mend(ctx context.Context, s *streams, report func(kv.Mend)) error {
	opt := kv.Options{MemoryBudget: c.store()}
	if err := kv.Repair(ctx, c.DB, opt, s.progress.report(), report); err != nil {
		return err
	}
	return withStore(c.DB, opt, func(store *kv.Store) error {
		if err := index.Repair(ctx, store, report); err != nil {
			return err
		}
		return cleaner.Repair(ctx, store, report)
	})
}

// tell prints what was done, or writes it to the file that was asked for.
func (c *checkCommand) tell(s *streams, done []kv.Mend) error {
	if c.Report == "" {
		for _, m := range done {
			if _, err := s.printf("%s: %s: %s\n", m.Where, m.What, m.Done); err != nil {
				return err
			}
		}
		return nil
	}
	return writeFile(c.Report, s.out, func(f *outFile) error {
		encoder := json.NewEncoder(f)
		for _, m := range done {
			if err := encoder.Encode(m); err != nil {
				return err
			}
		}
		return nil
	})
}
