package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
	"github.com/graphcleaner/graphcleaner/shell/internal/picture"
	"github.com/graphcleaner/graphcleaner/shell/internal/survey"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// A card shows a node to the person who decides.
type card struct {
	ID         string     `json:"id"`
	Title      string     `json:"title"`
	Score      *float64   `json:"score"` // null without a score
	Words      string     `json:"score_in_words"`
	Confidence *float64   `json:"confidence"`
	Evidence   string     `json:"evidence"`
	Text       string     `json:"text,omitempty"`
	Link       string     `json:"link,omitempty"`
	Properties []property `json:"properties"`
	Degree     int        `json:"degree"`
	Split      string     `json:"split,omitempty"`

	Seen     seen       `json:"seen"` // what a decision about the node must bring
	Against  []neighbor `json:"against"`
	For      []neighbor `json:"for"`
	Choices  []string   `json:"choices"`                // classes beside the given and the suggested one, the most likely first: those on the digits
	Before   string     `json:"label_before,omitempty"` // any decision, if it is another
	Says     []string   `json:"says,omitempty"`         // who says what: the last word of each person who has decided
	OldScore bool       `json:"old_score,omitempty"`    // it is from before the last decision
	Awaited  bool       `json:"awaited,omitempty"`      // the score is being computed
	Disputed bool       `json:"disputed,omitempty"`
	Entries  []entry    `json:"history"`
	Picture  string     `json:"picture"` // SVG

	Where    string `json:"-"`
	Settling bool   `json:"-"` // scores are being computed: they, and the suggestions, may change

	ReadOnly bool     `json:"-"`
	Empty    bool     `json:"empty,omitempty"`   // the queue is empty: the rest is missing
	Skipped  int      `json:"skipped,omitempty"` // nodes that wait in it
	Classes  []string `json:"-"`
	Colors   []int    `json:"-"` // of the label, the suggested one and the one before: places of classes
}

// Seen is the node as a person sees it. A decision is refused if the node has changed since.
type seen struct {
	Label     string `json:"label"`
	Suggested string `json:"suggested"`
	Decision  string `json:"decision"`
	Disputed  bool   `json:"disputed"`
	Run       int64  `json:"run"`
}

// A property is a value that the user brought along.
type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// A neighbor speaks for the given label or against it.
type neighbor struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Label string `json:"label"`
	Color int    `json:"-"`
}

// What a card shows at most.
const (
	cardNeighbors  = 5       // that speak for the label, and against it
	cardChoices    = 9       // a digit each
	cardEntries    = 5       // of the history, the newest
	cardText       = 100_000 // characters of a property
	offeredClasses = 500     // in the list of a field
)

// node shows a node of any kind.
func (s *Server) node(r *http.Request) (answer, error) {
	a := answer{page: "card"}
	err := s.snapshot(func(tx *kv.Tx) error {
		v, err := s.find(tx, r.FormValue("id"))
		if err != nil {
			return err
		}
		c, err := s.card(r.Context(), tx, v)
		if err != nil {
			return err
		}
		c.Where, c.ReadOnly = s.whereOf(r), s.ReadOnly
		a.view, a.title = c, c.Title
		return nil
	})
	return a, err
}

// find finds the node with an id.
func (s *Server) find(tx *kv.Tx, id string) (kv.NodeID, error) {
	v, err := tx.Node(id)
	if errors.Is(err, kv.ErrNotFound) {
		err = refuse(http.StatusNotFound, fmt.Sprintf("No node has the id %s.", query.Quote(id)))
	}
	return v, err
}

// card reads what the card of a node shows.
func (s *Server) card(ctx context.Context, tx *kv.Tx, v kv.NodeID) (*card, error) {
	run, err := query.LastRun(tx)
	if err != nil && !errors.Is(err, query.ErrNotCleaned) {
		return nil, err
	}
	e, err := cleaner.Glance(ctx, tx, v, ops.Options{Workers: s.Query.Workers, MemoryBudget: s.Query.MemoryBudget})
	if err != nil {
		return nil, err
	}
	about := survey.New(tx, s.Columns)
	d, err := about.Dossier(ctx, "ego", e)
	if err != nil {
		return nil, err
	}
	d.Ego.Link = func(id string) string { return "node?id=" + url.QueryEscape(id) }
	c := &card{
		ID: d.ID, Title: d.Ego.Nodes[0].Name, Score: finite(d.Score), Confidence: finite(d.Confidence), Evidence: d.Ego.Text,
		Degree: d.Degree, Split: d.Split, Disputed: d.Disputed, Says: survey.Words(d.Words), Classes: classNames(tx),
		Seen:       seen{d.View.Label, d.View.Suggestion, d.View.Decision.String(), d.View.Disputed, d.View.Run},
		Properties: []property{}, Against: sideOf(about, d.Against, cardNeighbors), For: sideOf(about, d.For, cardNeighbors), Choices: []string{}, Entries: []entry{},
	}
	d.Ego.Text = "" // which stands beside the picture
	c.Picture = d.Ego.SVG()
	c.Words = scoreWords(c.Score, run)
	for _, p := range d.Properties {
		c.addProperty(p, s.Columns)
	}
	for _, class := range d.Choices[:min(len(d.Choices), cardChoices+2)] {
		if class != d.Label && class != d.Suggestion && len(c.Choices) < cardChoices {
			c.Choices = append(c.Choices, class)
		}
	}
	c.addHistory(d, run)
	c.Colors = []int{about.ClassPlace(d.Label), about.ClassPlace(d.Suggestion), about.ClassPlace(c.Before)}
	if c.Settling = run != nil && s.scores.isBusy(); c.Settling {
		c.Awaited, err = cleaner.IsStale(ctx, tx, run, v)
	}
	return c, err
}

// classNames are the classes for the field of another label, in the order of answers.
func classNames(tx *kv.Tx) (names []string) {
	classes := tx.Classes()
	if len(classes) > offeredClasses {
		return nil // the field asks for what matches
	}
	for _, i := range query.ClassOrder(classes) {
		names = append(names, classes[i])
	}
	return names
}

// addProperty puts a property in its place.
func (c *card) addProperty(p survey.Property, columns survey.Columns) {
	text := picture.Shorten(print.EscapeLines(print.Brief(p.Value)), cardText)
	switch p.Name {
	case columns.Title: // above
	case columns.Text:
		c.Text = text
	case columns.Link:
		c.Link = text
	default:
		c.Properties = append(c.Properties, property{p.Name, text})
	}
}

// addHistory lists the newest decisions about the node.
func (c *card) addHistory(d *survey.Dossier, run *cleaner.Run) {
	if len(d.History) == 0 {
		return
	}
	if before := d.History[0].From; before != d.Label {
		c.Before = before
	}
	c.OldScore = c.Score != nil && run != nil && d.History[len(d.History)-1].Seq > max(run.Seen, run.Decisions)
	for i := len(d.History) - 1; i >= 0 && len(c.Entries) < cardEntries; i-- {
		c.Entries = append(c.Entries, entryOf(d.History[i], d.InForce[i]))
	}
}

// sideOf are the first neighbours that speak for the label, or against it.
func sideOf(about *survey.Surveyor, all []survey.Neighbor, most int) []neighbor {
	side := []neighbor{}
	for _, n := range all[:min(len(all), most)] {
		side = append(side, neighbor{n.ID, n.Title, n.Label, about.ClassPlace(n.Label)})
	}
	return side
}

// scoreWords says what a score means.
func scoreWords(score *float64, run *cleaner.Run) string {
	switch {
	case score == nil || run == nil:
		return "This node has no score."
	case run.Preset != cleaner.PresetDefault && *score > run.Threshold:
		return "The label is suspect."
	case run.Preset != cleaner.PresetDefault:
		return "The label is not suspect."
	case *score >= 0.99:
		return "The label is almost certainly wrong."
	case *score >= 0.9:
		return "The label is very probably wrong."
	case *score >= 0.7:
		return "The label is probably wrong."
	case *score >= 0.5:
		return "The label is more likely wrong than right."
	case *score >= 0.2:
		return "The label is more likely right than wrong."
	}
	return "The label is probably right."
}
