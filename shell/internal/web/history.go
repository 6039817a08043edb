package web

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

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
		if text := r.FormValue("before"); r.Form.Has("before") {
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
		if len(view.Entries) == 0 {
			return nil
		}
		isInForce, err := decide.InForce(r.Context(), tx, kv.NoNode, view.Entries[len(view.Entries)-1].Seq)
		if err != nil {
			return err
		}
		for i := range view.Entries {
			view.Entries[i].InForce = isInForce(view.Entries[i].Seq)
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

// export sends a file. People open it in a spreadsheet, which must take no text in it for a formula: only a raw file
// has texts as they are.
func (s *Server) export(w http.ResponseWriter, r *http.Request) {
	statement, raw := exports[r.PathValue("name")], r.FormValue("raw")
	if raw != "" && raw != "1" {
		s.fail(w, r, badRequest("Raw is %q: want 1, or nothing.", wording.Short(raw)))
		return
	}
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
		if _, err := print.RenderOn(w, result, print.FormatCSV, &print.Screen{SafeCSV: raw == ""}); err != nil {
			panic(http.ErrAbortHandler) // a file that looks whole must be whole
		}
		return nil
	})
	if err != nil {
		s.fail(w, r, err)
	}
}

// An entry is what the history says of a decision.
type entry struct {
	Seq      int64  `json:"seq"`
	Step     int64  `json:"step"`
	Time     string `json:"time"`
	ID       string `json:"id"`
	Decision string `json:"decision"`
	From     string `json:"from"`
	To       string `json:"to"`
	Label    string `json:"label"` // after the decision
	Who      string `json:"who"`
	Why      string `json:"why,omitempty"`
	Undoes   int64  `json:"undoes,omitempty"` // the entry that this one takes back
	Disputed bool   `json:"disputed,omitempty"`
	InForce  bool   `json:"in_force"` // see decide.InForce

	kind string // of an undo: what it takes back
}

func entryOf(d decide.Decision) entry {
	return entry{
		Seq: d.Seq, Step: d.Step, Time: d.Time.UTC().Format(time.RFC3339), ID: d.ID, Decision: d.Action(), From: d.From,
		To:    d.To,
		Label: d.Label, Who: d.Who, Why: d.Why, Undoes: d.Undoes, Disputed: d.Disputed, kind: d.Kind.String(),
	}
}

// Text says what the entry was, such as "accept: Systems → Theory".
func (e entry) Text() string {
	text := e.kind
	if e.Undoes != 0 {
		text += " taken back"
	}
	switch orNone := func(label string) string { return cmp.Or(label, "no label") }; {
	case e.Disputed:
		text += ": " + orNone(e.To) + "; disputed"
	case e.From != e.To:
		text += ": " + orNone(e.From) + " → " + orNone(e.To)
	}
	return text
}
