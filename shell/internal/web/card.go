package web

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/survey"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// A card shows a node to the person who decides.
type card struct {
	*survey.Dossier // nil: the queue is empty

	Seen     string   // the node as it is shown, which a decision must bring
	Words    string   // what the score means
	Before   string   // the label before any decision, if it is another
	Numbered []string // classes beside the given and the suggested one, the most likely first: those on the digits
	Picture  string   // SVG
	Skipped  int      // nodes that wait in an empty queue
	Notices  []string // remarks on the condition of an empty queue
}

// cardChoices is how many classes have a digit.
const cardChoices = 9

// node shows a node of any kind.
func (s *Server) node(r *http.Request) (a answer, err error) {
	a.page = "card"
	err = s.snapshot(func(tx *kv.Tx) error {
		v, err := find(tx, r.FormValue("id"))
		if err != nil {
			return err
		}
		c, err := s.card(r.Context(), tx, v)
		if err == nil {
			a.view, a.title = c, c.Title
		}
		return err
	})
	return a, err
}

// find finds a node by its id.
func find(tx *kv.Tx, id string) (kv.NodeID, error) {
	v, err := tx.Node(id)
	if errors.Is(err, kv.ErrNotFound) {
		err = refuse(http.StatusNotFound, fmt.Sprintf("No node has the id %s.", query.Quote(id)))
	}
	return v, err
}

// card reads the card of a node.
func (s *Server) card(ctx context.Context, tx *kv.Tx, v kv.NodeID) (*card, error) {
	run, err := cleaner.LastRun(tx)
	if err != nil && !errors.Is(err, cleaner.ErrNotCleaned) {
		return nil, err
	}
	d, err := survey.Read(ctx, tx, v, s.Query)
	if err != nil {
		return nil, err
	}
	c := &card{Dossier: d, Seen: encodeView(d.View), Words: scoreWords(d, run)}
	d.Ego.Link = func(id string) string { return "node?id=" + url.QueryEscape(id) }
	drawn := *d.Ego
	drawn.Text = "" // which stands beside the picture
	c.Picture = drawn.SVG()
	for _, class := range d.Choices {
		if class != d.Label && class != d.Suggestion && len(c.Numbered) < cardChoices {
			c.Numbered = append(c.Numbered, class)
		}
	}
	if len(d.History) > 0 && d.History[0].From != d.Label {
		c.Before = d.History[0].From
	}
	return c, nil
}

// encodeView writes a node as it was shown into a field of a form. A blind card has it too, and so it cannot be read in
// passing.
func encodeView(v decide.View) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // it has only JSON values
	}
	return base64.URLEncoding.EncodeToString(text)
}

func decodeView(text string) (v decide.View, err error) {
	data, err := base64.URLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(data, &v)
	}
	if err != nil {
		err = badRequest("The field seen is not that of a card.")
	}
	return v, err
}

// scoreWords says what a score means.
func scoreWords(d *survey.Dossier, run *cleaner.Run) string {
	switch score := d.Score; {
	case math.IsNaN(score) || run == nil:
		return "This node has no score."
	case d.ScoredAs != d.Label:
		return "The score is of the label " + cmp.Or(d.ScoredAs, "before the decision") + "."
	case run.Preset != cleaner.PresetDefault && score > run.Threshold:
		return "The label is suspect."
	case run.Preset != cleaner.PresetDefault:
		return "The label is not suspect."
	case score >= 0.9:
		return "The label is very probably wrong."
	case score >= 0.5:
		return "The label is more likely wrong than right."
	}
	return "The label is more likely right than wrong."
}
