package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/survey"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// nextOf is the address that a browser goes on at after a change: the page that it came from, or the queue.
func (s *Server) nextOf(r *http.Request) string {
	if back := r.PostFormValue("back"); back == auditPage || strings.HasPrefix(back, askPage+"?") {
		return back
	}
	return "review?where=" + url.QueryEscape(s.whereOf(r))
}

// checkWritable refuses changes of a store that is only read.
func (s *Server) checkWritable() error {
	if s.ReadOnly {
		return kv.ErrReadOnly
	}
	return nil
}

// decision is the kind of a decision that a form brings, with the label of relabel: that of the button, or the one that
// was typed.
func (s *Server) decision(r *http.Request) (kind decide.Kind, label string, err error) {
	name, label, _ := strings.Cut(r.PostFormValue("decision"), ":")
	if kind, err = decide.ParseKind(name); err != nil {
		return kind, "", badRequest("The decision is %q: want accept, reject, relabel, unlabel or unsure.", name)
	}
	if !decide.IsWhy(r.PostFormValue("why")) {
		return kind, "", badRequest("The reason has control characters, or more than %d bytes.", decide.MaxWhy)
	}
	if kind != decide.Relabel {
		return kind, "", nil // the typed text is not meant
	}
	if label = cmp.Or(label, r.PostFormValue("label")); label == "" {
		return kind, "", badRequest("No label is named: type one.")
	}
	err = s.snapshot(func(tx *kv.Tx) (err error) {
		label, err = survey.MatchClass(tx.Classes(), label)
		return err
	})
	if err != nil {
		err = refuse(http.StatusNotFound, sentence(err))
	}
	return kind, label, err
}

// decide takes a decision about one node. If the node has changed since it was shown, the new card is the answer.
func (s *Server) decide(r *http.Request) (answer, error) {
	id, isBlind := r.PostFormValue("id"), r.PostFormValue("back") == auditPage
	kind, label, err := s.decision(r)
	if err := cmp.Or(s.checkWritable(), err); err != nil {
		return answer{}, err
	}
	seen, err := decodeView(r.PostFormValue("seen"))
	if err != nil {
		return answer{}, err
	}
	if err := s.snapshot(func(tx *kv.Tx) error { _, err := find(tx, id); return err }); err != nil {
		return answer{}, err
	}
	reply := survey.Reply{ID: id, Kind: kind, Label: label, Why: r.PostFormValue("why"), Seen: seen}
	err = s.change(func() (survey.Done, error) {
		// A client that leaves has sent its decision.
		done, err := reply.Write(context.WithoutCancel(r.Context()), s.Store, s.Query)
		if isBlind {
			done.Said = id + ": " + cmp.Or(label, "not known")
		}
		return done, err
	})
	if !errors.Is(err, decide.ErrChanged) {
		return answer{seeOther: s.nextOf(r)}, err
	}
	if isBlind {
		return answer{}, refuse(http.StatusConflict, wording.Sentence(wording.Overtaken(id))+".")
	}
	a, err := s.node(r)
	a.status = http.StatusConflict
	a.problem = "Not saved: " + id + " has changed since this card was shown. Decide again if you wish."
	return a, err
}

// change decides or takes back, and keeps what was done for the pages. One change runs at a time, and none after Close.
func (s *Server) change(fn func() (survey.Done, error)) error {
	return s.inTurn(func() error {
		done, err := fn()
		if err != nil {
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.said, s.wasSkip = done.Said+".", false
		s.skipped = slices.DeleteFunc(s.skipped, func(id string) bool { return id == done.ID })
		return nil
	})
}

func (s *Server) inTurn(fn func() error) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.closed {
		return context.Canceled
	}
	return fn()
}

// undo takes back what a page names as the last: a step of decisions, or a skip. If it is not the last any more,
// nothing is taken back.
func (s *Server) undo(r *http.Request) (a answer, err error) {
	step, err := strconv.ParseInt(r.PostFormValue("step"), 10, 64)
	if err != nil || step == 0 {
		return a, badRequest("The step is %q: want the number of the last reply.", r.PostFormValue("step"))
	}
	id := ""
	if step < 0 {
		id, err = s.unskip(step)
	} else if err = s.checkWritable(); err == nil {
		err = s.change(func() (survey.Done, error) {
			// A long step ends with the server.
			done, err := survey.Undo(s.ctx, s.Store, s.Query, step)
			id = done.ID
			return done, err
		})
		if _, isLater := errors.AsType[*decide.LaterDecisionError](err); errors.Is(err, decide.ErrChanged) && !isLater {
			err = errNotLast
		}
	}
	a.seeOther = s.nextOf(r)
	if id != "" && r.PostFormValue("back") == "" {
		a.seeOther = "node?" + url.Values{"id": {id}, "where": {s.whereOf(r)}}.Encode()
	}
	return a, err
}

var errNotLast = refuse(http.StatusConflict, "Nothing is taken back: this was not the last reply any more.")

// many asks about a decision on the nodes that were selected in a list: it is a statement.
func (s *Server) many(r *http.Request) (answer, error) {
	kind, label, err := s.decision(r)
	if err := cmp.Or(s.checkWritable(), err); err != nil {
		return answer{}, err
	}
	ids := r.PostForm["ids"]
	if len(ids) == 0 {
		return answer{}, badRequest("No node is selected.")
	}
	for i, id := range ids {
		ids[i] = query.Quote(id)
	}
	statement := kind.String()
	if label != "" {
		statement += " " + query.Quote(label)
	}
	// Nodes that a person selects by hand may be decided already.
	statement += " all where id in (" + strings.Join(ids, ", ") + ") and (decision is null or decision is not null)"
	if why := r.PostFormValue("why"); why != "" {
		statement += " because " + query.Quote(why)
	}
	r.Form.Set("statement", statement)
	return s.ask(r)
}
