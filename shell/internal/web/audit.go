package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
	"github.com/graphcleaner/graphcleaner/shell/internal/survey"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// auditPage is the name of the page, and where it is.
const auditPage = "audit"

// An audit is where the audit of the store stands, with an open draw.
type audit struct {
	survey.AuditReport
	Words   []string `json:"in_words"`
	More    int      `json:"more,omitempty"`    // how many labels in all the next look needs drawn; 0 if they are
	Skipped int      `json:"skipped,omitempty"` // open draws that were skipped, if no other is open
	Draw    *draw    `json:"draw,omitempty"`

	ReadOnly bool `json:"-"`
}

// A draw is a node without what graphcleaner thinks of it.
type draw struct {
	ID         string        `json:"id"`
	Title      string        `json:"title"`
	Text       string        `json:"text,omitempty"`
	Link       string        `json:"link,omitempty"`
	Properties []property    `json:"properties"`
	Degree     int           `json:"degree"`
	Votes      []survey.Vote `json:"neighbor_labels"` // of all neighbours
	Neighbors  []neighbor    `json:"neighbors"`       // the heaviest
	Options    []string      `json:"options"`         // one of them is the label
	Seen       seen          `json:"seen"`            // what a decision must bring: a run of 0, for the suggestion is not seen
	Classes    []string      `json:"-"`
	Colors     []int         `json:"-"` // of the options
}

// audit shows a draw.
func (s *Server) audit(r *http.Request) (answer, error) {
	view := audit{ReadOnly: s.ReadOnly, Words: []string{}}
	err := s.snapshot(func(tx *kv.Tx) error {
		told, err := query.LastAudit(r.Context(), tx)
		if err != nil {
			return err
		}
		view.AuditReport = survey.ReportAudit(told)
		if told == nil {
			_, err = query.LastRun(tx)
			view.More = query.DefaultDraws
			return err
		}
		lines := wording.Audit(told, "")
		if told.Behind && s.scores.isSlow() {
			lines = append(lines, wording.Behind)
		}
		for _, line := range lines {
			view.Words = append(view.Words, wording.Sentence(line)+".")
		}
		if len(told.Draws) < told.NextLook {
			view.More = told.NextLook
		}
		v, skipped := s.nextDraw(told)
		if view.Skipped = skipped; v != kv.NoNode && !s.ReadOnly {
			view.Draw, err = s.blind(r.Context(), tx, v)
		}
		return err
	})
	return answer{page: auditPage, title: "Audit", view: &view}, err
}

// nextDraw is the first open draw that the person has not skipped. If all are skipped, it is kv.NoNode.
func (s *Server) nextDraw(told *cleaner.Audit) (next kv.NodeID, skipped int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	open := told.Open(s.Query.Who)
	for _, d := range open {
		if !s.skipped.Contains(uint32(d.Node)) {
			return d.Node, 0
		}
	}
	return kv.NoNode, len(open)
}

// blind reads what a person sees of a draw.
func (s *Server) blind(ctx context.Context, tx *kv.Tx, v kv.NodeID) (*draw, error) {
	e, err := cleaner.Glance(ctx, tx, v, ops.Options{Workers: s.Query.Workers, MemoryBudget: s.Query.MemoryBudget})
	if err != nil {
		return nil, err
	}
	about := survey.New(tx, s.Columns)
	d, err := about.Dossier(ctx, "", e)
	if err != nil {
		return nil, err
	}
	c := &card{Properties: []property{}}
	for _, p := range d.Properties {
		c.addProperty(p, s.Columns)
	}
	shown := &draw{
		ID: d.ID, Title: d.Ego.Nodes[0].Name, Text: c.Text, Link: c.Link, Properties: c.Properties, Degree: d.Degree, Votes: d.Votes(),
		Neighbors: sideOf(about, d.BlindNeighbors(), 2*cardNeighbors), Options: d.BlindOptions(), Classes: classNames(tx),
		Seen: seen{Label: d.View.Label, Decision: d.View.Decision.String(), Disputed: d.View.Disputed},
	}
	for _, class := range shown.Options {
		shown.Colors = append(shown.Colors, about.ClassPlace(class))
	}
	return shown, nil
}

// A drawing says how many labels to draw.
type drawing struct {
	Size int `json:"size"` // in all
}

// draw asks people for more draws.
func (s *Server) draw(r *http.Request) (answer, error) {
	var d drawing
	err := cmp.Or(s.checkWritable(), bring(r, &d, func() { d.Size, _ = strconv.Atoi(r.PostFormValue("size")) })) //nolint:errcheck // 0 is refused
	if err != nil {
		return answer{}, err
	}
	err = s.inTurn(func() error {
		return cleaner.DrawAudit(r.Context(), s.Store, d.Size, query.DefaultSeed)
	})
	if errors.Is(err, kv.ErrNotFound) {
		err = query.ErrNotCleaned
	}
	if err != nil {
		return answer{}, err
	}
	a, err := s.audit(r)
	a.seeOther = auditPage
	return a, err
}

// sayBlind takes the place of what a reply has said: it does not tell which label the node had.
func (s *Server) sayBlind(text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said = text
	return text
}
