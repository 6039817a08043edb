package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"strconv"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
	"github.com/graphcleaner/graphcleaner/shell/internal/survey"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// auditPage is the name of the page, and where it is.
const auditPage = "audit"

// firstDraws is how many labels the page draws first.
const firstDraws = 50

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
	ID         string     `json:"id"`
	Title      string     `json:"title"`
	Text       string     `json:"text,omitempty"`
	Link       string     `json:"link,omitempty"`
	Properties []property `json:"properties"`
	Degree     int        `json:"degree"`
	Votes      []vote     `json:"neighbor_labels"` // of all neighbours
	Neighbors  []neighbor `json:"neighbors"`       // the heaviest
	Options    []string   `json:"options"`         // one of them is the label
	Seen       seen       `json:"seen"`            // what a decision must bring: a run of 0, for the suggestion is not seen

	Classes []string `json:"-"`
	Colors  []int    `json:"-"` // of the options
}

// A vote is how many neighbours have a label; none is "".
type vote struct {
	Label string `json:"label"`
	Count int    `json:"count"`
	Color int    `json:"-"`
}

// audit shows a draw.
func (s *Server) audit(r *http.Request) (answer, error) {
	view := audit{ReadOnly: s.ReadOnly, Words: []string{}}
	err := s.snapshot(func(tx *kv.Tx) error {
		told, err := cleaner.ReadAudit(r.Context(), tx)
		if errors.Is(err, kv.ErrNotFound) {
			_, err = query.LastRun(tx)
			view.AuditReport, view.More = survey.ReportAudit(nil), firstDraws
			return err
		}
		if err != nil {
			return err
		}
		view.AuditReport = survey.ReportAudit(told)
		for _, line := range wording.Audit(told, "") {
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

// nextDraw is the open draw that the person is asked for, of those first that the next look needs. Each person has an order
// of their own, so that two people seldom look at the same draw. If all are skipped, it is kv.NoNode.
func (s *Server) nextDraw(told *cleaner.Audit) (next kv.NodeID, skipped int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next = kv.NoNode
	isNext, least := false, uint64(0)
	for i, d := range told.Draws {
		if d.Judgement != decide.Unjudged {
			continue
		}
		if s.skipped.Contains(uint32(d.Node)) {
			skipped++
			continue
		}
		h := fnv.New64a()
		fmt.Fprintf(h, "%s %d", s.Query.Who, d.Node)
		isWanted := i < told.NextLook
		if next == kv.NoNode || isWanted == isNext && h.Sum64() < least {
			next, isNext, least = d.Node, isWanted, h.Sum64()
		}
	}
	if next != kv.NoNode {
		skipped = 0
	}
	return next, skipped
}

// blind reads what a person sees of a draw.
func (s *Server) blind(ctx context.Context, tx *kv.Tx, v kv.NodeID) (*draw, error) {
	e, err := cleaner.Glance(ctx, tx, v, ops.Options{Workers: s.Query.Workers, MemoryBudget: s.Query.MemoryBudget})
	if err != nil {
		return nil, err
	}
	about := survey.New(tx, e.Direction, s.Columns)
	d, err := about.Dossier(ctx, "", e)
	if err != nil {
		return nil, err
	}
	c := &card{Properties: []property{}}
	for _, p := range d.Properties {
		c.addProperty(p, s.Columns)
	}
	shown := &draw{
		ID: d.ID, Title: d.Ego.Nodes[0].Name, Text: c.Text, Link: c.Link, Properties: c.Properties, Degree: d.Degree, Votes: []vote{},
		Neighbors: sideOf(about, d.BlindNeighbors(), 2*cardNeighbors), Options: d.BlindOptions(), Classes: classNames(tx),
		Seen: seen{Label: d.View.Label, Decision: d.View.Decision.String(), Disputed: d.View.Disputed},
	}
	for class, n := range d.Ego.Votes {
		name := ""
		if class >= 0 {
			name = d.Ego.Classes[class]
		}
		shown.Votes = append(shown.Votes, vote{name, n, class})
	}
	slices.SortFunc(shown.Votes, func(a, b vote) int { return cmp.Or(b.Count-a.Count, a.Color-b.Color) })
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
	if d.Size < 1 || d.Size > cleaner.MostAuditDraws {
		return answer{}, badRequest("The size is %d: want from 1 to %d.", d.Size, cleaner.MostAuditDraws)
	}
	err = s.inTurn(func() error {
		return cleaner.DrawAudit(r.Context(), s.Store, d.Size, query.DefaultSeed)
	})
	switch {
	case errors.Is(err, kv.ErrNotFound):
		return answer{}, query.ErrNotCleaned
	case errors.Is(err, cleaner.ErrAudit):
		return answer{}, refuse(http.StatusConflict, sentence(err))
	case err != nil:
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
