package web

import (
	"context"
	"net/http"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// review shows the next suspect of the queue.
func (s *Server) review(r *http.Request) (answer, error) {
	where := s.whereOf(r)
	a := answer{page: "card", title: "Review"}
	err := s.snapshot(func(tx *kv.Tx) error {
		v, skipped, err := s.next(r.Context(), tx, where, r.FormValue("not"))
		if err != nil {
			return err
		}
		c := &card{Empty: true, Properties: []property{}, Against: []neighbor{}, For: []neighbor{}, Choices: []string{},
			Entries: []entry{}}
		if v != kv.NoNode {
			if c, err = s.card(r.Context(), tx, v); err != nil {
				return err
			}
		}
		c.Where, c.ReadOnly, c.Skipped = where, s.ReadOnly, skipped
		a.view = c
		return nil
	})
	return a, err
}

// whereOf is the filter that an address names, or that of the queue at first.
func (s *Server) whereOf(r *http.Request) string {
	if r.URL.Query().Has("where") {
		return r.FormValue("where")
	}
	return s.Where
}

// next is the first node of the queue that got no reply on this page yet. If there is none, it is kv.NoNode, and
// skipped counts the nodes of the queue that were skipped.
func (s *Server) next(ctx context.Context, tx *kv.Tx, where, not string) (next kv.NodeID, skipped int, err error) {
	condition, err := query.ParseCondition(where)
	if err != nil {
		return kv.NoNode, 0, err
	}
	s.mu.Lock()
	passed, decided := s.skipped.Clone(), s.decided.Clone()
	s.mu.Unlock()
	over := passed.Clone()
	if not != "" {
		v, err := s.find(tx, not)
		if err != nil {
			return kv.NoNode, 0, err
		}
		over.Add(uint32(v))
	}
	var queue []kv.NodeID
	few := over.GetCardinality()
	for _, most := range []uint64{few, few + decided.GetCardinality()} { // decided nodes are in the queue only if the condition asks for them
		limit := int(most) + 1
		if queue, _, err = query.Suspects(ctx, tx, condition, limit); err != nil {
			return kv.NoNode, 0, err
		}
		for _, v := range queue {
			isOver := over.Contains(uint32(v))
			if !isOver && decided.Contains(uint32(v)) {
				if isOver, err = s.hasLastWord(ctx, tx, v); err != nil {
					return kv.NoNode, 0, err
				}
			}
			if !isOver {
				return v, 0, nil
			}
		}
		if len(queue) < limit {
			break
		}
	}
	for _, v := range queue {
		if passed.Contains(uint32(v)) {
			skipped++
		}
	}
	return kv.NoNode, skipped, nil
}

// hasLastWord reports whether the person has made the last decision about a node: nobody has disagreed since.
func (s *Server) hasLastWord(ctx context.Context, tx *kv.Tx, v kv.NodeID) (mine bool, err error) {
	for d, err := range decide.History(ctx, tx, v) {
		if err != nil {
			return false, err
		}
		mine = d.Who == s.Query.Who && d.Undoes == 0
	}
	return mine, nil
}

// A skipping says which node to pass over.
type skipping struct {
	ID string `json:"id"`
	place
}

// skip passes over a node until all others had their turn. Undo brings the last one back.
func (s *Server) skip(r *http.Request) (answer, error) {
	var d skipping
	if err := bring(r, &d, func() { d.place.form(r); d.ID = r.PostFormValue("id") }); err != nil {
		return answer{}, err
	}
	view := reply{Said: d.ID + " skipped."}
	err := s.snapshot(func(tx *kv.Tx) error {
		v, err := s.find(tx, d.ID)
		if err != nil {
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.skipped.Add(uint32(v))
		s.lastSkip, s.said = -1-int64(v), view.Said
		view.Undo = s.lastSkip
		return nil
	})
	return answer{view: view, seeOther: d.next()}, err
}

// unskip brings the node that was skipped last back, if that is the last reply.
func (s *Server) unskip(ctx context.Context, tx *kv.Tx, skip int64) (view reply, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if skip != s.lastSkip {
		return view, errNotLast
	}
	v := kv.NodeID(-1 - skip)
	if view.ID, err = tx.ID(v); err != nil {
		return view, err
	}
	s.skipped.Remove(uint32(v))
	s.lastSkip, s.said = 0, view.ID+" is back in the queue."
	view.Said = s.said
	view.Undo, err = s.lastStep(ctx, tx)
	return view, err
}

// again brings the skipped nodes back.
func (s *Server) again(r *http.Request) (answer, error) {
	var p place
	if err := bring(r, &p, func() { p.form(r) }); err != nil {
		return answer{}, err
	}
	view := reply{Said: "Skipped nodes are back."}
	err := s.snapshot(func(tx *kv.Tx) (err error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.skipped.Clear()
		s.lastSkip, s.said = 0, view.Said
		view.Undo, err = s.lastStep(r.Context(), tx)
		return err
	})
	return answer{view: view, seeOther: p.next()}, err
}
