package web

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/figure"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// An overview is the store at a glance.
type overview struct {
	Nodes    int64 `json:"nodes"`
	Edges    int64 `json:"edges"`
	Labelled int64 `json:"labelled"`

	Classes   table    `json:"classes"`
	Noise     table    `json:"confused"` // pairs of classes
	Runs      table    `json:"runs"`
	Agreement table    `json:"agreement"`
	People    []person `json:"people"`
	Histogram []bin    `json:"histogram"`
	Threshold cut      `json:"threshold"`
	Expected  float64  `json:"expected_wrong"` // of all scored nodes; 0 where scores are no chances

	Heat  string `json:"-"`
	Chart string `json:"-"`
}

// A table is the answer to a statement.
type table struct {
	Columns []string   `json:"columns"`
	Rows    [][]string `json:"rows"`
	Notices []string   `json:"notices,omitempty"`
}

// A person has decided.
type person struct {
	Who     string `json:"who"`
	Entries int64  `json:"decisions"`
	Undone  int64  `json:"taken_back"`
	Accept  int64  `json:"accept"`
	Reject  int64  `json:"reject"`
	Relabel int64  `json:"relabel"`
	Unlabel int64  `json:"unlabel"`
	Unsure  int64  `json:"unsure"`
}

// A bin has the scores between two values.
type bin struct {
	From     float64 `json:"from"`
	Nodes    int64   `json:"nodes"`
	Suspects int64   `json:"suspects"` // of them: another label is suggested, and nobody has decided
	Wrong    float64 `json:"expected_wrong"`
}

// A cut says what a threshold finds.
type cut struct {
	Threshold float64  `json:"threshold"`
	Suspects  int64    `json:"suspects"`
	Precision *float64 `json:"expected_precision"`
	Recall    *float64 `json:"expected_recall"`
}

// bins is how fine the histogram is.
const bins = 200

// overview shows the store.
func (s *Server) overview(r *http.Request) (answer, error) {
	ctx := r.Context()
	view := overview{Noise: table{Columns: []string{}, Rows: [][]string{}}, Histogram: []bin{}}
	err := s.snapshot(func(tx *kv.Tx) error {
		view.Nodes, view.Edges = int64(tx.NumPresent()), tx.NumEdges()
		run, err := query.LastRun(tx)
		if err != nil && !errors.Is(err, query.ErrNotCleaned) {
			return err
		}
		if view.People, err = s.people.read(ctx, tx); err != nil {
			return err
		}
		tables := []struct {
			into      *table
			statement string
			scored    bool // it needs a run
		}{{&view.Classes, "classes", false}, {&view.Runs, "runs", false}, {&view.Noise, "noise", true}, {&view.Agreement, "agreement", false}}
		for _, t := range tables {
			if t.scored && run == nil {
				continue
			}
			if *t.into, err = s.tableOf(ctx, tx, t.statement); err != nil {
				return err
			}
		}
		if run == nil {
			return nil
		}
		threshold := run.Threshold
		if text := r.FormValue("threshold"); text != "" {
			if threshold, err = strconv.ParseFloat(text, 64); err != nil || !(threshold >= 0 && threshold <= 1) {
				return badRequest("The threshold is %q: want a number from 0 to 1.", text)
			}
		}
		if view.Histogram, view.Threshold, view.Expected, err = histogramOf(ctx, tx, run, threshold); err != nil {
			return err
		}
		view.Heat, view.Chart = heatOf(run), chartOf(view.Histogram, view.Threshold.Threshold)
		return nil
	})
	return answer{page: "overview", title: "Overview", view: view}, err
}

// tableOf is the answer to a statement.
func (s *Server) tableOf(ctx context.Context, tx *kv.Tx, statement string) (t table, err error) {
	result, err := query.Query(ctx, tx, s.Query, statement)
	if err != nil {
		return t, err
	}
	t.Notices, t.Rows = result.Notices(), [][]string{}
	for _, c := range result.Columns() {
		t.Columns = append(t.Columns, c.Name)
	}
	for row, err := range result.Rows() {
		if err != nil {
			return t, err
		}
		var cells []string
		for _, value := range row.Values {
			cells = append(cells, print.EscapeControls(print.Brief(value)))
		}
		t.Rows = append(t.Rows, cells)
	}
	return t, nil
}

// A tally counts the decisions of each person. The history only grows: what was counted stays counted.
type tally struct {
	mu     sync.Mutex
	seq    int64 // the last entry that was counted
	people map[string]*person
}

// read counts the entries since the last call, and returns all people, those with most decisions first.
func (t *tally) read(ctx context.Context, tx *kv.Tx) ([]person, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	newest, err := decide.Newest(tx)
	if err != nil {
		return nil, err
	}
	if t.people == nil {
		t.people = map[string]*person{}
	}
	for d, err := range (decide.Entries{First: t.seq + 1, Last: newest}).Read(ctx, tx) {
		if err != nil {
			return nil, err
		}
		t.add(d)
		t.seq = d.Seq
	}
	people := []person{}
	for _, p := range t.people {
		people = append(people, *p)
	}
	slices.SortFunc(people, func(a, b person) int {
		if a.Entries != b.Entries {
			return int(b.Entries - a.Entries)
		}
		return strings.Compare(a.Who, b.Who)
	})
	return people, nil
}

func (t *tally) add(d decide.Decision) {
	p := t.people[d.Who]
	if p == nil {
		p = &person{Who: d.Who}
		t.people[d.Who] = p
	}
	if d.Undoes != 0 {
		p.Undone++
		return
	}
	p.Entries++
	switch d.Kind {
	case decide.Accept:
		p.Accept++
	case decide.Reject:
		p.Reject++
	case decide.Relabel:
		p.Relabel++
	case decide.Unlabel:
		p.Unlabel++
	case decide.Unsure:
		p.Unsure++
	}
}

// scoresOf yields each score with whether its node is undecided and another label is suggested.
func scoresOf(ctx context.Context, tx *kv.Tx) iter.Seq2[scored, error] {
	return func(yield func(scored, error) bool) {
		scores, err := tx.Reader(cleaner.ScoreColumn)
		if err != nil {
			yield(scored{}, err)
			return
		}
		var readers [3]*kv.ColumnReader
		for i, name := range []string{kv.LabelColumn, cleaner.SuggestedColumn, decide.Column} {
			if readers[i], err = tx.Reader(name); err != nil && !errors.Is(err, kv.ErrNoColumn) {
				yield(scored{}, err)
				return
			}
		}
		for v := range kv.NodeID(tx.NumNodes()) {
			if v%(1<<14) == 0 && ctx.Err() != nil {
				yield(scored{}, ctx.Err())
				return
			}
			score, err := scores.At(v)
			if err != nil {
				yield(scored{}, err)
				return
			}
			if score.IsNull() {
				continue
			}
			var values [3]kv.Value
			for i, reader := range readers {
				if reader == nil {
					continue
				}
				if values[i], err = reader.At(v); err != nil {
					yield(scored{}, err)
					return
				}
			}
			if !yield(scored{score.Float(), values[0] != values[1] && !values[1].IsNull() && values[2].IsNull()}, nil) {
				return
			}
		}
	}
}

type scored struct {
	score   float64
	suspect bool // above some threshold
}

// histogramOf counts scores, and what a threshold finds.
func histogramOf(ctx context.Context, tx *kv.Tx, run *cleaner.Run, threshold float64) ([]bin, cut, float64, error) {
	counted, found := make([]bin, bins), cut{Threshold: threshold}
	for i := range counted {
		counted[i].From = float64(i) / bins
	}
	wrong, above := 0.0, 0.0
	for n, err := range scoresOf(ctx, tx) {
		if err != nil {
			return nil, found, 0, err
		}
		b := &counted[min(max(int(n.score*bins), 0), bins-1)]
		b.Nodes++
		wrong += n.score
		if n.suspect {
			b.Suspects++
			b.Wrong += n.score
			if n.score > threshold {
				found.Suspects++
				above += n.score
			}
		}
	}
	if run.Preset != cleaner.PresetDefault {
		return counted, found, 0, nil
	}
	if found.Suspects > 0 {
		found.Precision = finite(above / float64(found.Suspects))
	}
	if wrong > 0 {
		found.Recall = finite(above / wrong)
	}
	return counted, found, wrong, nil
}

// heatOf draws the transition matrix.
func heatOf(run *cleaner.Run) string {
	confused := make([]float64, len(run.Classes))
	for _, cell := range run.Joint.Cells {
		if cell.Row != cell.Column {
			confused[cell.Row] += cell.Value
			confused[cell.Column] += cell.Value
		}
	}
	return figure.HeatMap("P(given label | true class), true classes across", run.Classes, confused, run.Transition.At)
}

// chartOf draws the histogram with the threshold.
func chartOf(counted []bin, threshold float64) string {
	h := figure.NewHistogram()
	for _, b := range counted {
		h.Add(b.From+0.5/bins, b.Nodes, 0)
	}
	return h.Chart("Scores of the labelled nodes", threshold)
}

// A past is a part of the history.
type past struct {
	Who     string   `json:"who,omitempty"`
	Entries []entry  `json:"entries"`
	Before  int64    `json:"before,omitempty"` // for the next part; 0: there is none
	People  []person `json:"people"`
	IsOne   bool     `json:"-"` // they are of one person, who may have no name
	Mine    int64    `json:"-"` // the entry of the step that undo takes back here
}

// pageEntries are the entries of a page, and mostRead are as many as are read for it.
const (
	pageEntries = 100
	mostRead    = 100_000
)

// history shows decisions, the newest first.
func (s *Server) history(r *http.Request) (answer, error) {
	view := past{Who: r.FormValue("who"), IsOne: r.URL.Query().Has("who"), Entries: []entry{}}
	err := s.snapshot(func(tx *kv.Tx) error {
		last, err := decide.Newest(tx)
		if err != nil {
			return err
		}
		if text := r.FormValue("before"); text != "" {
			before, err := strconv.ParseInt(text, 10, 64)
			if err != nil || before < 1 {
				return badRequest("The number of an entry is %q: want one from 1.", text)
			}
			last = min(last, before-1)
		}
		if view.People, err = s.people.read(r.Context(), tx); err != nil {
			return err
		}
		for read := 0; last > 0 && len(view.Entries) < pageEntries && read < mostRead; {
			first := max(1, last-pageEntries+1)
			var part []entry
			for d, err := range (decide.Entries{First: first, Last: last}).Read(r.Context(), tx) {
				if err != nil {
					return err
				}
				if read++; !view.IsOne || d.Who == view.Who {
					part = append(part, entryOf(d))
				}
			}
			slices.Reverse(part)
			view.Entries = append(view.Entries, part...)
			last = first - 1
		}
		if len(view.Entries) > pageEntries {
			view.Entries = view.Entries[:pageEntries]
			last = view.Entries[pageEntries-1].Seq - 1
		}
		if last > 0 {
			view.Before = last + 1
		}
		return nil
	})
	s.mu.Lock()
	mine := s.lastStep()
	s.mu.Unlock()
	if i := slices.IndexFunc(view.Entries, func(e entry) bool { return e.Step == mine }); i >= 0 {
		view.Mine = view.Entries[i].Seq
	}
	return answer{page: "history", title: "History", view: view}, err
}

// exports are the files that the page offers: the answers of statements.
var exports = map[string]string{
	"labels.csv": "nodes return id, label", "suspects.csv": "suspects", "decisions.csv": "history",
}

// export sends a file.
func (s *Server) export(w http.ResponseWriter, r *http.Request) {
	statement := exports[r.PathValue("name")]
	if statement == "" {
		s.fail(w, r, refuse(http.StatusNotFound, fmt.Sprintf("There is no file %q: want labels.csv, suspects.csv or decisions.csv.", wording.Short(r.PathValue("name")))))
		return
	}
	err := s.snapshot(func(tx *kv.Tx) error {
		result, err := query.Query(r.Context(), tx, s.Query, statement)
		if err != nil {
			return err
		}
		w.Header().Set("Content-Type", "text/csv; charset=utf-8")
		w.Header().Set("Content-Disposition", "attachment; filename="+strconv.Quote(r.PathValue("name")))
		if _, err := print.Render(w, result, print.FormatCSV); err != nil {
			panic(http.ErrAbortHandler) // a file that looks whole must be whole
		}
		return nil
	})
	if err != nil {
		s.fail(w, r, err)
	}
}
