package review

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/rivo/uniseg"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
	"github.com/graphcleaner/graphcleaner/shell/internal/picture"
	"github.com/graphcleaner/graphcleaner/shell/internal/survey"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

func (s *Show) do(ctx context.Context, store *kv.Store, opt query.Options) (*Subject, error) {
	tx := store.Begin()
	defer tx.Close()
	explained, err := cleaner.Explain(ctx, tx, s.Node, ops.Options{Workers: opt.Workers, MemoryBudget: opt.MemoryBudget})
	if err != nil {
		return nil, err
	}
	d, err := survey.New(tx, survey.Guess(tx)).Dossier(ctx, "", explained)
	if err != nil {
		return nil, err
	}
	var last decide.Decision
	if n := len(d.History); n > 0 {
		last = d.History[n-1]
	}
	e := &Subject{Decided: last, Node: d.Node, ID: d.ID, View: d.View, Classes: tx.Classes(), Choices: d.Choices}
	if s.Blind {
		e.Options = d.BlindOptions()
	}
	e.Card = s.card(d)
	return e, nil
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

// What a card shows at most.
const (
	cardClasses   = 4
	cardNeighbors = 4   // on each side
	cardDecisions = 3   // the newest
	cardText      = 300 // characters of a property or a reason
	cardTitle     = 80  // characters of the title of a neighbour
)

// card is a node in words, for a person.
func (s *Show) card(e *survey.Dossier) string {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "  %-12s %s\n", print.EscapeControls(name), print.EscapeControls(value))
		}
	}
	lines := func(name string, values []string) {
		for _, value := range values {
			line(name, value)
			name = ""
		}
	}
	b.WriteString("\n")
	fmt.Fprintf(&b, "%d of %d: node %s\n", s.At+1, s.Long, print.EscapeControls(e.ID))
	if !s.Blind {
		s.opinion(e, line)
	}
	degree := fmt.Sprint(e.Degree)
	if e.Split != "" && !s.Blind {
		degree += ", split " + e.Split
	}
	line("degree", degree)
	for _, p := range e.Properties {
		line(p.Name, picture.Shorten(print.Brief(p.Value), cardText))
	}
	if s.Blind {
		var votes []string
		for _, v := range e.Votes() {
			votes = append(votes, fmt.Sprintf("%d %s", v.Count, cmp.Or(v.Label, "no label")))
		}
		line("neighbours", strings.Join(votes, ", "))
		lines("", voices(e.BlindNeighbors(), 2*cardNeighbors))
		return b.String()
	}
	var predicted []string
	for _, c := range e.TopClasses[:min(len(e.TopClasses), cardClasses)] {
		predicted = append(predicted, fmt.Sprintf("%s %.3g", c.Class, c.Share))
	}
	line("predicted", strings.Join(predicted, ", "))
	lines("against", voices(e.Against, cardNeighbors))
	lines("for", voices(e.For, cardNeighbors))
	line("incomplete", e.Incomplete)
	if e.Disputed {
		line("disputed", strings.Join(survey.Words(e.Words), ", "))
	}
	for _, d := range e.History[max(0, len(e.History)-cardDecisions):] {
		line("decided", decidedBefore(d))
	}
	return b.String()
}

// opinion shows the label, the suggestion and the score.
func (s *Show) opinion(e *survey.Dossier, line func(name, value string)) {
	line("label", cmp.Or(e.Label, "none"))
	line("suggested", e.Suggestion)
	line("evidence", picture.Plain(e.Ego.Text))
	scores := "none"
	if !math.IsNaN(e.Score) {
		scores = fmt.Sprintf("%.6g", e.Score)
	}
	if !math.IsNaN(e.Confidence) {
		scores += fmt.Sprintf(", confidence in the suggestion %.4g", e.Confidence)
	}
	line("score", scores)
}

// decidedBefore says what an entry of the history was.
func decidedBefore(d decide.Decision) string {
	words := d.Kind.String()
	if d.Undoes != 0 {
		words += " taken back"
	}
	if d.Who != "" {
		words += " by " + d.Who
	}
	words += ", " + d.Time.Format(time.DateOnly)
	if d.Why != "" {
		words += ": " + picture.Shorten(d.Why, cardText)
	}
	return words
}

// valueAt is where the values of a card begin.
const valueAt = 15

// flow writes words in lines of a width, where it is known; lines after the first have an indent.
func flow(words []string, width, indent int) string {
	var out strings.Builder
	at := 0
	for i, word := range words {
		cells := uniseg.StringWidth(word)
		switch {
		case i == 0:
		case width > 2*indent && at > indent && at+1+cells > width:
			out.WriteString("\n" + strings.Repeat(" ", indent))
			at = indent
		default:
			out.WriteString(" ")
			at++
		}
		out.WriteString(word)
		at += cells
	}
	return out.String()
}
