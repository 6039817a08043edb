package review

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/shell/internal/picture"
	"github.com/graphcleaner/graphcleaner/shell/internal/survey"
	"github.com/graphcleaner/graphcleaner/shell/print"
)

// What a card shows at most.
const (
	cardClasses   = 4
	cardNeighbors = 4   // on each side
	cardText      = 300 // cells of a property
	cardTitle     = 80  // cells of the title of a neighbour
)

// card is a node in words, for a person.
func card(d *survey.Dossier, isBlind bool) string {
	var b strings.Builder
	lines := func(name string, values ...string) {
		for _, value := range values {
			if value != "" {
				fmt.Fprintf(&b, "  %-12s %s\n", print.EscapeControls(name), print.EscapeControls(value))
				name = ""
			}
		}
	}
	if !isBlind {
		lines("label", cmp.Or(d.Label, "none"))
		lines("suggested", d.Suggestion)
		lines("evidence", picture.Plain(d.Ego.Text))
		lines("score", fmt.Sprintf("%.6g, confidence in the suggestion %.4g", d.Score, d.Confidence))
	}
	lines("degree", fmt.Sprint(d.Degree))
	if d.Title != d.ID {
		lines("title", picture.Shorten(d.Title, cardText))
	}
	lines("text", picture.Shorten(d.Text, cardText))
	lines("link", d.Link)
	for _, p := range d.Properties {
		lines(p.Name, picture.Shorten(p.Value, cardText))
	}
	if isBlind {
		var votes []string
		for _, v := range d.Votes() {
			votes = append(votes, fmt.Sprintf("%d %s", v.Count, cmp.Or(v.Label, "no label")))
		}
		lines("neighbours", strings.Join(votes, ", "))
		lines("", voices(d.BlindNeighbors(), 2*cardNeighbors)...)
		return b.String()
	}
	var predicted []string
	for _, c := range d.TopClasses[:min(len(d.TopClasses), cardClasses)] {
		predicted = append(predicted, fmt.Sprintf("%s %.3g", c.Class, c.Share))
	}
	lines("predicted", strings.Join(predicted, ", "))
	lines("against", voices(d.Against, cardNeighbors)...)
	lines("for", voices(d.For, cardNeighbors)...)
	if d.Decision != decide.None || d.Disputed {
		lines("decided", strings.Join(d.Says(), ", "))
	}
	return b.String()
}

// voices say of the first neighbours who they are.
func voices(neighbors []survey.Neighbor, most int) (lines []string) {
	for _, n := range neighbors[:min(len(neighbors), most)] {
		line := n.ID + ", " + cmp.Or(n.Label, "no label, predicted "+n.Predicted)
		if n.Title != n.ID {
			line += ": " + picture.Shorten(n.Title, cardTitle)
		}
		lines = append(lines, line)
	}
	return lines
}
