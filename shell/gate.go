package shell

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// gateCommand fails where a store has more suspects than it may have, or other ones.
type gateCommand struct {
	DB            string   `arg:"" name:"DB" help:"Directory of the store."`
	Most          *int64   `xor:"most" placeholder:"N" help:"Fail where there are more than N suspects."`
	MostShare     *float64 `xor:"most" placeholder:"R" help:"Fail where more than this share of the scored nodes are suspects, from 0 to 1."`
	Baseline      string   `placeholder:"FILE" help:"Fail where there are suspects that this file, of an earlier --write-baseline, does not have."`
	WriteBaseline string   `placeholder:"FILE" help:"Write the suspects to a file, .csv or .tsv, for --baseline."`
	Limit         int      `default:"20" placeholder:"N" help:"Print up to N suspects that are in the way. Without it: 20."`
	Format        Format   `default:"table" placeholder:"FORMAT" help:"table, csv, tsv, json, jsonl or markdown."`
	suspicion
	resources
}

func (*gateCommand) Help() string {
	return `For a job that checks labels whenever they change: it ends with 1 where there are more suspects than allowed, or some that a baseline does not have, and ` +
		`prints them; otherwise with 0. Suspects score above the threshold and nobody has decided on them. The table goes to standard output, the verdict to standard error.

A baseline is a table with the columns id and given_label, as --write-baseline and the export of suspects make it. A suspect that was given another label since ` +
		`is not in it; without the column given_label it is the id alone that counts.

    graphcleaner gate my.graph --most 100
    graphcleaner gate my.graph --most-share 0.02 --threshold 0.9
    graphcleaner gate my.graph --write-baseline known.csv
    graphcleaner gate my.graph --baseline known.csv --format csv`
}

// suspicion is the flag of commands that take a threshold of their own for suspects.
type suspicion struct {
	Threshold *float64 `placeholder:"T" help:"Score above which a node is a suspect. Without it the threshold of the last run."`
}

func (f suspicion) checkThreshold() error {
	if f.Threshold != nil && !(*f.Threshold >= 0 && *f.Threshold < 1) {
		return usagef("--threshold %v: want a number from 0 to less than 1", *f.Threshold)
	}
	return nil
}

// threshold is the one asked for, or that of the last run; ErrNotCleaned where there is none, also if one is asked for.
func (f suspicion) threshold(tx *kv.Tx) (float64, error) {
	run, err := lastRun(tx)
	if err != nil {
		return 0, err
	}
	if f.Threshold != nil {
		return *f.Threshold, nil
	}
	return run.Threshold, nil
}

// scoreAbove is the condition that a node scores above a threshold.
func scoreAbove(threshold float64) expression {
	return &comparison{
		property: name{text: "score", pos: startOfText}, operator: ">",
		value: literal{kind: literalFloat, text: exact(kv.FloatValue(threshold), kv.KindFloat), float: threshold, pos: startOfText},
	}
}

// namesOf are the names of columns, as a return clause has them.
func namesOf(columns []ColumnInfo) []name {
	names := make([]name, len(columns))
	for i, c := range columns {
		names[i] = name{text: c.Name, pos: startOfText}
	}
	return names
}

func (c *gateCommand) check() error {
	limited := c.Most != nil || c.MostShare != nil || c.Baseline != ""
	switch extension := strings.ToLower(filepath.Ext(c.WriteBaseline)); {
	case c.Most != nil && *c.Most < 0:
		return usagef("--most %d: want 0 or more", *c.Most)
	case c.MostShare != nil && !(*c.MostShare >= 0 && *c.MostShare <= 1):
		return usagef("--most-share %v: want a number from 0 to 1", *c.MostShare)
	case c.Limit < 0:
		return usagef("--limit %d: want 0 or more", c.Limit)
	case limited && c.WriteBaseline != "":
		return usagef("gate: --write-baseline checks nothing, so it goes without --most, --most-share and --baseline")
	case !limited && c.WriteBaseline == "":
		return usagef("gate: nothing to check, want --most, --most-share, --baseline or --write-baseline")
	case c.WriteBaseline != "" && extension != ".csv" && extension != ".tsv":
		return usagef("gate: want a file that ends in .csv or .tsv, got --write-baseline %s", c.WriteBaseline)
	}
	return c.checkThreshold()
}

func (c *gateCommand) Run(ctx context.Context, s *streams) error {
	if err := firstError(c.apply(), c.check()); err != nil {
		return err
	}
	return withStoreToRead(c.DB, c.store(), func(store *kv.Store) error {
		if c.WriteBaseline != "" {
			return c.writeBaseline(ctx, store, s)
		}
		known, err := c.readBaseline(ctx, s)
		if err != nil {
			return err
		}
		return c.judge(ctx, store, known, s)
	})
}

// A census is what a gate knows of the suspects of a store.
type census struct {
	threshold       float64
	scored          int64 // nodes
	suspects, fresh int64 // fresh: those that the baseline does not have
	unscored        int64 // labelled nodes that nobody has decided on
	first           [][]kv.Value
	firstFresh      [][]kv.Value
}

// judge compares the suspects with what is allowed.
func (c *gateCommand) judge(ctx context.Context, store *kv.Store, known baseline, s *streams) error {
	found, err := c.count(ctx, store, known)
	if err != nil {
		return err
	}
	above := fmt.Sprintf("above %.4g", found.threshold)
	suspects := countText(int(found.suspects), "suspect", "suspects") + " " + above
	var wrong []string
	if c.Most != nil && found.suspects > *c.Most {
		wrong = append(wrong, fmt.Sprintf("%s, want at most %d", suspects, *c.Most))
	}
	if found.unscored > 0 {
		s.say("%s: %s without a score and so not judged: run clean", c.DB, countText(int(found.unscored), "labelled node is", "labelled nodes are"))
	}
	share := float64(found.suspects) / float64(max(found.scored, 1))
	if c.MostShare != nil && share > *c.MostShare {
		wrong = append(wrong, fmt.Sprintf("%d of %d scored nodes are suspects %s, a share of %.4g, want at most %.4g",
			found.suspects, found.scored, above, share, *c.MostShare))
	}
	if found.fresh > 0 {
		wrong = append(wrong, fmt.Sprintf("%s, %d of them not in %s", suspects, found.fresh, c.Baseline))
	}
	if wrong == nil {
		s.say("%s: %d of %d scored nodes are suspects %s: passed", c.DB, found.suspects, found.scored, above)
		return nil
	}
	shown, all := found.first, found.suspects
	if found.fresh > 0 {
		shown, all = found.firstFresh, found.fresh
	}
	if len(shown) > 0 {
		if _, err := Render(s.out, inMemory(scoreColumns, shown), c.Format); err != nil {
			return err
		}
	}
	if hidden := all - int64(len(shown)); hidden > 0 {
		s.say("and %d more: --limit %d prints them", hidden, all)
	}
	return errors.New(strings.Join(wrong, "; "))
}

// suspectsAbove answers suspects with a threshold, highest score first; its columns are scoreColumns.
func suspectsAbove(ctx context.Context, store *kv.Store, threshold float64) (*Result, error) {
	e := engine{store: store}
	result, err := e.run(ctx, &suspectsStatement{clauses: clauses{where: scoreAbove(threshold), columns: namesOf(scoreProperties)}})
	if err != nil {
		return nil, err
	}
	result.columns = scoreColumns
	return result, nil
}

// count goes through the suspects.
func (c *gateCommand) count(ctx context.Context, store *kv.Store, known baseline) (found census, err error) {
	err = store.View(func(tx *kv.Tx) error {
		run, err := lastRun(tx)
		if err != nil {
			return err
		}
		found.scored = run.Scored
		found.threshold, err = c.threshold(tx)
		return err
	})
	if err != nil {
		return found, err
	}
	unscored, err := Query(ctx, store, "count nodes where label is not null and score is null and decision is null")
	if err != nil {
		return found, err
	}
	for row, err := range unscored.Rows() {
		if err != nil {
			return found, err
		}
		found.unscored = row.Values[0].Int()
	}
	result, err := suspectsAbove(ctx, store, found.threshold)
	if err != nil {
		return found, err
	}
	for row, err := range result.Rows() {
		if err != nil {
			return found, err
		}
		if found.suspects++; len(found.first) < c.Limit {
			found.first = append(found.first, row.Values)
		}
		if c.Baseline == "" || known.has(row.Values[0].String(), row.Values[1].String()) {
			continue
		}
		if found.fresh++; len(found.firstFresh) < c.Limit {
			found.firstFresh = append(found.firstFresh, row.Values)
		}
	}
	return found, nil
}

// A baseline holds the suspects that are known, with the label they were given.
type baseline struct {
	given    map[string]string // by id
	labelled bool              // given holds labels
}

func (b baseline) has(id, label string) bool {
	given, ok := b.given[id]
	return ok && (!b.labelled || given == label)
}

// readBaseline reads the baseline, where one is asked for.
func (c *gateCommand) readBaseline(ctx context.Context, s *streams) (known baseline, err error) {
	if c.Baseline == "" {
		return known, nil
	}
	in, id, err := openTable(ctx, c.Baseline, c.work())
	if err != nil {
		return known, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	label := in.Column("given_label")
	known = baseline{given: make(map[string]string), labelled: label >= 0}
	held := int64(0)
	return known, eachRow(ctx, in, reading{s: s}, func(row table.Row) error {
		name, given := string(row.Fields[id]), ""
		if _, again := known.given[name]; again {
			return in.Errorf(row.Line, in.Header()[id], "got %q again, want every id once", name)
		}
		if label >= 0 {
			given = string(row.Fields[label])
		}
		if held += rowOverhead + int64(len(name)+len(given)); held > c.work() {
			return in.Errorf(row.Line, "", "a baseline of so many rows takes more than --memory %s allows", c.Memory)
		}
		known.given[name] = given
		return nil
	})
}

// rowOverhead is about what a row of a file takes in a map beside its text, in bytes.
const rowOverhead = 96

// writeBaseline writes the suspects in the order of the nodes file, which does not change from run to run.
func (c *gateCommand) writeBaseline(ctx context.Context, store *kv.Store, s *streams) error {
	format, err := formatOfFile(c.WriteBaseline)
	if err != nil {
		return err
	}
	var threshold float64
	err = store.View(func(tx *kv.Tx) (err error) {
		threshold, err = c.threshold(tx)
		return err
	})
	if err != nil {
		return err
	}
	undecidedAbove := &logical{operator: "and", terms: []expression{
		scoreAbove(threshold), &isNull{property: name{text: "decision", pos: startOfText}},
	}}
	e := engine{store: store}
	result, err := e.run(ctx, &nodesStatement{clauses: clauses{where: undecidedAbove, columns: namesOf(scoreProperties)}})
	if err != nil {
		return err
	}
	result.columns = scoreColumns
	var rows int64
	err = s.writeFile(c.WriteBaseline, func(out *outFile) (err error) {
		rows, err = Render(out, result, format)
		return err
	})
	result.Close() // where the file could not be made
	if err != nil {
		return leaving(err, "%s was not written", c.WriteBaseline)
	}
	s.say("%s: wrote %s above %.4g to %s", c.DB, countText(int(rows), "suspect", "suspects"), threshold, c.WriteBaseline)
	return nil
}
