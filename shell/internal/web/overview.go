package web

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/survey"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// An overview is the store at a glance: the answers of some statements.
type overview struct {
	Nodes    int64     `json:"nodes"`
	Edges    int64     `json:"edges"`
	Sections []section `json:"sections"`

	// Counting says that the sections are those before the last changes, or not there yet: they are being counted.
	Counting bool `json:"counting,omitempty"`

	Chart string `json:"-"` // of the scores
}

// A section is a table under a title.
type section struct {
	Title   string     `json:"title"`
	Note    string     `json:"note,omitempty"`
	Columns []string   `json:"columns"`
	Rows    [][]string `json:"rows"`
}

// overviewParts are the sections of the overview: statements, the columns that are shown, all if there are none, and
// how many rows at most.
var overviewParts = []struct {
	statement, title, note string
	columns                []string
	most                   int
}{
	{"classes", "Classes", "Homophily is the share of labelled neighbours with the same label. Self-confidence is the mean predicted chance of the label.", nil, 1000},
	{"noise", "Which labels are given in place of which", "Probability is the chance that a node of the true class is given the label, as scores use it. " +
		"Joint is the expected share of all labels.", nil, 50},
	{"count history where decision != 'undo' group by who, decision", "People", "What each person has decided, with what was taken back later.", nil, 1000},
	{"runs", "Runs", "The last run made the scores.",
		[]string{"run", "started", "preset", "hops", "threshold", "scored", "suspects", "contradicted", "rescorings"}, 1000},
}

// overview shows the store. Programs wait until it is counted.
func (s *Server) overview(r *http.Request) (answer, error) {
	latest, stale, err := s.glance.at(r.Context(), s.Store, wantsJSON(r), s.countOverview)
	if err != nil {
		return answer{}, err
	}
	view := overview{Sections: []section{}}
	if latest != nil {
		view = *latest
	}
	view.Counting = stale
	err = s.snapshot(func(tx *kv.Tx) error {
		view.Nodes, view.Edges = int64(tx.Shape().Present), tx.Shape().Edges
		return nil
	})
	return answer{page: "overview", title: "Overview", view: view}, err
}

// keepOverview counts the overview when somebody has asked for it, until ctx ends.
func (s *Server) keepOverview(ctx context.Context) {
	var told *overview // a request may have counted before
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.glance.wanted:
		}
		if s.glance.last() != nil {
			s.activity.wait(ctx)
		}
		if now, err := s.glance.count(ctx, s.Store, s.countOverview); err == nil && now != told {
			told = now
			s.events.send("overview", struct{}{})
		}
	}
}

// countOverview reads all of the store.
func (s *Server) countOverview(ctx context.Context, tx *kv.Tx) (*overview, error) {
	view := &overview{Sections: []section{}}
	run, err := query.LastRun(tx)
	switch {
	case err == nil:
		h, err := survey.Scores(ctx, tx)
		if err != nil {
			return nil, err
		}
		view.Chart = h.Chart(run.Threshold)
	case !errors.Is(err, query.ErrNotCleaned):
		return nil, err
	}
	for _, part := range overviewParts {
		result, err := query.Query(ctx, tx, s.Query, part.statement)
		shown := section{Title: part.title, Note: part.note}
		if err == nil {
			shown.Columns, shown.Rows, err = cellsOf(result, part.columns, part.most)
		}
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, query.ErrNotCleaned):
			continue
		case err != nil: // such as a matrix that memory does not hold
			shown.Note = sentence(err)
		default:
			for _, notice := range result.Notices() {
				shown.Note += " " + wording.Sentence(notice) + "."
			}
		}
		if len(shown.Rows) > 0 || err != nil {
			view.Sections = append(view.Sections, shown)
		}
	}
	return view, nil
}

// cellsOf are the first rows of a result in words.
func cellsOf(result *query.Result, wanted []string, most int) (columns []string, rows [][]string, err error) {
	var places []int
	for i, c := range result.Columns() {
		if wanted == nil || slices.Contains(wanted, c.Name) {
			columns, places = append(columns, c.Name), append(places, i)
		}
	}
	for row, err := range result.Rows() {
		if err != nil {
			return nil, nil, err
		}
		if len(rows) == most {
			break
		}
		var cells []string
		for _, i := range places {
			cells = append(cells, print.EscapeControls(print.Brief(row[i])))
		}
		rows = append(rows, cells)
	}
	return columns, rows, nil
}
