package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
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
	direction := kv.Both
	run, err := query.LastRun(tx)
	if err != nil && !errors.Is(err, query.ErrNotCleaned) {
		return nil, err
	}
	if run != nil {
		direction = run.Direction
	}
	about := survey.New(tx, direction, s.Columns)
	ego, err := about.Ego(ctx, "ego", v)
	if err != nil {
		return nil, err
	}
	ego.Link = func(id string) string { return "node?id=" + url.QueryEscape(id) }
	c := &card{Evidence: ego.Text, Classes: classNames(tx), Properties: []property{}, Against: []neighbor{}, For: []neighbor{}, Choices: []string{}, Entries: []entry{}}
	ego.Text = "" // which stands beside the picture
	c.Picture = ego.SVG()
	c.weigh(ego, about)
	if err := errors.Join(c.read(tx, v, s.Columns), c.readHistory(ctx, tx, v, run)); err != nil {
		return nil, err
	}
	c.Title = ego.Nodes[0].Name
	c.Colors = []int{about.ClassPlace(c.Seen.Label), about.ClassPlace(c.Seen.Suggested), about.ClassPlace(c.Before)}
	c.Words = scoreWords(c.Score, run)
	if c.Settling = run != nil && s.scores.isBusy(); c.Settling {
		if c.Awaited, err = cleaner.IsStale(ctx, tx, run, v); err != nil {
			return nil, err
		}
	}
	top, err := cleaner.LikelyClasses(tx, v)
	if err != nil {
		return nil, err
	}
	c.choose(top, ego, about)
	return c, nil
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

// read reads what is stored of the node.
func (c *card) read(tx *kv.Tx, v kv.NodeID, columns survey.Columns) (err error) {
	read := func(column string) (value kv.Value) {
		if err == nil {
			value, err = tx.Value(v, column)
		}
		if errors.Is(err, kv.ErrNoColumn) {
			err = nil
		}
		return value
	}
	number := func(column string) *float64 {
		value := read(column)
		if value.IsNull() || math.IsNaN(value.Float()) {
			return nil
		}
		f := value.Float()
		return &f
	}
	c.Score, c.Confidence = number(cleaner.ScoreColumn), number(cleaner.ConfidenceColumn)
	c.Split = read("split").String()
	c.Seen = seen{
		Label: read(kv.LabelColumn).String(), Suggested: read(cleaner.SuggestedColumn).String(), Decision: read(decide.Column).String(),
		Disputed: !read(decide.DisputedColumn).IsNull(),
	}
	c.Disputed = c.Seen.Disputed
	if run := read(cleaner.RunColumn); !run.IsNull() {
		c.Seen.Run = run.Int()
	}
	for _, name := range query.UserColumns(tx) {
		value := read(name)
		text := print.EscapeLines(print.Brief(value))
		switch {
		case value.IsNull() || text == "":
		case name == columns.Title: // above
		case name == columns.Text:
			c.Text = picture.Shorten(text, cardText)
		case name == columns.Link:
			c.Link = picture.Shorten(text, cardText)
		default:
			c.Properties = append(c.Properties, property{name, picture.Shorten(text, cardText)})
		}
	}
	if err != nil {
		return err
	}
	if c.ID, err = tx.ID(v); err != nil {
		return err
	}
	c.Degree, err = tx.Degree(v)
	return err
}

// readHistory reads the newest decisions about the node, and who says what.
func (c *card) readHistory(ctx context.Context, tx *kv.Tx, v kv.NodeID, run *cleaner.Run) error {
	isInForce, err := decide.InForce(ctx, tx, v, 1)
	if err != nil {
		return err
	}
	for d, err := range decide.History(ctx, tx, v) {
		if err != nil {
			return err
		}
		c.Entries = append(c.Entries, entryOf(d, isInForce(d.Seq)))
	}
	if len(c.Entries) == 0 {
		return nil
	}
	words, _, err := decide.Words(ctx, tx, v)
	if err != nil {
		return err
	}
	c.Says = survey.Words(words)
	if before := c.Entries[0].From; before != c.Seen.Label {
		c.Before = before
	}
	c.OldScore = c.Score != nil && run != nil && c.Entries[len(c.Entries)-1].Seq > max(run.Seen, run.Decisions)
	c.Entries = c.Entries[max(0, len(c.Entries)-cardEntries):]
	slices.Reverse(c.Entries)
	return nil
}

// weigh lists the neighbours with most weight that do not have the label of the node, and those that have it.
func (c *card) weigh(ego *picture.Ego, about *survey.Surveyor) {
	var near []picture.Node
	for _, edge := range ego.Edges {
		if edge[0] == 0 {
			near = append(near, ego.Nodes[edge[1]])
		}
	}
	slices.SortStableFunc(near, func(a, b picture.Node) int {
		// Of equal weights, what is more surely labelled says more.
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(orOne(a.Score), orOne(b.Score)))
	})
	for _, n := range near {
		if n.Class == picture.None {
			continue
		}
		of := &c.Against
		if n.Class == ego.Nodes[0].Class {
			of = &c.For
		}
		if len(*of) < cardNeighbors {
			*of = append(*of, neighbor{n.ID, n.Name, about.ClassName(n.Class), n.Class})
		}
	}
}

func orOne(score float64) float64 {
	if math.IsNaN(score) {
		return 1
	}
	return score
}

// choose lists the classes that the digits name: those of the largest predictions, then those of most neighbours, then the others. The
// suggested one has a key of its own.
func (c *card) choose(top []string, ego *picture.Ego, about *survey.Surveyor) {
	var voted []int
	for class := range ego.Classes {
		if ego.Votes[class] > 0 {
			voted = append(voted, class)
		}
	}
	slices.SortStableFunc(voted, func(a, b int) int { return ego.Votes[b] - ego.Votes[a] })
	for class := range ego.Classes {
		if ego.Votes[class] == 0 {
			voted = append(voted, class)
		}
	}
	candidates := slices.Clone(top)
	for _, class := range voted {
		candidates = append(candidates, about.ClassName(class))
	}
	for _, class := range candidates {
		if len(c.Choices) == cardChoices {
			return
		}
		if class != "" && class != c.Seen.Label && class != c.Seen.Suggested && !slices.Contains(c.Choices, class) {
			c.Choices = append(c.Choices, class)
		}
	}
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
