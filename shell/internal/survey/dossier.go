package survey

import (
	"cmp"
	"context"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
	"github.com/graphcleaner/graphcleaner/shell/internal/picture"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// A Dossier has the facts that a person sees before a decision on a node: in a terminal, on a page, and in a picture.
type Dossier struct {
	*cleaner.Explanation
	Ego          *picture.Ego
	Title        string
	Text, Link   string     // "" if it has none
	Properties   []Property // the other ones that the user brought along, and that have a value
	For, Against []Neighbor // those that speak most for the label, and against it
	Choices      []string   // all classes, the most likely first; the last are the suggested one and the one that it has
	Classes      []string   // in the order of answers

	places map[string]int // of the classes
}

// A Property is a value in words.
type Property struct{ Name, Value string }

// A Neighbor speaks for the label of a node or against it.
type Neighbor struct {
	ID, Title string // as a person reads them
	Label     string // "" if it has none: it speaks by its prediction
	Predicted string
}

// Read reads the dossier of a node within the memory of some options.
func Read(ctx context.Context, tx *kv.Tx, v kv.NodeID, opt query.Options) (*Dossier, error) {
	e, err := cleaner.Glance(ctx, tx, v, ops.Options{Workers: opt.Workers, MemoryBudget: opt.MemoryBudget})
	if err != nil {
		return nil, err
	}
	s := newSurveyor(tx)
	d := &Dossier{Explanation: e, Choices: choices(e, s.classes), Classes: s.classes, places: s.places}
	if d.Title, err = s.title(v); err != nil {
		return nil, err
	}
	for _, name := range query.UserColumns(tx) {
		value, err := tx.Value(v, name)
		if err != nil {
			return nil, err
		}
		switch text := print.EscapeLines(print.Brief(value)); {
		case value.IsNull() || text == "" || name == s.columns.Title:
		case name == s.columns.Text:
			d.Text = text
		case name == s.columns.Link:
			d.Link = text
		default:
			d.Properties = append(d.Properties, Property{name, text})
		}
	}
	if d.Ego, err = s.ego(ctx, v); err != nil {
		return nil, err
	}
	if d.For, err = s.neighbors(e.Supporters); err == nil {
		d.Against, err = s.neighbors(e.Opponents)
	}
	return d, err
}

func (s *surveyor) neighbors(voices []cleaner.Voice) (all []Neighbor, err error) {
	for _, n := range voices {
		title, err := s.title(n.Node)
		if err != nil {
			return nil, err
		}
		all = append(all, Neighbor{n.ID, title, n.Label, n.Class})
	}
	return all, nil
}

// choices are the classes that a node could have: by their predictions, or else by the votes of the neighbours. The one
// that is suggested has a key of its own.
func choices(e *cleaner.Explanation, classes []string) (all []string) {
	for _, c := range slices.Concat(e.TopClasses, e.Votes) {
		all = append(all, c.Class)
	}
	all = unique(append(all, classes...))
	for _, class := range []string{e.Suggestion, e.Label} {
		if i := slices.Index(all, class); i >= 0 {
			all = append(slices.Delete(all, i, i+1), class)
		}
	}
	return all
}

// unique are names, each where it comes first.
func unique(names []string) (once []string) {
	seen := map[string]bool{}
	for _, name := range names {
		if !seen[name] {
			seen[name], once = true, append(once, name)
		}
	}
	return once
}

// Color is the place of a class among the colours, picture.None for "".
func (d *Dossier) Color(class string) int {
	if place, ok := d.places[class]; ok {
		return place
	}
	return picture.None
}

// Says tell who says what about the label, such as "ann says Theory": the last word of each person.
func (d *Dossier) Says() (parts []string) {
	for _, word := range d.Words {
		says := "says " + cmp.Or(word.To, "no label")
		if word.Kind == decide.Unsure {
			says = "is unsure"
		}
		parts = append(parts, print.EscapeControls(cmp.Or(word.Who, "somebody")+" "+says))
	}
	return parts
}
