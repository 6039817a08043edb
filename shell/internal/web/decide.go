package web

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// A place is where a browser goes on after a change.
type place struct {
	Where  string `json:"-"`
	Sample string `json:"-"`
	Back   string `json:"-"` // a path of the page
}

// A decision is what a person says about a node.
type decision struct {
	ID       string `json:"id"`
	Decision string `json:"decision,omitempty"` // accept, reject, relabel, unlabel or unsure
	Label    string `json:"label,omitempty"`    // of relabel
	Why      string `json:"why,omitempty"`
	Seen     *seen  `json:"seen,omitempty"` // nothing is decided if the node differs; null: it may be any
	place
}

// A reply is what a change did.
type reply struct {
	Said    string `json:"said"`
	ID      string `json:"id,omitempty"` // of the node to look at next, after undo
	CanUndo bool   `json:"can_undo"`
}

func (p *place) form(r *http.Request) {
	p.Where, p.Sample, p.Back = r.PostFormValue("where"), r.PostFormValue("sample"), r.PostFormValue("back")
}

// next is the address that a browser goes on at.
func (p *place) next() string {
	if strings.HasPrefix(p.Back, "/list?") || strings.HasPrefix(p.Back, "/history") || strings.HasPrefix(p.Back, "/overview") {
		return p.Back
	}
	if p.Sample != "" {
		return "/review?sample=1"
	}
	return "/review?where=" + url.QueryEscape(p.Where)
}

// relabelPrefix begins the value of a button that names a label.
const relabelPrefix = "relabel:"

func (d *decision) form(r *http.Request) {
	d.place.form(r)
	d.ID, d.Decision, d.Label, d.Why = r.PostFormValue("id"), r.PostFormValue("decision"), r.PostFormValue("label"), r.PostFormValue("why")
	if label, ok := strings.CutPrefix(d.Decision, relabelPrefix); ok {
		d.Decision, d.Label = decide.Relabel.String(), label
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
	request, err := s.request(&d)
	if err != nil {
		return answer{}, err
	}
	s.scores.pause()
	done, err := decide.Write(r.Context(), s.Store, []decide.Request{request}, decide.Options{Who: s.Query.Who, Why: d.Why})
	s.settle()
	if err != nil {
		return answer{}, err
	}
	made := done[0]
	said := saidOf(made)
	s.mu.Lock()
	s.past = append(s.past, pastReply{nodes: []kv.NodeID{made.Node}, id: made.ID, step: made.Step, kind: made.Kind})
	s.passed[made.Node] = made.Seq
	s.said = said
	s.mu.Unlock()
	return answer{view: reply{Said: said, CanUndo: true}, seeOther: d.next()}, nil
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
		if request.Kind != decide.Relabel {
			return nil
		}
		request.To = d.Label
		if d.Label == "" {
			return badRequest("No label is named: type one.")
		}
		label, err := tx.Label(request.Node)
		if err == nil && label != kv.NoClass && tx.Classes()[label] == d.Label {
			request.Kind, request.To = decide.Reject, "" // the label is right
		}
		if classes := tx.Classes(); err == nil && !slices.Contains(classes, d.Label) {
			return badRequest("No class is named %s%s.", query.Quote(d.Label), wording.DidYouMean(d.Label, classes))
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
		request.View = &decide.View{Label: d.Seen.Label, Suggestion: d.Seen.Suggested, Decision: kind, Disputed: d.Seen.Disputed, Run: d.Seen.Run}
	}
	return request, err
}

// saidOf says what a decision did.
func saidOf(d decide.Decision) string {
	said := d.ID + " " + decidedWords[d.Kind]
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

var decidedWords = map[decide.Kind]string{
	decide.Accept: "accepted", decide.Reject: "kept its label", decide.Relabel: "relabelled", decide.Unlabel: "unlabelled",
	decide.Unsure: "put aside as unsure",
}

// skip passes over a node until all others had their turn.
func (s *Server) skip(r *http.Request) (answer, error) {
	var d decision
	if err := bring(r, &d, func() { d.form(r) }); err != nil {
		return answer{}, err
	}
	var v kv.NodeID
	err := s.snapshot(func(tx *kv.Tx) (err error) {
		v, err = s.find(tx, d.ID)
		return err
	})
	if err != nil {
		return answer{}, err
	}
	said := d.ID + " skipped."
	s.mu.Lock()
	s.past = append(s.past, pastReply{nodes: []kv.NodeID{v}, id: d.ID})
	s.passed[v] = 0
	s.said = said
	s.mu.Unlock()
	return answer{view: reply{Said: said, CanUndo: true}, seeOther: d.next()}, nil
}

// again brings the skipped nodes back.
func (s *Server) again(r *http.Request) (answer, error) {
	var p place
	if err := bring(r, &p, func() { p.form(r) }); err != nil {
		return answer{}, err
	}
	s.mu.Lock()
	kept := s.past[:0:0]
	for _, reply := range s.past {
		if reply.step != 0 {
			kept = append(kept, reply)
			continue
		}
		delete(s.passed, reply.nodes[0])
	}
	s.past, s.said = kept, "Skipped nodes are back."
	view := reply{Said: s.said, CanUndo: len(kept) > 0}
	s.mu.Unlock()
	return answer{view: view, seeOther: p.next()}, nil
}

// undo takes the last reply back.
func (s *Server) undo(r *http.Request) (answer, error) {
	var p place
	if err := cmp.Or(s.checkWritable(), bring(r, &p, func() { p.form(r) })); err != nil {
		return answer{}, err
	}
	s.mu.Lock()
	if len(s.past) == 0 {
		s.mu.Unlock()
		return answer{}, &requestError{http.StatusConflict, problem{Error: "There is nothing to take back. The statement undo of the shell takes back earlier decisions."}}
	}
	last := s.past[len(s.past)-1]
	s.mu.Unlock()
	said := last.id + " is back in the queue."
	if last.step != 0 {
		s.scores.pause()
		entries, err := cleaner.UndoStep(r.Context(), s.Store, last.step, decide.Options{Who: s.Query.Who})
		s.settle()
		if err != nil {
			return answer{}, fmt.Errorf("%s cannot be taken back: %w", wording.Nodes(len(last.nodes)), err)
		}
		said = fmt.Sprintf("Taken back: %s of %s.", last.kind, last.id)
		if n := entries.Len(); n > 1 {
			said = fmt.Sprintf("Taken back: %s of %s.", last.kind, wording.Nodes(n))
		}
	}
	s.mu.Lock()
	if n := len(s.past); n > 0 && s.past[n-1].step == last.step && s.past[n-1].id == last.id { // another window may have been faster
		s.past = s.past[:n-1]
	}
	for _, v := range last.nodes {
		delete(s.passed, v)
	}
	s.said = said
	view := reply{Said: said, CanUndo: len(s.past) > 0}
	s.mu.Unlock()
	next := p.next()
	if len(last.nodes) == 1 && !strings.HasPrefix(p.Back, "/list?") {
		view.ID = last.id
		next = "/node?id=" + url.QueryEscape(last.id) + "&where=" + url.QueryEscape(p.Where)
	}
	return answer{view: view, seeOther: next}, nil
}
