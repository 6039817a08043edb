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
	Entries []entry `json:"entries"`
	Before  int64   `json:"before,omitempty"` // for the next part; 0: there is none
	Mine    int64   `json:"-"`                // the entry of the step that undo takes back here
}

// pageEntries are the entries of a page.
const pageEntries = 100

// history shows decisions, the newest first.
func (s *Server) history(r *http.Request) (answer, error) {
	view := past{Entries: []entry{}}
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
		first := max(1, last-pageEntries+1)
		if first > 1 {
			view.Before = first
		}
		isInForce, err := decide.InForce(r.Context(), tx, kv.NoNode, first)
		if err != nil {
			return err
		}
		mine, err := s.lastStep(r.Context(), tx)
		if err != nil {
			return err
		}
		for d, err := range (decide.Entries{First: first, Last: last}).Read(r.Context(), tx) {
			if err != nil {
				return err
			}
			view.Entries = append(view.Entries, entryOf(d, isInForce(d.Seq)))
			if mine != 0 && d.Step == mine {
				view.Mine = d.Seq
			}
		}
		slices.Reverse(view.Entries)
		return nil
	})
	return answer{page: "history", title: "History", view: view}, err
}

// exports are the files that the page offers: the answers of statements.
var exports = map[string]string{
	"labels.csv": "nodes return id, label", "suspects.csv": "suspects", "decisions.csv": "history",
}

// export sends a file. People open it in a spreadsheet, which must take no text in it for a formula.
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
		if _, err := print.RenderOn(w, result, print.FormatCSV, &print.Screen{SafeCSV: true}); err != nil {
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

func entryOf(d decide.Decision, isInForce bool) entry {
	return entry{
		Seq: d.Seq, Step: d.Step, Time: d.Time.UTC().Format(time.RFC3339), ID: d.ID, Decision: d.Action(), From: d.From, To: d.To,
		Label: d.Label, Who: d.Who, Why: d.Why, Undoes: d.Undoes, Disputed: d.Disputed, InForce: isInForce, kind: d.Kind.String(),
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
