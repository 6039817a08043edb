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

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// A place is where a browser goes on after a change.
type place struct {
	Where  string `json:"-"`
	Sample string `json:"-"`
	Back   string `json:"-"` // history, overview, or list with what is behind it in the address
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
	Undo int64  `json:"undo"`          // the reply that undo takes back next, 0 if there is none
}

func (p *place) form(r *http.Request) {
	p.Where, p.Sample, p.Back = r.PostFormValue("where"), r.PostFormValue("sample"), r.PostFormValue("back")
}

// next is the address that a browser goes on at.
func (p *place) next() string {
	if strings.HasPrefix(p.Back, "list?") || p.Back == "history" || p.Back == "overview" {
		return p.Back
	}
	if p.Sample != "" {
		return "review?sample=1"
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
			Disputed: r.PostFormValue("seen_disputed") == "true", Run: whole(run),
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
	request, err := s.request(&d)
	if err = cmp.Or(checkWhy(d.Why), err); err != nil {
		return answer{}, err
	}
	var view reply
	err = s.inTurn(func() error {
		s.scores.pause()
		defer s.settle()
		// A client that leaves has sent its decision.
		done, err := decide.Write(context.WithoutCancel(r.Context()), s.Store, []decide.Request{request}, decide.Options{Who: s.Query.Who, Why: d.Why})
		if err != nil {
			return s.overtaken(err)
		}
		view = reply{Said: saidOf(done[0]), Undo: done[0].Step}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.skipped.Remove(uint32(done[0].Node))
		s.remember(pastReply{step: done[0].Step}, view.Said)
		return nil
	})
	return answer{view: view, seeOther: d.next()}, err
}

// overtaken says who has decided about a node since its card was shown.
func (s *Server) overtaken(err error) error {
	changed, ok := errors.AsType[*decide.ChangedError](err)
	if !ok || changed.First[0].Was.Decision == changed.First[0].Is.Decision {
		return err
	}
	said := ""
	if err := s.snapshot(func(tx *kv.Tx) error {
		v, err := s.find(tx, changed.First[0].ID)
		if err != nil {
			return err
		}
		for d, err := range decide.History(s.ctx, tx, v) {
			if err != nil {
				return err
			}
			said = fmt.Sprintf("Not saved: %s decided (%s) on %s after this card was shown. Decide again if you wish.",
				cmp.Or(d.Who, "somebody"), d.Action(), d.ID)
		}
		return nil
	}); err != nil {
		return err
	}
	return &requestError{http.StatusConflict, problem{Error: said}, err}
}

// inTurn runs what writes a decision or takes one back, and what changes the replies that undo takes back. One runs at a time, and none
// after Close.
func (s *Server) inTurn(fn func() error) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.closed {
		return context.Canceled
	}
	return fn()
}

// request is the request of a decision.
func (s *Server) request(d *decision) (request decide.Request, err error) {
	if request.Kind, err = decide.ParseKind(d.Decision); err != nil {
		return request, badRequest("The decision is %q: want accept, reject, relabel, unlabel or unsure.", d.Decision)
	}
	err = s.snapshot(func(tx *kv.Tx) error {
		if request.Node, err = s.find(tx, d.ID); err != nil {
			return err
		}
		if err := checkLabel(tx, request.Kind, d.Label); err != nil || request.Kind != decide.Relabel {
			return err
		}
		request.To = d.Label
		label, err := tx.Label(request.Node)
		if err == nil && label != kv.NoClass && tx.Classes()[label] == d.Label {
			request.Kind, request.To = decide.Reject, "" // the label is right
		}
		return err
	})
	if d.Seen != nil && err == nil {
		kind, wrong := decide.None, error(nil)
		if d.Seen.Decision != "" {
			kind, wrong = decide.ParseKind(d.Seen.Decision)
		}
		if wrong != nil {
			return request, badRequest("The decision that was seen is %q: want that of the card.", d.Seen.Decision)
		}
		request.View = &decide.View{Label: d.Seen.Label, Suggestion: d.Seen.Suggested, Decision: kind,
			Disputed: d.Seen.Disputed, Run: int64(d.Seen.Run)}
	}
	return request, err
}

// checkLabel refuses a label that is no class, or that the decision does not take.
func checkLabel(tx *kv.Tx, kind decide.Kind, label string) error {
	if kind != decide.Relabel {
		if label != "" {
			return badRequest("The decision %s takes no label, got %s.", kind, query.Quote(label))
		}
		return nil
	}
	switch classes := tx.Classes(); {
	case label == "":
		return badRequest("No label is named: type one.")
	case !slices.Contains(classes, label):
		return refuse(http.StatusNotFound,
			fmt.Sprintf("No class is named %s%s.", query.Quote(label), wording.DidYouMean(label, classes)))
	}
	return nil
}

// saidOf says what a decision did.
func saidOf(d decide.Decision) string {
	said := d.ID + " " + wording.Decided(d.Kind)
	if d.Kind == decide.Reject {
		said = d.ID + " kept its label"
	}
	switch {
	case d.Disputed:
		said += fmt.Sprintf(": people disagree, the label stays %s", cmp.Or(d.Label, "none"))
	case d.Label != d.To:
		said += fmt.Sprintf(": more people say %s, which stays", cmp.Or(d.Label, "no label"))
	case d.From != d.To:
		said += fmt.Sprintf(": %s → %s", cmp.Or(d.From, "no label"), cmp.Or(d.To, "no label"))
	}
	return said + "."
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
