package shell

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// writeReport writes the page of the last run to the file of --report, where there is one.
func (c *cleanCommand) writeReport(ctx context.Context, s *streams) error {
	if c.Report == "" {
		return nil
	}
	var page *reportPage
	err := withStoreToRead(c.DB, c.store(), func(store *kv.Store) (err error) {
		page, err = cleanPage(ctx, store, "Suspect labels of "+c.DB)
		return err
	})
	if err != nil {
		return err
	}
	return page.write(c.Report, s)
}

// cleanPage is the page of the last run of a store.
func cleanPage(ctx context.Context, store *kv.Store, title string) (page *reportPage, err error) {
	err = store.View(func(tx *kv.Tx) error {
		run, err := query.LastRun(tx)
		if err != nil {
			return err
		}
		page = &reportPage{Title: title, Options: runOptions(run)}
		if err := page.addScores(ctx, tx, run); err != nil {
			return err
		}
		page.addTransition(run)
		return page.addSuspects(ctx, store)
	})
	return page, err
}

// addScores adds the headline and the histogram of the scores.
func (p *reportPage) addScores(ctx context.Context, tx *kv.Tx, run *cleaner.Run) error {
	scores, err := tx.Reader(cleaner.ScoreColumn) // which holds a block at a time
	if err != nil {
		return err
	}
	h := newHistogram()
	for v := range kv.NodeID(tx.NumNodes()) {
		if v%(1<<14) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		value, err := scores.At(v)
		if err != nil {
			return err
		}
		if value.IsNull() { // unlabelled
			continue
		}
		h.add(value.Float(), false)
	}
	plan, err := index.NewPlan(tx, index.Query{Where: cleaner.Suspects(run.Threshold), Limit: -1})
	if err != nil {
		return err
	}
	suspects, expected := int64(0), 0.0
	for v, err := range plan.Rows(ctx) {
		if err != nil {
			return err
		}
		score, err := scores.At(v)
		if err != nil {
			return err
		}
		suspects, expected = suspects+1, expected+score.Float()
	}
	p.Headline = []fact{
		{"nodes scored", strconv.FormatInt(run.Scored, 10)},
		{fmt.Sprintf("suspects above %.4g", run.Threshold), strconv.FormatInt(suspects, 10)},
		{"estimated mislabel rate", wording.Percent(run.MislabelRate)},
	}
	if run.HasInterval() {
		p.Headline[len(p.Headline)-1].Value += fmt.Sprintf(" (%s to %s)", wording.Percent(run.RateLow), wording.Percent(run.RateHigh))
	}
	if run.Preset == cleaner.PresetDefault && suspects > 0 {
		p.Headline = append(p.Headline, fact{"expected precision of the suspects", wording.Percent(expected / float64(suspects))})
	}
	note := "The score is the chance that the given label is wrong."
	if run.Preset != cleaner.PresetDefault {
		note = "The higher the score, the more suspect the label; it is no calibrated probability."
	}
	if grey := wording.GreyZone(run); grey != "" {
		note += " " + wording.Sentence(grey) + "."
	}
	for _, warning := range run.Warnings {
		note += " " + wording.Sentence(warning) + "."
	}
	c := h.chart("Scores of the labelled nodes", false)
	c.line([][2]float64{{run.Threshold, c.y.least}, {run.Threshold, c.y.most}}, vermillion, true)
	c.legend(vermillion, fmt.Sprintf("threshold %.4g", run.Threshold), true)
	p.Sections = append(p.Sections, pageSection{Title: "Scores", Note: note, Charts: []*chart{c}})
	return nil
}

// addTransition adds the heat map of the noise, as the run estimates it.
func (p *reportPage) addTransition(run *cleaner.Run) {
	confused := make([]float64, len(run.Classes))
	for _, cell := range run.Joint.Cells {
		if cell.Row != cell.Column {
			confused[cell.Row] += cell.Value
			confused[cell.Column] += cell.Value
		}
	}
	p.Sections = append(p.Sections, pageSection{
		Title: "Transition matrix",
		Note:  "Estimated from confident predictions. Grey: no confident example of the true class." + heatNote(len(run.Classes)),
		Heat: newHeatMap("P(given label | true class), true classes across", run.Classes, confused,
			run.Transition.At),
	})
}

// addSuspects lists the highest scores of nodes that nobody has decided on.
func (p *reportPage) addSuspects(ctx context.Context, store *kv.Store) error {
	found, err := query.Query(ctx, store, fmt.Sprintf("suspects limit %d return id, label, suggested, confidence, score", pageSuspects))
	if err != nil {
		return err
	}
	table := &pageTable{Header: []string{"", "id", "given label", "suggested label", "confidence", "score"}}
	for row, err := range found.Rows() {
		if err != nil {
			return err
		}
		table.Rows = append(table.Rows, []string{
			strconv.Itoa(len(table.Rows) + 1), row.Text("id"), row.Text("label"), row.Text("suggested"),
			strconv.FormatFloat(row.Float("confidence"), 'f', 4, 64), strconv.FormatFloat(row.Float("score"), 'f', 4, 64),
		})
	}
	section := pageSection{
		Title: "Top suspects", Table: table,
		Note: "Suggested another label and not decided on, highest score first. Labels are never changed on their own.",
	}
	if len(table.Rows) == 0 {
		section.Note, section.Table = "No node is a suspect.", nil
	}
	p.Sections = append(p.Sections, section)
	return nil
}

// runOptions are what a run was asked, and of what.
func runOptions(run *cleaner.Run) []fact {
	return []fact{
		{"run", strconv.FormatInt(run.ID, 10)},
		{"started", run.Started.UTC().Format(time.RFC3339)},
		{"seconds", fmt.Sprintf("%.1f", run.Seconds)},
		{"nodes", strconv.FormatInt(run.Nodes, 10)},
		{"edges", strconv.FormatInt(run.Edges, 10)},
		{"preset", string(run.Preset)},
		{"predictions", strings.Trim(run.PredictionSource+": "+run.PredictionUse, ": ")},
		{"hops", strconv.Itoa(run.Hops)},
		{"direction", run.Direction.String()},
		{"diagonal", string(run.Diagonal)},
		{"threshold", strconv.FormatFloat(run.Threshold, 'g', -1, 64)},
		{"seed", strconv.FormatUint(run.Seed, 10)},
	}
}
