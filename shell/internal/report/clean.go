package report

import (
	"context"
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/survey"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// Clean makes the page of the last run of a store.
func Clean(ctx context.Context, store *kv.Store, title string) (page *Page, err error) {
	err = store.View(func(tx *kv.Tx) error {
		run, err := query.LastRun(tx)
		if err != nil {
			return err
		}
		page = &Page{Title: title, Options: runOptions(run)}
		if err := page.addScores(ctx, tx, run); err != nil {
			return err
		}
		if err := page.addPairs(ctx, tx); err != nil {
			return err
		}
		return page.addSuspects(ctx, tx, run)
	})
	return page, err
}

// addScores adds the headline and the histogram of the scores.
func (p *Page) addScores(ctx context.Context, tx *kv.Tx, run *cleaner.Run) error {
	h, err := survey.Scores(ctx, tx)
	if err != nil {
		return err
	}
	plan, err := index.NewPlan(tx, index.Query{Where: cleaner.Suspects(run.Threshold), Limit: -1})
	if err != nil {
		return err
	}
	suspects, err := plan.Count(ctx)
	if err != nil {
		return err
	}
	audit, err := query.LastAudit(ctx, tx)
	if err != nil {
		return err
	}
	wrong := "not known"
	if audit != nil && !math.IsNaN(audit.Rate) {
		wrong = fmt.Sprintf("%s (%s to %s)", wording.Percent(audit.Rate), wording.Percent(audit.Low), wording.Percent(audit.High))
	}
	p.Headline = []Fact{
		{"nodes scored", strconv.FormatInt(run.Scored, 10)},
		{fmt.Sprintf("suspects above %.4g", run.Threshold), strconv.FormatInt(suspects, 10)},
		{"of them contradicted by the predictions and by the neighbours", strconv.FormatInt(run.Contradicted, 10)},
		{"share of wrong labels", wrong},
	}
	note := "The score is the chance that the given label is wrong."
	if run.Preset != cleaner.PresetDefault {
		note = "The higher the score, the more suspect the label; it is no calibrated probability."
	}
	note += " " + wording.Sentence(wording.HowMany(audit)) + "."
	for _, warning := range run.Warnings {
		note += " " + wording.Sentence(warning) + "."
	}
	chart := template.HTML(h.Chart(run.Threshold))
	p.Sections = append(p.Sections, section{Title: "Scores", Note: note, Chart: chart})
	return nil
}

// listedPairs is how many pairs of classes a page lists.
const listedPairs = 20

// addPairs adds the classes that are confused most, as the statement noise lists them.
func (p *Page) addPairs(ctx context.Context, tx *kv.Tx) error {
	result, err := query.Query(ctx, tx, query.Options{}, "noise")
	if err != nil {
		return err
	}
	pairs := &table{Header: []string{"given label", "true class", "chance of the given label", "share of all labels"}}
	for row, err := range result.Rows() {
		if err != nil {
			return err
		}
		if v := row.Values; len(pairs.Rows) < listedPairs {
			pairs.Rows = append(pairs.Rows, []string{v[0].String(), v[1].String(), fmt.Sprintf("%.3f", v[2].Float()), fmt.Sprintf("%.4f", v[3].Float())})
		}
	}
	list := section{Title: "Confused classes", Note: "How often a node of the true class is given the label, as scores use it."}
	if list.Table = pairs; pairs.Rows == nil {
		list.Note, list.Table = "No class is confused with another.", nil
	}
	p.Sections = append(p.Sections, list)
	return nil
}

// runOptions are what a run was asked, and of what.
func runOptions(run *cleaner.Run) []Fact {
	return []Fact{
		{"run", strconv.FormatInt(run.ID, 10)},
		{"started", run.Started.UTC().Format(time.RFC3339)},
		{"seconds", fmt.Sprintf("%.1f", run.Seconds)},
		{"nodes", strconv.FormatInt(run.Nodes, 10)},
		{"edges", strconv.FormatInt(run.Edges, 10)},
		{"preset", string(run.Preset)},
		{"predictions", strings.Trim(run.PredictionSource+": "+run.PredictionUse, ": ")},
		{"hops", strconv.Itoa(run.Hops)},
		{"direction", run.Direction.String()},
		{"threshold", strconv.FormatFloat(run.Threshold, 'g', -1, 64)},
		{"seed", strconv.FormatUint(run.Seed, 10)},
	}
}
