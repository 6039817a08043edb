package shell

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/internal/realpath"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// checkCommand checks a store, and repairs it if it is asked to.
type checkCommand struct {
	DB     string `arg:"" name:"DB" help:"Directory of the store."`
	Repair bool   `help:"Repair a store that has problems."`
	Yes    bool   `short:"y" help:"Answer yes to the question."`
	resources
}

func (*checkCommand) Help() string {
	return `Reads every record and compares its checksum. It also compares records that must agree: edges from both ` +
		`ends, the dictionary in both directions, indexes and columns, history and labels, and the runs. It changes ` +
		`nothing, and fails if it finds a problem.

    graphcleaner check my.graph

--repair repairs a damaged store, after a confirmation. Indexes, degrees, neighbour lists, the dictionary and ` +
		`counts are computed again from their sources. A damaged record without a copy is lost, and its values become ` +
		`null. If a run is lost, its scores become null. The last line lists the losses. The exit code is 0 if the store ` +
		`has no problems afterwards, even after a loss. A repair that fails or is killed changes nothing; run it again. A ` +
		`backup is better, if you have one.

    graphcleaner check my.graph --repair

The repair makes another store beside the damaged one, so it needs as much room on the disk as the store takes. The ` +
		`store as it was stays beside: that of my.graph is my.graph.before-repair, a store of its own. To undo the ` +
		`repair, rename it back. Delete it to free its room. While it is there, no other repair begins.`
}

func (c *checkCommand) Run(ctx context.Context, s *streams) error {
	problems, err := c.check(ctx, s)
	if err != nil {
		return leaving(err, "%s until then", wording.Count(problems, "problem was found", "problems were found"))
	}
	switch {
	case problems == 0:
		return s.printDone(c.DB, "no problems")
	case c.Repair:
		return c.repair(ctx, s, problems)
	}
	return fmt.Errorf("%s has %s; restore a backup, or run %s check %s --repair",
		c.DB, wording.Count(problems, "problem", "problems"), s.program, wording.ShellWord(c.DB))
}

// check prints every problem of the store, and counts them. A store that cannot be opened has one.
func (c *checkCommand) check(ctx context.Context, s *streams) (problems int, err error) {
	var printError error
	report := func(p kv.Problem) {
		problems++
		if printError == nil {
			printError = s.printf("%s: %s\n", p.Where, p.What)
		}
	}
	opened := false
	run := func(store *kv.Store) error {
		opened = true
		if err := store.Check(ctx, s.progress.report, report); err != nil {
			return err
		}
		err := store.View(func(tx *kv.Tx) error {
			return errors.Join(index.Check(ctx, tx, report), cleaner.Check(ctx, tx, report))
		})
		if problems > 0 && errors.Is(err, kv.ErrCorrupt) {
			return nil // damage that was told of keeps them from going on
		}
		return err
	}
	if c.Repair { // which needs the store for itself
		err = c.untilFree(ctx, s, func(time.Duration) error {
			store, err := c.open(c.DB, toRead)
			if err != nil {
				return err
			}
			return errors.Join(run(store), store.Close())
		})
	} else {
		err = c.use(s, c.DB, toRead, run)
	}
	if !opened && errors.Is(err, kv.ErrCorrupt) {
		report(kv.Problem{Where: c.DB, What: err.Error()})
		err = nil
	}
	return problems, errors.Join(err, printError)
}

// repair repairs a store with problems, and checks it again.
func (c *checkCommand) repair(ctx context.Context, s *streams, problems int) error {
	question := fmt.Sprintf("Repair %s, which has %s? What cannot be made again is taken out.",
		c.DB, wording.Count(problems, "problem", "problems"))
	if err := s.agree(ctx, c.Yes, question, fmt.Errorf("%s is as it was: it was not confirmed", c.DB)); err != nil {
		return err
	}
	path, err := realpath.Of(c.DB)
	if err != nil {
		return err
	}
	var done []kv.Correction
	var losses kv.Losses
	err = c.untilFree(ctx, s, func(time.Duration) (err error) {
		losses, err = kv.Repair(ctx, c.DB, kv.Options{MemoryBudget: c.store(), OnWrite: index.Maintain}, s.progress.report,
			func(m kv.Correction) { done = append(done, m) }, cleaner.Repair, index.Repair)
		return err
	})
	if err != nil {
		return leaving(wayToOpen(err), "%s is as it was; run it again", c.DB)
	}
	if len(done) > 0 {
		s.say("the store as it was is %s", path+kv.BeforeRepair)
	}
	if now, err := realpath.Of(c.DB); err != nil || now != path { // the working directory was moved with what it was
		c.DB = path
	}
	for _, m := range done {
		if err := s.printf("%s: %s: %s\n", m.Where, m.What, m.Done); err != nil {
			return err
		}
	}
	rest, err := c.check(ctx, s)
	if err != nil {
		return leaving(err, "%s is repaired, and was not checked again to the end", c.DB)
	}
	repairs := wording.Count(len(done), "repair", "repairs")
	if rest > 0 {
		return fmt.Errorf("%s has %s left after %s; %s", c.DB, wording.Count(rest, "problem", "problems"), repairs,
			c.lossText(s, losses, rest))
	}
	return s.printf("%s: no problems after %s\n%[1]s: %[3]s\n", c.DB, repairs, c.lossText(s, losses, rest))
}

// lossText says what a repair lost, and where to get it from, also where it lost nothing and left problems.
func (c *checkCommand) lossText(s *streams, losses kv.Losses, problems int) string {
	if len(losses) == 0 && problems == 0 {
		return "nothing is lost"
	}
	again := fmt.Sprintf("restore a backup (%s restore), or import the files again that it was made from", s.program)
	if len(losses) == 0 {
		return again
	}
	text := fmt.Sprintf("lost for good: %v; %s", losses, again)
	if losses.Has("score", "run", "classifier") {
		text += fmt.Sprintf("; %s predict %s trains a classifier again, and %[1]s clean %[2]s makes scores", s.program,
			wording.ShellWord(c.DB))
	}
	return text
}
