package survey

import (
	"context"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/picture"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// A Dossier is what a person sees of a node before they decide: in a terminal, and on a page.
type Dossier struct {
	*cleaner.Explanation
	Ego          *picture.Ego
	Properties   []Property // those of the user that have a value
	For, Against []Neighbor // those that speak most for the label, and against it
	Choices      []string   // all classes, the most likely first; the suggested one, and then the one that the node has, are the last
}

// A Property is a value that the user brought along.
type Property struct {
	Name  string
	Value kv.Value
}

// A Neighbor speaks for the label of a node or against it.
type Neighbor struct {
	ID, Title string // as a person reads them
	Label     string // "" if it has none: it speaks by its prediction
	Predicted string
}

// Dossier adds to an explanation of a node what only people read. The drawing gets the id.
func (s *Surveyor) Dossier(ctx context.Context, id string, e *cleaner.Explanation) (*Dossier, error) {
	d := &Dossier{Explanation: e, Choices: choices(e, s.classes)}
	for _, name := range query.UserColumns(s.tx) {
		value, err := s.tx.Value(e.Node, name)
		if err != nil {
			return nil, err
		}
		if !value.IsNull() && value.String() != "" {
			d.Properties = append(d.Properties, Property{name, value})
		}
	}
	var err error
	if d.Ego, err = s.Ego(ctx, id, e.Node); err != nil {
		return nil, err
	}
	if d.For, err = s.neighbors(e.Supporters); err == nil {
		d.Against, err = s.neighbors(e.Opponents)
	}
	return d, err
}

func (s *Surveyor) neighbors(voices []cleaner.Voice) (all []Neighbor, err error) {
	for _, n := range voices {
		title, err := s.Title(n.Node)
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
	add := func(class string) {
		if !slices.Contains(all, class) {
			all = append(all, class)
		}
	}
	for _, c := range slices.Concat(e.TopClasses, e.Votes) {
		add(c.Class)
	}
	for _, class := range classes {
		if len(all) < len(classes) {
			add(class)
		}
	}
	for _, class := range []string{e.Suggestion, e.Label} {
		if i := slices.Index(all, class); i >= 0 {
			all = append(slices.Delete(all, i, i+1), class)
		}
	}
	return all
}
