package web

import (
	"context"
	"net/http"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/survey"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// review shows the next suspect of the queue.
func (s *Server) review(r *http.Request) (answer, error) {
	a := answer{page: "card", title: "Review"}
	err := s.snapshot(func(tx *kv.Tx) error {
		c := new(card)
		v, err := s.next(r.Context(), tx, s.whereOf(r), c)
		if err != nil {
			return err
		}
		if v != kv.NoNode {
			c, err = s.card(r.Context(), tx, v)
		}
		a.view = c
		return err
	})
	return a, err
}

// whereOf is the filter that a request names, or that of the queue at first.
func (s *Server) whereOf(r *http.Request) string {
	if r.Form.Has("where") {
		return r.FormValue("where")
	}
	return s.Where
}

// next is the first node of the queue that got no reply on this page yet. If there is none, it is kv.NoNode, and the
// card gets the number of skipped nodes of the queue, and remarks on the condition.
func (s *Server) next(ctx context.Context, tx *kv.Tx, where string, none *card) (next kv.NodeID, err error) {
	s.mu.Lock()
	over := slices.Clone(s.skipped)
	s.mu.Unlock()
	for limit := len(over) + 8; ; limit *= 4 {
		queue, notices, err := query.Suspects(ctx, tx, where, limit)
		if err != nil {
			return kv.NoNode, err
		}
		none.Skipped, none.Notices = 0, notices
		for _, v := range queue {
			id, err := tx.ID(v)
			if err != nil {
				return kv.NoNode, err
			}
			if slices.Contains(over, id) {
				none.Skipped++
				continue
			}
			if mine, err := s.hasLastWord(ctx, tx, v); err != nil || !mine {
				return v, err
			}
		}
		if len(queue) < limit {
			return kv.NoNode, nil
		}
	}
}

// hasLastWord reports whether the person has made the last decision about a node since the page began: nobody has
// disagreed since. Such a node is in a queue only if the condition asks for decided ones.
func (s *Server) hasLastWord(ctx context.Context, tx *kv.Tx, v kv.NodeID) (mine bool, err error) {
	for d, err := range decide.History(ctx, tx, v) {
		if err != nil {
			return false, err
		}
		mine = d.Who == s.Query.Who && d.Undoes == 0 && d.Time.After(s.began)
	}
	return mine, nil
}

// skip passes over a node until all others had their turn. Undo brings the last one back. Without a node, all come
// back.
func (s *Server) skip(r *http.Request) (answer, error) {
	id := r.PostFormValue("id")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said, s.wasSkip = "Skipped nodes are back.", id != ""
	if id == "" {
		s.skipped = nil
	} else {
		s.said = id + " skipped."
		s.skipped = append(slices.DeleteFunc(s.skipped, func(other string) bool { return other == id }), id)
	}
	return answer{seeOther: s.nextOf(r)}, nil
}

// unskip brings the node that was skipped last back, if that is the last reply.
func (s *Server) unskip(step int64) (id string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.skipped) - 1
	if !s.wasSkip || step != -int64(last+1) {
		return "", errNotLast
	}
	id = s.skipped[last]
	s.skipped, s.wasSkip, s.said = s.skipped[:last], false, id+" is back in the queue."
	return id, nil
}

// auditPage is the name of the page, and where it is.
const auditPage = "audit"

// An audit is where the audit of the store stands, with an open draw.
type audit struct {
	*cleaner.Audit // nil before the first draw
	Lines          []string
	More           int // how many labels in all the next look needs drawn; 0 if they are
	Skipped        int // open draws that were skipped, if no other is open

	Draw *survey.Dossier // without what graphcleaner thinks of it; nil: none
	Seen string
}

// audit shows a draw.
func (s *Server) audit(r *http.Request) (answer, error) {
	view := audit{More: query.DefaultDraws}
	err := s.snapshot(func(tx *kv.Tx) (err error) {
		if view.Audit, err = cleaner.ReadAudit(r.Context(), tx); err != nil {
			return err
		}
		if view.Audit == nil {
			_, err = cleaner.LastRun(tx)
			return err
		}
		lines := wording.Audit(view.Audit, "")
		if view.Behind {
			lines = append(lines, wording.Behind)
		}
		for _, line := range lines {
			view.Lines = append(view.Lines, wording.Sentence(line)+".")
		}
		if view.More = view.NextLook; len(view.Draws) >= view.NextLook {
			view.More = 0
		}
		if !s.ReadOnly {
			err = s.addDraw(r.Context(), tx, &view)
		}
		return err
	})
	return answer{page: auditPage, title: "Audit", view: &view}, err
}

// addDraw adds the first open draw that the person has not skipped.
func (s *Server) addDraw(ctx context.Context, tx *kv.Tx, view *audit) error {
	s.mu.Lock()
	over := slices.Clone(s.skipped)
	s.mu.Unlock()
	for _, d := range view.Open(s.Query.Who) {
		id, err := tx.ID(d.Node)
		if err != nil {
			return err
		}
		if slices.Contains(over, id) {
			view.Skipped++
			continue
		}
		view.Skipped = 0
		if view.Draw, err = survey.Read(ctx, tx, d.Node, s.Query); err == nil {
			view.Seen = encodeView(view.Draw.View)
		}
		return err
	}
	return nil
}
