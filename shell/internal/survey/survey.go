// Package survey reads all that a person sees of a node, as one dossier in one snapshot, and writes what they say about
// it. It knows no page and no terminal.
package survey

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/picture"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// followedEdges is how many edges of a neighbour are followed: a picture takes little time and memory beside any hub.
const followedEdges = 256

// Columns are names of properties. An empty name is none.
type Columns struct{ Title, Text, Link string }

// guesses are names of properties, the best first.
var guesses = struct{ title, text, link []string }{
	title: []string{"title", "name", "label_text", "headline", "subject"},
	text:  []string{"abstract", "text", "description", "summary", "body", "content"},
	link:  []string{"link", "url", "uri", "href", "doi"},
}

// Guess finds the properties that have a title, a text and a link, by their names.
func Guess(tx *kv.Tx) Columns {
	columns := tx.Columns()
	first := func(names []string) string {
		for _, name := range names {
			for _, column := range columns {
				if column.Kind == kv.KindString && strings.EqualFold(column.Name, name) {
					return column.Name
				}
			}
		}
		return ""
	}
	return Columns{Title: first(guesses.title), Text: first(guesses.text), Link: first(guesses.link)}
}

// A surveyor reads in one snapshot.
type surveyor struct {
	tx      *kv.Tx
	graph   *kv.Undirected
	columns Columns
	classes []string // in the order of answers, so that a class has one colour everywhere
	places  map[string]int
}

func newSurveyor(tx *kv.Tx) *surveyor {
	s := &surveyor{tx: tx, graph: tx.Undirected(), columns: Guess(tx), places: map[string]int{}}
	for i, at := range query.ClassOrder(tx.Classes()) {
		s.classes = append(s.classes, tx.Classes()[at])
		s.places[s.classes[i]] = i
	}
	return s
}

// A weightedNode has the weight of its vote.
type weightedNode struct {
	node   kv.NodeID
	weight float64
}

// insert puts a node among those with most weight. Of equal weights it prefers later nodes, which have fewer edges.
func insert(nodes []weightedNode, n weightedNode, most int) []weightedNode {
	at, _ := slices.BinarySearchFunc(nodes, n, func(a, b weightedNode) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(b.node, a.node))
	})
	if at < most {
		nodes = slices.Insert(nodes, at, n)
	}
	return nodes[:min(len(nodes), most)]
}

// ego reads a node with its neighbours and some of theirs.
func (s *surveyor) ego(ctx context.Context, v kv.NodeID) (*picture.Ego, error) {
	e := &picture.Ego{ID: "ego", Votes: map[int]int{}}
	for _, name := range s.classes {
		e.Classes = append(e.Classes, print.EscapeControls(name))
	}
	labels, err := s.tx.Reader(kv.LabelColumn)
	if err != nil {
		return nil, err
	}
	var near []weightedNode
	for u, err := range s.around(ctx, v) {
		if err != nil {
			return nil, err
		}
		label, err := labels.At(u.node)
		if err != nil {
			return nil, err
		}
		e.Votes[s.class(label)]++
		near = insert(near, u, picture.MostNeighbors)
	}
	e.Neighbors = len(near)
	nodes, places := []weightedNode{{node: v}}, map[kv.NodeID]int{v: 0}
	for _, u := range near {
		places[u.node] = len(nodes)
		e.Edges = append(e.Edges, [2]int{0, len(nodes)})
		nodes = append(nodes, u)
	}
	for i, u := range near {
		count, room := 0, (picture.Most-1-len(near))/len(near)
		for w, err := range s.around(ctx, u.node) {
			if err != nil {
				return nil, err
			}
			if count++; count > followedEdges {
				break
			}
			at, known := places[w.node]
			if !known && room > 0 {
				room--
				at, known = len(nodes), true
				places[w.node], nodes = at, append(nodes, weightedNode{node: w.node})
			}
			if known && at > i+1 { // an edge between two neighbours is found from both
				e.Edges = append(e.Edges, [2]int{i + 1, at})
			}
		}
	}
	predicted, err := cleaner.Predicted(s.tx)
	if err != nil {
		return nil, err
	}
	for _, u := range nodes {
		node, err := s.node(u, predicted)
		if err != nil {
			return nil, err
		}
		e.Nodes = append(e.Nodes, node)
	}
	suggestion, err := s.value(v, cleaner.SuggestedColumn)
	if err != nil {
		return nil, err
	}
	e.Title, e.Text = s.question(e.Nodes[0], s.class(suggestion)), s.evidence(e)
	return e, nil
}

// around yields the neighbours of a node.
func (s *surveyor) around(ctx context.Context, v kv.NodeID) iter.Seq2[weightedNode, error] {
	return func(yield func(weightedNode, error) bool) {
		count := 0
		for a, err := range s.graph.Arcs(v) {
			if count++; err == nil && count%(1<<12) == 0 {
				err = ctx.Err()
			}
			if err != nil {
				yield(weightedNode{}, err)
				return
			}
			if weight := s.graph.Weight(a); weight != 0 && !yield(weightedNode{a.Neighbor, float64(weight)}, nil) {
				return
			}
		}
	}
}

func (s *surveyor) class(label kv.Value) int {
	if label.IsNull() {
		return picture.None
	}
	return s.places[label.String()]
}

// value is a property of a node, null where the store has no such property.
func (s *surveyor) value(v kv.NodeID, column string) (kv.Value, error) {
	value, err := s.tx.Value(v, column)
	if errors.Is(err, kv.ErrNoColumn) {
		return kv.Value{}, nil
	}
	return value, err
}

// title is the title of a node, or its id where it has none, as a person reads it: without characters that would act on
// the screen.
func (s *surveyor) title(v kv.NodeID) (string, error) {
	if s.columns.Title != "" {
		if title, err := s.tx.Value(v, s.columns.Title); err != nil || !title.IsNull() && title.String() != "" {
			return print.EscapeControls(title.String()), err
		}
	}
	id, err := s.tx.ID(v)
	return print.EscapeControls(id), err
}

// node reads a node, with its likeliest class by the classifier.
func (s *surveyor) node(
	f weightedNode, predicted func(kv.NodeID) (kv.Class, float64, error),
) (n picture.Node, err error) {
	read := func(column string) (value kv.Value) {
		if err == nil {
			value, err = s.value(f.node, column)
		}
		return value
	}
	n = picture.Node{Class: s.class(read(kv.LabelColumn)), Predicted: picture.None, Score: math.NaN(), Weight: f.weight}
	if score := read(cleaner.ScoreColumn); !score.IsNull() {
		n.Score = score.Float()
	}
	if decision, people := read(decide.Column), read(decide.DecidedByColumn); !decision.IsNull() {
		n.Decided = decision.String()
		if !people.IsNull() {
			n.Decided += " by " + people.String()
		}
		n.Decided = print.EscapeControls(n.Decided)
	}
	if err != nil {
		return n, err
	}
	class, chance, err := predicted(f.node)
	if class != kv.NoClass {
		n.Predicted, n.Confidence = s.places[s.tx.Classes()[class]], chance
	}
	if err == nil {
		n.ID, err = s.tx.ID(f.node)
	}
	if err == nil {
		n.Name, err = s.title(f.node)
	}
	return n, err
}

// name is the name of a class within a sentence.
func (s *surveyor) name(class int) string {
	if class == picture.None {
		return "unknown"
	}
	return picture.Within(print.EscapeControls(s.classes[class]), picture.ClassLength)
}

// question asks whether the label of a node is right, where another one is suggested and nobody has decided.
func (s *surveyor) question(n picture.Node, suggestion int) string {
	text := picture.Within(n.Name, picture.NodeLength) + " has no label."
	if n.Class != picture.None {
		text = fmt.Sprintf("%s has the label %s.", picture.Within(n.Name, picture.NodeLength), s.name(n.Class))
	}
	switch {
	case n.Decided != "":
		text += " Decided: " + picture.Within(n.Decided, picture.NodeLength) + "."
	case suggestion != picture.None && suggestion != n.Class:
		text += " Is it " + s.name(suggestion) + "?"
	}
	return text
}

// evidence says in a sentence what the neighbours and the classifier say of a node.
func (s *surveyor) evidence(e *picture.Ego) string {
	n, best, neighbors := e.Nodes[0], picture.None, e.Votes[picture.None]
	for class := range s.classes {
		neighbors += e.Votes[class]
		count := e.Votes[class]
		if count > max(0, e.Votes[best]) || count > 0 && count == e.Votes[best] && class == n.Predicted {
			best = class
		}
	}
	text := "It has no neighbours"
	switch {
	case best != picture.None:
		all := wording.Count(int64(neighbors), "neighbour", "neighbours")
		text = fmt.Sprintf("%d of %s: %s", e.Votes[best], all, s.name(best))
	case neighbors > 0:
		text = "No neighbour has a label"
	}
	if n.Predicted == picture.None {
		return text + "."
	}
	return text + fmt.Sprintf("; the classifier says %s, %.1f%% sure.", s.name(n.Predicted), 100*n.Confidence)
}
