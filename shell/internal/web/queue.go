package web

import (
	"context"
	"net/http"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// review shows the next suspect of the queue.
func (s *Server) review(r *http.Request) (answer, error) {
	where := s.whereOf(r)
	sample, err := sampleOf(r)
	if err != nil {
		return answer{}, err
	}
	if sample {
		where = r.FormValue("where")
	}
	a := answer{page: "card", title: "Review"}
	err = s.snapshot(func(tx *kv.Tx) error {
		v, skipped, err := s.next(r.Context(), tx, where, sample, r.FormValue("not"))
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
		c.Where, c.Sample, c.ReadOnly, c.Skipped = where, sample, s.ReadOnly, skipped
		if c.Empty && sample {
			c.Others = s.latestProgress(r.Context())
		}
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

// sampleOf says whether an address is about the random sample.
func sampleOf(r *http.Request) (bool, error) {
	text := r.FormValue("sample")
	if text != "" && text != "1" {
		return false, badRequest("The sample is %q: want 1, or nothing.", wording.Short(text))
	}
	return text == "1", nil
}

// next is the first node of the queue that got no reply yet. If there is none, it is kv.NoNode, and skipped counts the
// nodes of the queue that were skipped.
func (s *Server) next(
	ctx context.Context, tx *kv.Tx, where string, sample bool, not string,
) (next kv.NodeID, skipped int, err error) {
	condition, err := query.ParseCondition(where)
	if err != nil {
		return kv.NoNode, 0, err
	}
	s.mu.Lock()
	passed := s.skipped.Clone()
	drawn := s.sample
	s.mu.Unlock()
	over := passed.Clone()
	if not != "" {
		v, err := s.find(tx, not)
		if err != nil {
			return kv.NoNode, 0, err
		}
		over.Add(uint32(v))
	}
	isLeft := func(v kv.NodeID) bool { return !over.Contains(uint32(v)) }
	var queue []kv.NodeID
	if sample {
		if drawn != nil {
			queue, err = drawn.open(ctx, tx)
		}
	} else {
		// Decided nodes are suspects only if the condition asks for them.
		few := over.GetCardinality()
		mine, err := s.mine.follow(ctx, tx)
		if err != nil {
			return kv.NoNode, 0, err
		}
		over.Or(mine)
		for _, most := range []uint64{few, over.GetCardinality()} {
			limit := int(most) + 1
			queue, _, err = query.Suspects(ctx, tx, condition, limit)
			if err != nil {
				return kv.NoNode, 0, err
			}
			if len(queue) < limit || slices.ContainsFunc(queue, isLeft) {
				break
			}
		}
	}
	if i := slices.IndexFunc(queue, isLeft); i >= 0 {
		return queue[i], 0, err
	}
	for _, v := range queue {
		if passed.Contains(uint32(v)) {
			skipped++
		}
	}
	return kv.NoNode, skipped, err
}

// A skipping says which node to pass over.
type skipping struct {
	ID string `json:"id"`
	place
}

// skip passes over a node until all others had their turn.
func (s *Server) skip(r *http.Request) (answer, error) {
	var d skipping
	if err := bring(r, &d, func() { d.place.form(r); d.ID = r.PostFormValue("id") }); err != nil {
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
	skip := pastReply{step: -1 - int64(v), id: d.ID}
	view := reply{Said: d.ID + " skipped.", Undo: skip.step}
	err = s.inTurn(func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.forget(func(reply pastReply) bool { return reply == skip })
		s.skipped.Add(uint32(v))
		s.remember(skip, view.Said)
		return nil
	})
	return answer{view: view, seeOther: d.next()}, err
}

// again brings the skipped nodes back.
func (s *Server) again(r *http.Request) (answer, error) {
	var p place
	if err := bring(r, &p, func() { p.form(r) }); err != nil {
		return answer{}, err
	}
	var view reply
	err := s.inTurn(func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.skipped.Clear()
		s.forget(pastReply.isSkip)
		s.said = "Skipped nodes are back."
		view = reply{Said: s.said, Undo: s.lastReply().step}
		return nil
	})
	return answer{view: view, seeOther: p.next()}, err
}
