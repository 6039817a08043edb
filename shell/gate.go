package shell

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/files"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// gateCommand fails if a store has too many suspects, or new ones.
type gateCommand struct {
	DB        string   `arg:"" name:"DB" help:"Directory of the store."`
	Most      *int64   `xor:"most" placeholder:"N" help:"Fail if there are more than N suspects."`
	MostShare *float64 `xor:"most" placeholder:"R" help:"Fail if more than this share of the scored nodes are suspects, from 0 to 1: 5% is 0.05."`
	Baseline  string   `file:"read" placeholder:"FILE" help:"Fail if a suspect is not in this file. export suspects makes the file."`
	resources
}

func (*gateCommand) Help() string {
	return `For a job that checks labels whenever they change.

  - Exit code 0: the store passes.
  - Exit code 3: it does not, because there are too many suspects, or suspects outside the baseline, or outdated scores.
  - Exit code 1: the gate cannot tell, for example because the store or the baseline is missing.

Suspects are those of the statement 'suspects'. If the gate fails, the first 20 outside of the baseline go to ` +
		`standard output; the verdict goes to standard error. Scores are outdated if predictions, nodes, edges or labels ` +
		`changed since clean or rescore, but not after decisions alone.

A baseline is a table with the columns id and given_label, as the export of suspects makes it.

    graphcleaner gate my.graph --most 100
    graphcleaner gate my.graph --most-share 0.02
    graphcleaner export my.graph suspects --out known.csv
    graphcleaner gate my.graph --baseline known.csv`
}

func (c *gateCommand) check() error {
	switch {
	case c.Most != nil && *c.Most < 0:
		return usagef("--most %d: want 0 or more", *c.Most)
	case c.MostShare != nil && !(*c.MostShare >= 0 && *c.MostShare <= 1):
		return usagef("--most-share %v: want a number from 0 to 1, such as 0.05 for 5%%", *c.MostShare)
	case c.Most == nil && c.MostShare == nil && c.Baseline == "":
		return usagef("gate: nothing to check, want --most, --most-share or --baseline")
	}
	return nil
}

func (c *gateCommand) Run(ctx context.Context, s *streams) error {
	if err := c.check(); err != nil {
		return err
	}
	var reasons []string // why the store does not pass
	var listed *query.Result
	err := c.view(s, c.DB, func(tx *kv.Tx) (err error) {
		reasons, listed, err = c.judge(ctx, tx, s)
		return err
	})
	if err != nil || reasons == nil {
		return err
	}
	if listed != nil {
		if _, err := print.Render(s.out, listed, print.FormatTable, print.ScreenOf(s.out)); err != nil {
			return err
		}
	}
	return &exitError{exitVerdict, strings.Join(reasons, "; ")}
}

// mostListed is how many suspects a gate prints.
const mostListed = 20

// judge compares the suspects with the limits and the baseline. Where suspects are a reason not to pass, it lists the
// first of those outside of the baseline.
func (c *gateCommand) judge(
	ctx context.Context, tx *kv.Tx, s *streams,
) (reasons []string, listed *query.Result, err error) {
	known, err := c.readBaseline(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	run, err := cleaner.LastRun(tx)
	if err != nil {
		return nil, nil, err
	}
	sayWarnings(s, run.Warnings)
	var scored int64
	if run.Elsewhere != nil { // the store has a part of its graph
		s.say("%s", wording.Elsewhere(run))
		scored = run.Elsewhere.Scored
	} else if scored, err = countNodes(ctx, tx, "score is not null"); err != nil {
		return nil, nil, err
	}
	outdated, err := whyOutdated(ctx, tx, run)
	if err != nil {
		return nil, nil, err
	}
	if outdated != "" {
		reasons = append(reasons, outdated)
	}
	result, err := suspects(ctx, tx, c.Threads)
	if err != nil {
		return nil, nil, err
	}
	count, isNew, rows := int64(0), 0, [][]kv.Value(nil)
	for row, err := range result.Rows() {
		if err != nil {
			return nil, nil, err
		}
		count++
		if label, ok := known[row[0].String()]; ok && label == row[1].String() {
			continue
		}
		if isNew++; len(rows) < mostListed {
			rows = append(rows, row)
		}
	}
	standing := fmt.Sprintf("%d of %d scored nodes are suspects above %.4g", count, scored, run.Threshold)
	refuse := func(format string, args ...any) {
		listed = query.NewTable(scoreColumns, rows)
		reasons = append(reasons, standing+fmt.Sprintf(format, args...))
	}
	if c.Most != nil && count > *c.Most {
		refuse(", want at most %v", *c.Most)
	}
	if share := float64(count) / float64(max(scored, 1)); c.MostShare != nil && share > *c.MostShare {
		refuse(", a share of %.4g, want at most %.4g", share, *c.MostShare)
	}
	if isNew > 0 && c.Baseline != "" {
		refuse(", %d of them not in %s", isNew, c.Baseline)
	}
	if reasons == nil {
		s.say("%s: %s: passed", c.DB, standing)
	}
	return reasons, listed, nil
}

// countNodes counts the nodes that a condition is true of.
func countNodes(ctx context.Context, tx *kv.Tx, where string) (count int64, err error) {
	result, err := query.Query(ctx, tx, query.Options{}, "count nodes where "+where)
	if err != nil {
		return 0, err
	}
	for row, err := range result.Rows() {
		if err != nil {
			return 0, err
		}
		count = row[0].Int()
	}
	return count, nil
}

// sayWarnings repeats the warnings of a run.
func sayWarnings(s *streams, warnings []string) {
	for _, warning := range warnings {
		s.say("%s", warning)
	}
}

// whyOutdated says why scores are out of date, and what to do; "" if they are not.
func whyOutdated(ctx context.Context, tx *kv.Tx, run *cleaner.Run) (string, error) {
	outdated, err := cleaner.ChangesSince(ctx, tx, run)
	if err != nil {
		return "", err
	}
	// Decided nodes are left out: the decision stands.
	unscored, err := countNodes(ctx, tx, "label is not null and score is null and decision is null")
	if err != nil {
		return "", err
	}
	reasons := slices.Concat(outdated.Changes, outdated.Misfits)
	advice := "run rescore"
	if outdated.Misfits != nil || outdated.Changes == nil {
		advice = "run clean"
	}
	if unscored > 0 {
		reasons = append(reasons, wording.Count(unscored, "labelled node has", "labelled nodes have")+" no score")
	}
	if len(reasons) == 0 {
		return "", nil
	}
	return fmt.Sprintf("the scores are out of date: %s: %s", strings.Join(reasons, ", "), advice), nil
}

// readBaseline reads the labels by id of the file of --baseline, if there is one.
func (c *gateCommand) readBaseline(ctx context.Context, s *streams) (labels map[string]string, err error) {
	if c.Baseline == "" {
		return nil, nil
	}
	r := files.Job{Memory: c.work(), Notice: s.notice, Wanted: "a header line with id and given_label"}
	in, places, err := r.OpenTable(ctx, c.Baseline, "given_label")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	id, label := places[0], places[1]
	labels = make(map[string]string)
	size := int64(0)
	return labels, files.EachRow(ctx, in, s.progress.report, func(row table.Row) error {
		name, class := string(row.Fields[id]), string(row.Fields[label])
		if size += rowOverhead + int64(len(name)+len(class)); size > c.work() {
			return in.Errorf(row.Line, "", "a baseline of so many rows takes more than --memory %s allows", c.Memory)
		}
		labels[name] = class
		return nil
	})
}

// rowOverhead is about the bytes that a row of a file takes in a map, without its text.
const rowOverhead = 96
