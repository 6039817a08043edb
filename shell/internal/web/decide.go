package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// A place is where a browser goes on after a change.
type place struct {
	Where string `json:"-"`
	Back  string `json:"-"` // history, overview, audit, or list with what is behind it in the address
}

// A decision is what a person says about a node.
type decision struct {
	ID       string `json:"id"`
	Decision string `json:"decision"`        // accept, reject, relabel, unlabel or unsure
	Label    string `json:"label,omitempty"` // of relabel
	Why      string `json:"why,omitempty"`
	Seen     *seen  `json:"seen,omitempty"` // nothing is decided if the node differs; null: it may be any
	place
}

// A reply is what a change did.
type reply struct {
	Said string `json:"said"`
	ID   string `json:"id,omitempty"`  // of the node to look at next, after undo
	Why  string `json:"why,omitempty"` // the reason of the decision that was taken back
	Undo int64  `json:"undo"`          // what undo takes back next, 0 if there is nothing
}

func (p *place) form(r *http.Request) {
	p.Where, p.Back = r.PostFormValue("where"), r.PostFormValue("back")
}

// next is the address that a browser goes on at.
func (p *place) next() string {
	if strings.HasPrefix(p.Back, "list?") || p.Back == "history" || p.Back == "overview" || p.Back == auditPage {
		return p.Back
	}
	return "review?where=" + url.QueryEscape(p.Where)
}

// relabelPrefix begins the value of a button that names a label.
const relabelPrefix = "relabel:"

func (d *decision) form(r *http.Request) {
	d.place.form(r)
	d.ID, d.Decision, d.Label, d.Why = r.PostFormValue("id"), r.PostFormValue("decision"), r.PostFormValue("label"), r.PostFormValue("why")
	if label, ok := strings.CutPrefix(d.Decision, relabelPrefix); ok {
		d.Decision, d.Label = decide.Relabel.String(), label
	}
	if d.Decision != decide.Relabel.String() {
		d.Label = "" // typed, and not meant: another button was pressed
	}
	run, err := strconv.ParseInt(r.PostFormValue("seen_run"), 10, 64)
	if err == nil {
		d.Seen = &seen{
			Label: r.PostFormValue("seen_label"), Suggested: r.PostFormValue("seen_suggested"), Decision: r.PostFormValue("seen_decision"),
			Disputed: r.PostFormValue("seen_disputed") == "true", Run: run,
		}
	}
}

// checkWritable refuses changes of a store that is only read.
func (s *Server) checkWritable() error {
	if s.ReadOnly {
		return kv.ErrReadOnly
	}
	return nil
}

// decide takes a decision about one node.
func (s *Server) decide(r *http.Request) (answer, error) {
	var d decision
	if err := cmp.Or(s.checkWritable(), bring(r, &d, func() { d.form(r) })); err != nil {
		return answer{}, err
	}
	kind, err := kindOf(d.Decision, d.Label)
	if err = cmp.Or(err, checkWhy(d.Why)); err != nil {
		return answer{}, err
	}
	if err := s.checkThere([]string{d.ID}, d.Label); err != nil {
		return answer{}, err
	}
	text, args := d.statement(kind)
	var view reply
	err = s.inTurn(func() (err error) {
		// A client that leaves has sent its decision.
		view, err = s.exec(context.WithoutCancel(r.Context()), s.Query, text, query.Condition{}, args...)
		if err == nil && d.Back == auditPage {
			view.Said = s.sayBlind(d.ID + ": " + cmp.Or(d.Label, "not known") + ".")
		}
		return err
	})
	changed, ok := errors.AsType[*query.ConditionError](err)
	switch {
	case ok && d.Back == auditPage:
		err = refuse(http.StatusConflict, wording.Sentence(wording.Overtaken(d.ID))+".")
	case ok:
		now := changed.Nodes[0]
		err = refuse(http.StatusConflict, fmt.Sprintf("Not saved: %s has changed since this card was shown. Label: %s; suggested: %s; decided: %s. Decide again if you wish.",
			now.ID, cmp.Or(now.Label, "none"), cmp.Or(now.Suggestion, "none"), cmp.Or(now.Decision.String(), "no")))
	}
	return answer{view: view, seeOther: d.next()}, err
}

// kindOf is the kind of a decision, which may come with a label.
func kindOf(name, label string) (decide.Kind, error) {
	kind, err := decide.ParseKind(name)
	switch {
	case err != nil:
		err = badRequest("The decision is %q: want accept, reject, relabel, unlabel or unsure.", name)
	case kind == decide.Relabel && label == "":
		err = badRequest("No label is named: type one.")
	case kind != decide.Relabel && label != "":
		err = badRequest("The decision %s takes no label, got %s.", kind, query.Quote(label))
	}
	return kind, err
}

// checkThere refuses nodes and a label that the store does not have.
func (s *Server) checkThere(ids []string, label string) error {
	return s.snapshot(func(tx *kv.Tx) error {
		for _, id := range ids {
			if _, err := s.find(tx, id); err != nil {
				return err
			}
		}
		if classes := tx.Classes(); label != "" && !slices.Contains(classes, label) {
			return refuse(http.StatusNotFound, fmt.Sprintf("No class is named %s%s.", query.Quote(label), wording.DidYouMean(label, classes)))
		}
		return nil
	})
}

// statement is the decision as a statement with arguments. It decides only if the node is as the person saw it.
func (d *decision) statement(kind decide.Kind) (text string, args []any) {
	if kind == decide.Relabel && d.Seen != nil && d.Seen.Label == d.Label {
		kind = decide.Reject // the label is right
	}
	argument := func(value any) string {
		args = append(args, value)
		return fmt.Sprintf(" $%d", len(args))
	}
	text = kind.String() + argument(d.ID)
	if kind == decide.Relabel {
		text += argument(d.Label)
	}
	if d.Seen != nil {
		test := func(property, value string) string {
			if value == "" {
				return property + " is null"
			}
			return property + " =" + argument(value)
		}
		text += " if " + test("label", d.Seen.Label) + " and " + test("decision", d.Seen.Decision)
		if d.Seen.Disputed {
			text += " and disputed"
		} else {
			text += " and disputed is null"
		}
		if d.Seen.Run != 0 { // else the store may have no run to ask for
			text += " and " + test("suggested", d.Seen.Suggested) + " and run =" + argument(d.Seen.Run)
		}
	}
	if d.Why != "" {
		text += " because" + argument(d.Why)
	}
	return text, args
}

// exec runs a statement that decides or takes back, with a condition beside its own. The caller is in turn.
func (s *Server) exec(ctx context.Context, opt query.Options, text string, where query.Condition, args ...any) (view reply, err error) {
	statement, err := query.Parse(text)
	if err != nil {
		return view, err
	}
	s.scores.pause()
	defer s.settle()
	result, err := statement.Where(where).Exec(ctx, s.Store, opt, args...)
	if err != nil {
		return view, err
	}
	return s.tell(context.WithoutCancel(ctx), result.Entries())
}

// tell says what was written to the history, and keeps it for the pages. The queue passes over the nodes that were
// decided on.
func (s *Server) tell(ctx context.Context, entries decide.Entries) (view reply, err error) {
	view.Said = "Nothing is decided: the condition is true of no node that the decision can be about."
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastSkip = 0
	err = s.snapshot(func(tx *kv.Tx) error {
		if view.Undo, err = s.lastStep(ctx, tx); err != nil || entries.Steps == 0 {
			return err
		}
		seen := false
		for d, err := range entries.Read(ctx, tx) {
			if err != nil {
				return err
			}
			s.skipped.Remove(uint32(d.Node))
			if d.Undoes == 0 {
				s.decided.Add(uint32(d.Node))
			} else {
				s.decided.Remove(uint32(d.Node))
			}
			if seen {
				continue
			}
			seen, view.Said = true, saidOf(d, entries)
			if d.Undoes != 0 && entries.Len() == 1 {
				view.ID = d.ID
				for undone, err := range (decide.Entries{First: d.Undoes, Last: d.Undoes}).Read(ctx, tx) {
					if err != nil {
						return err
					}
					view.Why = undone.Why
				}
			}
		}
		return nil
	})
	s.said = view.Said
	return view, err
}

// saidOf says what some entries of the history, of which d is the first, did.
func saidOf(d decide.Decision, entries decide.Entries) string {
	nodes := d.ID
	if n := entries.Len(); n > 1 {
		nodes = wording.Nodes(n)
	}
	said := nodes + " " + wording.Decided(d.Kind)
	switch {
	case d.Undoes != 0:
		return fmt.Sprintf("Taken back: %s of %s.", d.Kind, nodes)
	case entries.Len() > 1 && d.Kind == decide.Reject:
		said = nodes + " kept their labels"
	case d.Kind == decide.Reject:
		said = nodes + " kept its label"
	}
	switch {
	case entries.Len() > 1:
		if entries.Disputed > 0 {
			said += "; people disagree about " + wording.Nodes(entries.Disputed)
		}
	case d.Disputed:
		said += fmt.Sprintf(": people disagree, the label stays %s", cmp.Or(d.Label, "none"))
	case d.Label != d.To:
		said += fmt.Sprintf(": more people say %s, which stays", cmp.Or(d.Label, "no label"))
	case d.From != d.To:
		said += fmt.Sprintf(": %s → %s", cmp.Or(d.From, "no label"), cmp.Or(d.To, "no label"))
	}
	return said + "."
}

// inTurn runs what writes a decision or takes one back. One runs at a time, and none after Close.
func (s *Server) inTurn(fn func() error) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.closed {
		return context.Canceled
	}
	return fn()
}

// mostWhy is the length of a reason in characters, as the fields of the page have it. It has at most decide.MaxWhy
// bytes.
const mostWhy = 1000

// checkWhy refuses a reason that is too long, before anybody is asked to confirm what it is for.
func checkWhy(why string) error {
	if n := utf8.RuneCountInString(why); n > mostWhy {
		return badRequest("The reason has %d characters: want at most %d.", n, mostWhy)
	}
	if strings.ContainsFunc(why, decide.IsControl) {
		return badRequest("The reason has control characters: want none but tab and newline.")
	}
	return nil
}

// An undoing says what to take back.
type undoing struct {
	Step int64 `json:"step"` // the undo of the last reply
	place
}

// undo takes back what a page names as the last: a step of decisions, or a skip. If it is not the last any more,
// nothing is taken back.
func (s *Server) undo(r *http.Request) (answer, error) {
	var u undoing
	given := "0"
	err := bring(r, &u, func() {
		u.place.form(r)
		given = r.PostFormValue("step")
		u.Step, _ = strconv.ParseInt(given, 10, 64) //nolint:errcheck // the step stays 0
	})
	if err != nil {
		return answer{}, err
	}
	if u.Step == 0 {
		return answer{}, badRequest("The step is %q: want the number of the last reply.", given)
	}
	var view reply
	err = s.inTurn(func() (err error) {
		if u.Step < 0 {
			return s.snapshot(func(tx *kv.Tx) (err error) {
				view, err = s.unskip(s.ctx, tx, u.Step)
				return err
			})
		}
		if err := s.checkWritable(); err != nil {
			return err
		}
		s.scores.pause()
		defer s.settle()
		// A long step ends with the server.
		entries, err := cleaner.Undo(s.ctx, s.Store, 1, decide.Options{Who: s.Query.Who, Last: u.Step})
		_, isLater := errors.AsType[*decide.LaterDecisionError](err)
		switch {
		case errors.Is(err, decide.ErrNothingToUndo):
			return refuse(http.StatusConflict, "You have nothing to take back.")
		case errors.Is(err, decide.ErrChanged) && !isLater:
			return errNotLast
		case err != nil:
			return err
		}
		view, err = s.tell(context.WithoutCancel(s.ctx), entries)
		if err == nil && u.Back == auditPage {
			view.Said = s.sayBlind("Taken back: " + cmp.Or(view.ID, "the last step") + ".")
		}
		return err
	})
	if err != nil {
		return answer{}, err
	}
	next := u.next()
	if view.ID != "" && u.Back == "" {
		next = "node?id=" + url.QueryEscape(view.ID) + "&where=" + url.QueryEscape(u.Where)
	}
	return answer{view: view, seeOther: next}, nil
}

var errNotLast = refuse(http.StatusConflict, "Nothing is taken back: this was not the last reply any more.")

// earlierReads is how many entries of the history are looked at for the last step of a person.
const earlierReads = 100_000

// lastStep is the last step of the person that was not taken back, 0 if there is none.
func (s *Server) lastStep(ctx context.Context, tx *kv.Tx) (int64, error) {
	if s.ReadOnly {
		return 0, nil
	}
	return decide.LastOwnStep(ctx, tx, s.Query.Who, earlierReads)
}
