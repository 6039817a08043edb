package shell

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
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
	Report string `file:"write" placeholder:"FILE" help:"With --repair: write every repair as a line of JSON; - for standard output."`
	Yes    bool   `short:"y" help:"Answer yes to the question."`
	summaryFormat
	stageFile
	resources
}

// A checkSummary is what check --format json prints.
type checkSummary struct {
	Store    string          `json:"store"`
	OK       bool            `json:"ok"`       // there are no problems, or none any more
	Problems int             `json:"problems"` // that were there
	First    []listedProblem `json:"first_problems"`

	// After a repair; else null.
	Left         *int            `json:"problems_left"`
	Repairs      *int            `json:"repairs"`
	FirstRepairs []kv.Correction `json:"first_repairs"`
	Lost         kv.Losses       `json:"lost"` // a count of -1 is not known

	Started time.Time `json:"started"`
	Seconds float64   `json:"seconds"`
}

type listedProblem struct {
	Where string `json:"where"`
	What  string `json:"what"`
}

func (*checkCommand) Help() string {
	return `Reads every record and compares its checksum. It also compares records that must agree: edges from both ends, the dictionary in both directions, indexes ` +
		`and columns, history and labels, and the runs. It changes nothing, and fails if it finds a problem.

    graphcleaner check my.graph
    graphcleaner check my.graph --format json

--repair repairs a damaged store, after a confirmation. Indexes, degrees, neighbour lists, the dictionary and ` +
		`counts are computed again from their sources. A damaged record without a copy is lost, and its values become null. If a run is lost, its scores become null. The last line lists the losses. ` +
		`The exit code is 0 if the store has no problems afterwards, even after a loss. A repair that fails or is killed changes nothing; run it again. A backup is ` +
		`better, if you have one.

    graphcleaner check my.graph --repair --report repair.jsonl

The repair makes another store beside the damaged one, so it needs as much room on the disk as the store takes. The store as it ` +
		`was stays beside: that of my.graph is my.graph.before-repair, a store of its own. To undo the repair, rename it back. ` +
		`Delete it to free its room. While it is there, no other repair begins.`
}

func (c *checkCommand) Run(ctx context.Context, s *streams) error {
	if err := c.apply(s); err != nil {
		return err
	}
	if c.Report != "" && !c.Repair {
		return usagef("--report says what --repair did: want both")
	}
	if c.Report == "-" && c.json() {
		return usagef("--report - and --format json both write to standard output: want a file for the report")
	}
	began := time.Now()
	summary := &checkSummary{Store: c.DB, First: []listedProblem{}, Started: began.UTC().Truncate(time.Second)}
	problems, err := c.check(ctx, s, func(p kv.Problem) {
		if len(summary.First) < mostListed {
			summary.First = append(summary.First, listedProblem{p.Where, p.What})
		}
	})
	if err != nil {
		return leaving(err, "%d problems were found until then", problems)
	}
	s.progress.clear()
	summary.Problems, summary.OK = problems, problems == 0
	switch {
	case problems == 0 && !c.json():
		_, err = s.printf("%s: no problems, %.1f s\n", c.DB, time.Since(began).Seconds())
	case problems > 0 && c.Repair:
		err = c.repair(ctx, s, summary)
	case problems > 0:
		err = fmt.Errorf("%s has %s; restore a backup, or run %s check %s --repair",
			c.DB, wording.Count(problems, "problem", "problems"), s.program, wording.ShellWord(c.DB))
	}
	if c.json() {
		summary.Seconds = time.Since(began).Seconds()
		err = cmp.Or(err, s.writeJSON(summary))
	}
	return err
}

// check tells of every problem of the store, and counts them. It prints them, but for an answer of JSON. A store that cannot be opened has one.
func (c *checkCommand) check(ctx context.Context, s *streams, tell func(kv.Problem)) (problems int, err error) {
	var printError error
	report := func(p kv.Problem) {
		problems++
		s.progress.clear()
		tell(p)
		if printError == nil && !c.json() {
			_, printError = s.printf("%s: %s\n", p.Where, p.What)
		}
	}
	opened := false
	read := c.readStore
	if c.Repair { // which needs the store for itself
		read = func(_ *streams, dir string, fn func(*kv.Store) error) error {
			return c.untilFree(ctx, func() error { return withStoreToRead(dir, c.store(), fn) })
		}
	}
	err = read(s, c.DB, func(store *kv.Store) error {
		opened = true
		if err := store.Check(ctx, s.progress.report(), report); err != nil {
			return err
		}
		err := store.View(func(tx *kv.Tx) error {
			return errors.Join(index.Check(ctx, tx, report), cleaner.Check(ctx, tx, report))
		})
		s.stages.end("check")
		if problems > 0 && errors.Is(err, kv.ErrCorrupt) {
			return nil // damage that was told of keeps them from going on
		}
		return err
	})
	if !opened && errors.Is(err, kv.ErrCorrupt) {
		report(kv.Problem{Where: c.DB, What: err.Error()})
		err = nil
	}
	return problems, errors.Join(err, printError)
}

// repair repairs a store with problems, and checks it again.
func (c *checkCommand) repair(ctx context.Context, s *streams, summary *checkSummary) error {
	question := fmt.Sprintf("Repair %s, which has %s? What cannot be made again is taken out.",
		c.DB, wording.Count(summary.Problems, "problem", "problems"))
	if err := s.agree(ctx, c.Yes, question, fmt.Errorf("%s is as it was: it was not confirmed", c.DB)); err != nil {
		return err
	}
	var done []kv.Correction
	opt := kv.Options{MemoryBudget: c.store(), OnWrite: index.Maintain}
	var losses kv.Losses
	path, err := realpath.Of(c.DB)
	if err != nil {
		return err
	}
	err = c.untilFree(ctx, func() (err error) {
		losses, err = kv.Repair(ctx, c.DB, opt, s.progress.report(), func(m kv.Correction) { done = append(done, m) }, cleaner.Repair, index.Repair)
		return err
	})
	s.stages.end("repair")
	s.progress.clear()
	if err != nil {
		return leaving(wayToOpen(err), "%s is as it was; run it again", c.DB)
	}
	if len(done) > 0 {
		s.say("the store as it was is %s", path+kv.BeforeRepair)
	}
	if now, err := realpath.Of(c.DB); err != nil || now != path { // the working directory was moved with what it was
		c.DB = path
	}
	repairs := len(done)
	summary.Repairs, summary.FirstRepairs, summary.Lost = &repairs, append([]kv.Correction{}, done[:min(repairs, mostListed)]...), append(kv.Losses{}, losses...)
	if err := c.tell(s, done); err != nil {
		return unreported(err, "%s is repaired", c.DB)
	}
	rest, err := c.check(ctx, s, func(kv.Problem) {}) // they are counted
	again := ""
	if err == nil {
		again, err = c.scoresAgain(s, rest)
	}
	if err != nil {
		return leaving(err, "%s is repaired, and was not checked again to the end", c.DB)
	}
	summary.Left, summary.OK = &rest, rest == 0
	if rest > 0 {
		return fmt.Errorf("%s has %s left after %s; %s", c.DB, wording.Count(rest, "problem", "problems"),
			wording.Count(len(done), "repair", "repairs"), c.lossText(s, losses, rest, again))
	}
	s.progress.clear()
	if c.json() {
		s.say("%s: %s", c.DB, c.lossText(s, losses, rest, again))
		return nil
	}
	_, err = s.printf("%s: no problems after %s\n%s: %s\n", c.DB, wording.Count(len(done), "repair", "repairs"), c.DB, c.lossText(s, losses, rest, again))
	return err
}

// lossText says what a repair lost, and where to get it from, also where it lost nothing and left problems. again is how to have scores again.
func (c *checkCommand) lossText(s *streams, losses kv.Losses, problems int, again string) string {
	switch {
	case len(losses) == 0 && problems == 0:
		return "nothing is lost"
	case len(losses) == 0:
		return fmt.Sprintf("restore a backup (%s restore), or import the files again that it was made from", s.program)
	}
	text := fmt.Sprintf("lost for good: %v", losses)
	classifier := losses.Has("classifier")
	if problems > 0 || !classifier || len(losses) > 1 {
		text += fmt.Sprintf("; restore it from a backup (%s restore), or import the files again that it was made from",
			s.program)
	}
	if classifier { // nothing that people have made
		text += fmt.Sprintf("; %s predict %[2]s trains the classifier again, or, if your own predictions are in the "+
			"store, %[1]s clean %[2]s",
			s.program, wording.ShellWord(c.DB))
	}
	if losses.Has("score", "run") {
		text += "; " + again
	}
	return text
}

// scoresAgain says how a repaired store, with so many problems left, gets scores again. If no run is left, nobody knows who made the scores.
func (c *checkCommand) scoresAgain(s *streams, problems int) (text string, err error) {
	here := fmt.Sprintf("%s clean %s makes scores again", s.program, wording.ShellWord(c.DB))
	elsewhere := fmt.Sprintf("%s import --scores --run imports scores of a larger graph again", s.program)
	if problems > 0 {
		return here + "; " + elsewhere, nil
	}
	err = c.readStore(s, c.DB, func(store *kv.Store) error {
		return store.View(func(tx *kv.Tx) error {
			run, err := cleaner.LastRun(tx)
			switch {
			case errors.Is(err, kv.ErrNotFound):
				text = here + "; " + elsewhere
			case err != nil:
				return err
			case run.Elsewhere != nil:
				text = elsewhere
			default:
				text = here
			}
			return nil
		})
	})
	return text, err
}

// tell prints what was done, or writes it to the file that was asked for.
func (c *checkCommand) tell(s *streams, done []kv.Correction) error {
	if c.Report == "" {
		if c.json() {
			return nil // they are in the summary
		}
		for _, m := range done {
			if _, err := s.printf("%s: %s: %s\n", m.Where, m.What, m.Done); err != nil {
				return err
			}
		}
		return nil
	}
	return s.writeFile(c.Report, func(f *bufio.Writer) error {
		encoder := json.NewEncoder(f)
		for _, m := range done {
			if err := encoder.Encode(m); err != nil {
				return err
			}
		}
		return nil
	})
}
