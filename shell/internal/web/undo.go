package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// An undoing says what to take back.
type undoing struct {
	Step whole `json:"step"` // the undo of the last reply, or the last step of the history

	place
}

// undo takes the last reply back.
func (s *Server) undo(r *http.Request) (answer, error) {
	var u undoing
	given := "0"
	err := bring(r, &u, func() {
		u.place.form(r)
		given = r.PostFormValue("step")
		u.Step.UnmarshalJSON([]byte(given)) //nolint:errcheck // the step stays 0
	})
	if err != nil {
		return answer{}, err
	}
	if u.Step == 0 {
		return answer{}, badRequest("The step is %q: want the number of the last reply.", given)
	}
	var view reply
	err = s.inTurn(func() (err error) {
		view, err = s.takeBack(s.ctx, int64(u.Step)) // as of bulk: a step may be long
		return err
	})
	if err != nil {
		return answer{}, err
	}
	next := u.next()
	if view.ID != "" && u.Back == "" {
		next = "node?id=" + url.QueryEscape(view.ID) + "&where=" + url.QueryEscape(u.Where) + "&sample=" +
			url.QueryEscape(u.Sample)
	}
	return answer{view: view, seeOther: next}, nil
}

// takeBack takes back the last reply, which a page names, so that it does not take back that of another page. The
// history names the last decision, and skips may have come after it. What cannot be taken back any more is forgotten,
// so that the reply before it can be. What only waits for another undo of the person stays.
func (s *Server) takeBack(ctx context.Context, step int64) (reply, error) {
	s.mu.Lock()
	last := s.lastReply()
	if step > 0 && step == s.lastStep() {
		last = pastReply{step: step}
	}
	s.mu.Unlock()
	switch {
	case last.step == 0:
		return reply{}, refuse(http.StatusConflict,
			"There is nothing to take back. The statement undo of the shell takes back earlier decisions.")
	case step != last.step:
		return reply{}, refuse(http.StatusConflict, "Nothing is taken back: this was not the last reply any more.")
	}
	view := reply{ID: last.id, Said: last.id + " is back in the queue."}
	var err error
	if !last.isSkip() {
		if view, err = s.undoStep(ctx, last.step); err != nil && !errors.Is(err, decide.ErrChanged) {
			return reply{}, err
		}
	}
	if later, ok := errors.AsType[*decide.LaterDecisionError](err); ok && later.Who == s.Query.Who {
		return reply{}, err // it can be taken back once the person has taken back the later one
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(func(reply pastReply) bool { return reply == last })
	if last.isSkip() {
		s.skipped.Remove(uint32(-1 - last.step))
	}
	if err != nil {
		s.said = "" // of what stays
		return reply{}, err
	}
	s.said, view.Undo = view.Said, s.lastReply().step
	return view, nil
}

// undoStep takes back a step of the person. The error is a decide.ErrChanged if it cannot be taken back any more.
func (s *Server) undoStep(ctx context.Context, step int64) (reply, error) {
	if err := s.checkWritable(); err != nil {
		return reply{}, err
	}
	s.scores.pause()
	defer s.settle()
	entries, err := cleaner.UndoStep(ctx, s.Store, step, decide.Options{Who: s.Query.Who})
	if later, ok := errors.AsType[*decide.LaterDecisionError](err); ok {
		said := fmt.Sprintf("This cannot be taken back: %s has decided about %s since, and has to take that back first.", cmp.Or(later.Who, "somebody without a name"), later.ID)
		if later.Who == s.Query.Who {
			said = fmt.Sprintf("This cannot be taken back: you have decided about %s since. Take that back first.", later.ID)
		}
		return reply{}, &requestError{http.StatusConflict, problem{Error: said}, err}
	}
	if errors.Is(err, decide.ErrChanged) {
		return reply{}, &requestError{http.StatusConflict,
			problem{Error: "This was taken back already, or is not your decision."}, err}
	}
	if err != nil {
		return reply{}, err
	}
	view := reply{Said: "Taken back: the decision about " + wording.Nodes(entries.Len()) + "."}
	err = s.snapshot(func(tx *kv.Tx) error {
		for d, err := range entries.Read(ctx, tx) {
			if err != nil {
				return err
			}
			view.Said = fmt.Sprintf("Taken back: %s of %s.", d.Kind, d.ID)
			if view.ID = d.ID; entries.Len() > 1 {
				view.ID, view.Said = "", fmt.Sprintf("Taken back: %s of %s.", d.Kind, wording.Nodes(entries.Len()))
			}
			for undone, err := range (decide.Entries{First: d.Undoes, Last: d.Undoes}).Read(ctx, tx) {
				if err != nil {
					return err
				}
				view.Why = undone.Why
			}
			break
		}
		return nil
	})
	return view, err
}
