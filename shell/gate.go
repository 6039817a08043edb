package shell

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/files"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// gateCommand fails if a store has too many suspects, or new ones.
type gateCommand struct {
	DB        string       `arg:"" name:"DB" help:"Directory of the store."`
	Most      *int64       `xor:"most" placeholder:"N" help:"Fail if there are more than N suspects."`
	MostShare *float64     `xor:"most" placeholder:"R" help:"Fail if more than this share of the scored nodes are suspects, from 0 to 1: 5% is 0.05."`
	Baseline  string       `file:"read" placeholder:"FILE" help:"Fail if a suspect is not in this file. export suspects makes the file."`
	Limit     int          `default:"20" placeholder:"N" help:"If the gate fails, print up to N of the suspects. Default: 20."`
	Format    print.Format `default:"table" placeholder:"FORMAT" help:"How the suspects are printed: table, csv, tsv, jsonl or markdown. json: one object with the verdict and these suspects, also if the gate passes."`
	suspicion
	resources
}

func (*gateCommand) Help() string {
	return `For a job that checks labels whenever they change.

  - Exit code 0: the store passes.
  - Exit code 3: it does not, because there are too many suspects, or suspects outside the baseline, or outdated scores.
  - Exit code 1: the gate cannot tell, for example because the store or the baseline is missing, or another process holds the store and does not answer.

A suspect scores above the threshold, has a suggested label other than its own, and nobody has decided on it. An unsure node is no suspect. The verdict ` +
		`has the number of unsure nodes. The table of suspects goes to standard output, the verdict to standard error.

Scores are outdated in four cases: the store was never cleaned; predictions were written since clean began; nodes, edges, labels or predictions of nodes changed since clean ` +
		`or rescore; a labelled node that nobody has decided on has no score. The verdict says whether to run rescore or clean. ` +
		`Labels that decisions changed do not make scores outdated.

A baseline is a table with the columns id and given_label, as the export of suspects makes it. A suspect matches a row ` +
		`with the same id and label. If the table has no column given_label, the same id is enough.

    graphcleaner gate my.graph --most 100
    graphcleaner gate my.graph --most-share 0.02 --threshold 0.9
    graphcleaner export my.graph suspects --out known.csv
    graphcleaner gate my.graph --baseline known.csv --format csv
    graphcleaner gate my.graph --most 100 --format json`
}

// suspicion is the flag of commands that take a threshold of their own for suspects.
type suspicion struct {
	Threshold *float64 `placeholder:"T" help:"Score above which a node is a suspect. Default: the threshold of the last run."`
}

func (f suspicion) checkThreshold() error {
	if f.Threshold != nil && !(*f.Threshold >= 0 && *f.Threshold < 1) {
		return usagef("--threshold %v: want a number from 0 to less than 1", *f.Threshold)
	}
	return nil
}

// threshold returns --threshold, or else the threshold of the last run. Without a run it returns ErrNotCleaned in either case.
func (f suspicion) threshold(tx *kv.Tx) (float64, error) {
	run, err := query.LastRun(tx)
	if err != nil {
		return 0, err
	}
	return f.thresholdOf(run), nil
}

// thresholdOf is threshold for a known last run.
func (f suspicion) thresholdOf(run *cleaner.Run) float64 {
	if f.Threshold != nil {
		return query.Single(*f.Threshold)
	}
	return run.Threshold
}

func (c *gateCommand) check() error {
	switch {
	case c.Most != nil && *c.Most < 0:
		return usagef("--most %d: want 0 or more", *c.Most)
	case c.MostShare != nil && !(*c.MostShare >= 0 && *c.MostShare <= 1):
		return usagef("--most-share %v: want a number from 0 to 1, such as 0.05 for 5%%", *c.MostShare)
	case c.Limit < 0:
		return usagef("--limit %d: want 0 or more", c.Limit)
	case c.Most == nil && c.MostShare == nil && c.Baseline == "":
		return usagef("gate: nothing to check, want --most, --most-share or --baseline")
	}
	return c.checkThreshold()
}

func (c *gateCommand) Run(ctx context.Context, s *streams) error {
	if err := cmp.Or(c.apply(s), c.check()); err != nil {
		return err
	}
	verdict := &gateVerdict{Store: c.DB}
	err := c.readStore(s, c.DB, func(store *kv.Store) error { return c.judge(ctx, store, verdict, s) })
	if errors.Is(err, query.ErrNotCleaned) {
		verdict.Reasons, err = []string{err.Error()}, nil
	}
	if err != nil {
		return err
	}
	return verdict.print(s, c)
}

// A gateVerdict is what gate found. Gate --format json prints it.
type gateVerdict struct {
	Store     string          `json:"store"`
	Passed    bool            `json:"passed"`
	Reasons   []string        `json:"reasons"`       // why it has not passed
	Threshold *float64        `json:"threshold"`     // null: the store was never cleaned
	Scored    int64           `json:"scored"`        // nodes that have a score
	Suspects  int64           `json:"suspects"`      // above the threshold
	Share     float64         `json:"suspect_share"` // of the scored nodes
	New       *int64          `json:"new_suspects"`  // that are not in the baseline; null: there is none
	Unsure    int64           `json:"unsure"`        // nodes that would be suspects, had nobody put them aside
	Warnings  []string        `json:"warnings"`
	Listed    json.RawMessage `json:"listed"` // suspects, up to --limit, as the other formats print them

	rows   [][]kv.Value
	hidden int64  // suspects beyond --limit
	note   string // for people, if it has passed
}

// print prints the verdict. If it has not passed, it is the error.
func (v *gateVerdict) print(s *streams, c *gateCommand) error {
	v.Passed = len(v.Reasons) == 0
	s.progress.clear()
	sayWarnings(s, v.Warnings)
	if c.Format == print.FormatJSON {
		var listed bytes.Buffer
		if _, err := print.Render(&listed, query.NewTable(scoreColumns, v.rows), c.Format); err != nil {
			return err
		}
		v.Listed = listed.Bytes()
		v.Reasons, v.Warnings = append([]string{}, v.Reasons...), append([]string{}, v.Warnings...)
		if err := s.writeJSON(v); err != nil {
			return err
		}
	} else if len(v.rows) > 0 {
		if _, err := print.Render(s.out, query.NewTable(scoreColumns, v.rows), c.Format); err != nil {
			return err
		}
	}
	if v.hidden > 0 {
		s.say("and %d more: --limit %d prints them", v.hidden, int64(len(v.rows))+v.hidden)
	}
	if v.Passed {
		s.say("%s", v.note)
		return nil
	}
	return &verdictError{strings.Join(v.Reasons, "; ")}
}

// judge compares the suspects with the limits and the baseline.
func (c *gateCommand) judge(ctx context.Context, store *kv.Store, v *gateVerdict, s *streams) error {
	base, err := c.readBaseline(ctx, s)
	if err != nil {
		return err
	}
	tx := store.Begin()
	defer tx.Close()
	run, err := query.LastRun(tx)
	if err != nil {
		return err
	}
	threshold := c.thresholdOf(run)
	v.Threshold, v.Warnings = &threshold, run.Warnings
	if run.Elsewhere != nil {
		v.Warnings = append(v.Warnings, wording.Elsewhere(run))
	}
	if v.Scored, err = scoredOf(ctx, tx, run); err != nil {
		return err
	}
	if v.Reasons, err = reasonsToClean(ctx, tx, run); err != nil {
		return err
	}
	unsure := index.Compare{Property: decide.Column, Op: index.Eq, Value: kv.ValueOf(decide.Unsure.String())}
	if v.Unsure, err = countWhere(ctx, tx, index.And{Terms: []index.Predicate{cleaner.Disputes(threshold), unsure}}); err != nil {
		return err
	}
	result, err := suspectsAbove(ctx, tx, threshold, byScore, c.Threads)
	if err != nil {
		return err
	}
	var all, fresh [][]kv.Value // the first
	freshCount := int64(0)      // not in the baseline
	for row, err := range result.Rows() {
		if err != nil {
			return err
		}
		if v.Suspects++; len(all) < c.Limit {
			all = append(all, row.Values)
		}
		if c.Baseline == "" || base.has(row.Values[0].String(), row.Values[1].String()) {
			continue
		}
		if freshCount++; len(fresh) < c.Limit {
			fresh = append(fresh, row.Values)
		}
	}
	v.Share = float64(v.Suspects) / float64(max(v.Scored, 1))
	if c.Baseline != "" {
		v.New = &freshCount
	}
	above := fmt.Sprintf("above %.4g", threshold)
	if v.Unsure > 0 {
		above += fmt.Sprintf(", without %d put aside as unsure", v.Unsure)
	}
	suspects := wording.Count(v.Suspects, "suspect", "suspects") + " " + above
	fail := func(listed [][]kv.Value, of int64, format string, args ...any) {
		v.Reasons = append(v.Reasons, fmt.Sprintf(format, args...))
		v.rows, v.hidden = listed, of-int64(len(listed))
	}
	if c.Most != nil && v.Suspects > *c.Most {
		fail(all, v.Suspects, "%s, want at most %d", suspects, *c.Most)
	}
	if c.MostShare != nil && v.Share > *c.MostShare {
		fail(all, v.Suspects, "%d of %d scored nodes are suspects %s, a share of %.4g, want at most %.4g",
			v.Suspects, v.Scored, above, v.Share, *c.MostShare)
	}
	if freshCount > 0 {
		fail(fresh, freshCount, "%s, %d of them not in %s", suspects, freshCount, c.Baseline)
	}
	v.note = fmt.Sprintf("%s: %d of %d scored nodes are suspects %s: passed", c.DB, v.Suspects, v.Scored, above)
	return nil
}

// countWhere counts the nodes that a condition is true of.
func countWhere(ctx context.Context, tx *kv.Tx, where index.Predicate) (int64, error) {
	plan, err := index.NewPlan(tx, index.Query{Where: where, Limit: -1})
	if err != nil {
		return 0, err
	}
	return plan.Count(ctx)
}

// sayWarnings repeats the warnings of a run.
func sayWarnings(s *streams, warnings []string) {
	for _, warning := range warnings {
		s.say("%s", warning)
	}
}

// scoredOf is how many labels the suspects of a run were looked for among.
func scoredOf(ctx context.Context, tx *kv.Tx, run *cleaner.Run) (int64, error) {
	if run.Elsewhere != nil {
		return run.Elsewhere.Scored, nil
	}
	return countWhere(ctx, tx, index.Not{Term: index.IsNull{Property: cleaner.ScoreColumn}})
}

// reasonsToClean returns the reasons why scores are out of date, and advice.
func reasonsToClean(ctx context.Context, tx *kv.Tx, run *cleaner.Run) ([]string, error) {
	outdated, err := cleaner.ChangesSince(ctx, tx, run)
	if err != nil {
		return nil, err
	}
	// Decided nodes are left out: the decision stands.
	plan, err := index.NewPlan(tx, index.Query{Limit: -1, Where: index.And{Terms: []index.Predicate{
		index.Not{Term: index.IsNull{Property: kv.LabelColumn}}, index.IsNull{Property: cleaner.ScoreColumn}, index.IsNull{Property: decide.Column},
	}}})
	if err != nil {
		return nil, err
	}
	nodes, example := 0, ""
	for v, err := range plan.Rows(ctx) {
		if err != nil {
			return nil, err
		}
		if nodes++; nodes > 1 {
			continue
		}
		if example, err = tx.ID(v); err != nil {
			return nil, err
		}
	}
	reasons := slices.Concat(outdated.Changes, outdated.Misfits)
	advice := "run rescore"
	if outdated.Misfits != nil || outdated.Changes == nil {
		advice = "run clean"
	}
	switch {
	case nodes == 1:
		reasons = append(reasons, fmt.Sprintf("labelled node %s has no score", query.Quote(example)))
	case nodes > 1:
		reasons = append(reasons, fmt.Sprintf("%d labelled nodes have no score, such as %s", nodes, query.Quote(example)))
	}
	if len(reasons) == 0 {
		return nil, nil
	}
	switch _, err := cleaner.Predictions(tx); {
	case errors.Is(err, cleaner.ErrMissingRows):
		if _, kept := cleaner.ClassifierAge(ctx, tx); errors.Is(kept, kv.ErrNotFound) {
			advice = fmt.Sprintf("%v: %s, and then clean", err, wording.WayToPredict)
		}
	case err != nil && !errors.Is(err, kv.ErrNotFound):
		return nil, err
	}
	return []string{fmt.Sprintf("the scores are out of date: %s: %s", strings.Join(reasons, ", "), advice)}, nil
}

// A baseline holds the known suspects with their given labels.
type baseline struct {
	labels   map[string]string // by id
	labelled bool              // given holds labels
}

func (b baseline) has(id, label string) bool {
	class, ok := b.labels[id]
	return ok && (!b.labelled || class == label)
}

// readBaseline reads the file of --baseline, if given.
func (c *gateCommand) readBaseline(ctx context.Context, s *streams) (base baseline, err error) {
	if c.Baseline == "" {
		return base, nil
	}
	r := files.Job{Memory: c.work(), Notice: s.notice,
		Wanted: "a header line with id and, to compare labels too, given_label, as export suspects writes it"}
	in, ids, err := r.OpenTable(ctx, c.Baseline)
	if err != nil {
		return base, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	labels, err := in.Columns("given_label")
	if err != nil {
		return base, err
	}
	id, label := ids[0], labels[0]
	base = baseline{labels: make(map[string]string), labelled: label >= 0}
	size := int64(0)
	return base, files.EachRow(ctx, in, s.progress.report(), func(row table.Row) error {
		name, class := string(row.Fields[id]), ""
		if _, again := base.labels[name]; again {
			return in.Errorf(row.Line, in.Header()[id], "got %q again, want every id once", name)
		}
		if label >= 0 {
			class = string(row.Fields[label])
		}
		if size += rowOverhead + int64(len(name)+len(class)); size > c.work() {
			return in.Errorf(row.Line, "", "a baseline of so many rows takes more than --memory %s allows", c.Memory)
		}
		base.labels[name] = class
		return nil
	})
}

// rowOverhead is about the bytes that a row of a file takes in a map, without its text.
const rowOverhead = 96
