package report

import (
	"context"
	"fmt"
	"html/template"
	"slices"
	"strconv"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/picture"
	"github.com/graphcleaner/graphcleaner/shell/internal/survey"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// Of how many suspects a page has cards: of the least in any case, of the most while the drawings have room on the page.
const (
	leastCards = 6
	mostCards  = 12
	cardsBytes = 200 << 10
)

// How much a page shows of a property, in characters of usual width.
const (
	titleLength = 80 // in a table
	linkLength  = 300
	textLength  = 600
)

// A card is a suspect with its neighbourhood and what else helps to decide.
type card struct {
	Picture template.HTML
	Facts   []cardFact
}

// A cardFact is a value under its name, a class with its mark.
type cardFact struct {
	Name   string
	Swatch template.HTML
	Value  string
}

// addSuspects shows the highest scores of nodes that nobody has decided on: the first ones as cards, before all else.
func (p *Page) addSuspects(ctx context.Context, tx *kv.Tx, run *cleaner.Run) error {
	plan, err := index.NewPlan(tx, index.Query{
		Where: cleaner.Suspects(run.Threshold), Limit: listedSuspects,
		Order: []index.Order{{Property: cleaner.ScoreColumn, Descending: true}},
	})
	if err != nil {
		return err
	}
	columns := survey.Guess(tx)
	cells, err := query.NewFetcher(tx, []string{
		"id", kv.LabelColumn, cleaner.SuggestedColumn, cleaner.ConfidenceColumn, cleaner.ScoreColumn, columns.Title, columns.Text, columns.Link,
	}, 0)
	if err != nil {
		return err
	}
	s := survey.New(tx, run.Direction, columns)
	var cards []card
	drawn := 0
	rows := &table{Header: []string{"", "id", "given label", "suggested label", "confidence", "score"}}
	if columns.Title != "" {
		rows.Header = append(rows.Header, columns.Title)
	}
	for row, err := range cells.FetchPlan(ctx, plan) {
		if err != nil {
			return err
		}
		id, label, suggested, title := row[0].String(), row[1].String(), row[2].String(), row[5].String()
		confidence, score := row[3].Float(), strconv.FormatFloat(row[4].Float(), 'f', 4, 64)
		if len(cards) < leastCards || len(cards) < mostCards && drawn < cardsBytes {
			v, err := tx.Node(id)
			if err != nil {
				return err
			}
			ego, err := s.Ego(ctx, fmt.Sprintf("suspect-%d", len(cards)+1), v)
			if err != nil {
				return err
			}
			c := card{Picture: template.HTML(ego.SVG())}
			drawn += len(c.Picture)
			swatch := func(class string) template.HTML { return template.HTML(picture.Swatch(s.ClassPlace(class))) }
			for _, fact := range []cardFact{
				{Name: "id", Value: id},
				{Name: "score", Value: score},
				{Name: "given label", Swatch: swatch(label), Value: label},
				{Name: "suggested label", Swatch: swatch(suggested), Value: fmt.Sprintf("%s (%s sure)", suggested, wording.Percent(confidence))},
				{Name: columns.Title, Value: survey.Short(title, textLength)},
				{Name: columns.Text, Value: survey.Short(row[6].String(), textLength)},
				{Name: columns.Link, Value: survey.Short(row[7].String(), linkLength)},
			} {
				if fact.Value != "" {
					c.Facts = append(c.Facts, fact)
				}
			}
			cards = append(cards, c)
		}
		cells := []string{strconv.Itoa(len(rows.Rows) + 1), id, label, suggested, strconv.FormatFloat(confidence, 'f', 4, 64), score}
		if columns.Title != "" {
			cells = append(cells, survey.Short(title, titleLength))
		}
		rows.Rows = append(rows.Rows, cells)
	}
	list := section{
		Title: "Top suspects", Table: rows,
		Note: "Suggested another label and not decided on, highest score first. Labels are never changed on their own.",
	}
	if len(rows.Rows) == 0 {
		list.Note, list.Table = "No node is a suspect.", nil
	} else {
		p.Sections = slices.Insert(p.Sections, 0, section{Title: "The first suspects", Cards: cards})
	}
	p.Sections = append(p.Sections, list)
	return nil
}
