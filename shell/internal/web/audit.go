package web

import (
	"context"
	"net/http"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/survey"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

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
		if view.Audit, err = query.LastAudit(r.Context(), tx); err != nil {
			return err
		}
		if view.Audit == nil {
			_, err = query.LastRun(tx)
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
		if view.Draw, err = s.dossier(ctx, tx, d.Node); err == nil {
			view.Seen = encodeView(view.Draw.View)
		}
		return err
	}
	return nil
}
