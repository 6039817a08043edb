// Package survey reads what a person sees of a node, in one snapshot: a picture of it with its neighbours, and the
// dossier that a card shows. It knows no page and no terminal.
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
	"github.com/graphcleaner/graphcleaner/shell/internal/figure"
	"github.com/graphcleaner/graphcleaner/shell/internal/picture"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// Beyond the neighbours of a node, a picture looks at few of their edges: it takes little time and memory beside any
// hub.
const (
	followedNeighbors = 36
	followedEdges     = 256 // of one neighbour
)

// Columns are names of properties. An empty name is none.
type Columns struct{ Title, Text, Link string }

// guesses are names of properties, the best first.
var guesses = struct{ title, text, link []string }{
	title: []string{"title", "name", "label_text", "headline", "subject"},
	text:  []string{"abstract", "text", "description", "summary", "body", "content"},
	link:  []string{"link", "url", "uri", "href", "doi"},
}

// triedBlocks is how many blocks of a property Guess reads in search of a text, so that an empty property of many nodes
// takes little time.
const triedBlocks = 16

// Guess finds the properties that have a title, a text and a link, by their names.
func Guess(tx *kv.Tx) Columns {
	columns := tx.Columns()
	first := func(names []string) string {
		for _, name := range names {
			for _, column := range columns {
				if column.Kind == kv.KindString && strings.EqualFold(column.Name, name) && hasText(tx, column.Name) {
					return column.Name
				}
			}
		}
		return ""
	}
	return Columns{Title: first(guesses.title), Text: first(guesses.text), Link: first(guesses.link)}
}

// hasText tells whether a property has a text in one of its first blocks. It says so of a property that cannot be read:
// who reads it next gets the error.
func hasText(tx *kv.Tx, column string) bool {
	values, err := tx.Reader(column)
	if err != nil {
		return true
	}
	for v, tried := kv.NodeID(0), 0; int(v) < tx.NumNodes() && tried < triedBlocks; tried++ {
		block, err := values.Block(v)
		if _, greatest := block.Bounds(); err != nil || !greatest.IsNull() && greatest.String() != "" {
			return true
		}
		v = block.Nodes.End
	}
	return false
}

// A Surveyor reads in one snapshot.
type Surveyor struct {
	tx      *kv.Tx
	graph   *kv.Oriented
	columns Columns
	classes []string // in the order of answers, so that a class has one colour everywhere
	places  map[string]int
}

// New returns a surveyor. The columns are those of the store that the caller wants read.
func New(tx *kv.Tx, columns Columns) *Surveyor {
	s := &Surveyor{tx: tx, graph: tx.Along(kv.Both), columns: columns, places: map[string]int{}}
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

// ClassPlace is the place of a class among the colours, picture.None for "".
func (s *Surveyor) ClassPlace(name string) int {
	if place, ok := s.places[name]; ok {
		return place
	}
	return picture.None
}

// Ego reads a node with its neighbours and, where these are few, theirs. The drawing gets the id.
func (s *Surveyor) Ego(ctx context.Context, id string, v kv.NodeID) (*picture.Ego, error) {
	e := &picture.Ego{ID: id, Votes: map[int]int{}}
	for _, name := range s.classes {
		e.Classes = append(e.Classes, print.EscapeControls(name))
	}
	labels, err := s.tx.Reader(kv.LabelColumn)
	if err != nil {
		return nil, err
	}
	predicted, err := cleaner.Predicted(s.tx)
	if err != nil {
		return nil, err
	}
	var near, far []weightedNode
	for u, err := range s.around(ctx, v) {
		if err != nil {
			return nil, err
		}
		label, err := labels.At(u.node)
		if err != nil {
			return nil, err
		}
		e.Votes[s.class(label)]++
		near = insert(near, u, picture.Most-1)
	}
	beyond, edges := map[kv.NodeID]float64{}, [][2]kv.NodeID{}
	for _, u := range near {
		edges = append(edges, [2]kv.NodeID{v, u.node})
		if len(near) > followedNeighbors {
			continue
		}
		degree, err := s.tx.Degree(u.node)
		if err != nil {
			return nil, err
		}
		count := 0
		for w, err := range s.around(ctx, u.node) {
			if err != nil {
				return nil, err
			}
			if count++; count > followedEdges {
				break
			}
			beyond[w.node] += u.weight * w.weight / float64(degree)
			edges = append(edges, [2]kv.NodeID{u.node, w.node})
		}
	}
	delete(beyond, v)
	for _, u := range near {
		delete(beyond, u.node)
	}
	for w, weight := range beyond {
		far = insert(far, weightedNode{w, weight}, picture.Most-1-len(near))
	}
	places := map[kv.NodeID]int{}
	for i, u := range slices.Concat([]weightedNode{{node: v}}, near, far) {
		places[u.node] = i
		node, err := s.node(u, predicted)
		if err != nil {
			return nil, err
		}
		e.Nodes = append(e.Nodes, node)
	}
	for _, edge := range edges { // one between two neighbours was found from both
		a, b := places[edge[0]], places[edge[1]]
		if _, ok := places[edge[1]]; ok && !slices.Contains(e.Edges, [2]int{b, a}) {
			e.Edges = append(e.Edges, [2]int{a, b})
		}
	}
	suggestion, err := s.value(v, cleaner.SuggestedColumn)
	if err != nil {
		return nil, err
	}
	e.Title, e.Text = s.question(e.Nodes[0], s.class(suggestion)), s.evidence(e)
	return e, nil
}

// around yields the neighbours of a node.
func (s *Surveyor) around(ctx context.Context, v kv.NodeID) iter.Seq2[weightedNode, error] {
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

func (s *Surveyor) class(label kv.Value) int {
	if label.IsNull() {
		return picture.None
	}
	return s.places[label.String()]
}

// value is a property of a node, null where the store has no such property.
func (s *Surveyor) value(v kv.NodeID, column string) (kv.Value, error) {
	value, err := s.tx.Value(v, column)
	if errors.Is(err, kv.ErrNoColumn) {
		return kv.Value{}, nil
	}
	return value, err
}

// Title is the title of a node, or its id where it has none, as a person reads it: without characters that would act on
// the screen.
func (s *Surveyor) Title(v kv.NodeID) (string, error) {
	if s.columns.Title != "" {
		if title, err := s.tx.Value(v, s.columns.Title); err != nil || !title.IsNull() && title.String() != "" {
			return print.EscapeControls(title.String()), err
		}
	}
	id, err := s.tx.ID(v)
	return print.EscapeControls(id), err
}

// node reads a node, with its likeliest class by the classifier.
func (s *Surveyor) node(f weightedNode, predicted func(kv.NodeID) (kv.Class, float64, error)) (n picture.Node, err error) {
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
		n.Name, err = s.Title(f.node)
	}
	return n, err
}

// name is the name of a class within a sentence.
func (s *Surveyor) name(class int) string {
	if class == picture.None {
		return "unknown"
	}
	return picture.Within(print.EscapeControls(s.classes[class]), picture.ClassLength)
}

// question asks whether the label of a node is right, where another one is likelier and nobody has decided.
func (s *Surveyor) question(n picture.Node, suggestion int) string {
	text := picture.Within(n.Name, picture.NodeLength) + " has no label."
	if n.Class != picture.None {
		text = fmt.Sprintf("%s has the label %s.", picture.Within(n.Name, picture.NodeLength), s.name(n.Class))
	}
	switch {
	case n.Decided != "":
		return text + " Decided: " + picture.Within(n.Decided, picture.NodeLength) + "."
	case suggestion == picture.None:
		return text
	case suggestion == n.Class:
		return text + " No other label is suggested."
	case n.Score < 0.5:
		return text + " The likeliest other label is " + s.name(suggestion) + "."
	}
	return text + " Is it " + s.name(suggestion) + "?"
}

// evidence says in a sentence what the neighbours and the classifier say of a node.
func (s *Surveyor) evidence(e *picture.Ego) string {
	n, best, neighbors := e.Nodes[0], picture.None, e.Votes[picture.None]
	for class := range s.classes {
		neighbors += e.Votes[class]
		if count := e.Votes[class]; count > 0 && (best == picture.None || count > e.Votes[best] || count == e.Votes[best] && class == n.Predicted) {
			best = class
		}
	}
	text, agrees := "It has no neighbours", "; the classifier agrees (%.1f%%)."
	switch {
	case best == picture.None && neighbors > 0:
		text = "No neighbour has a label"
	case neighbors == 1:
		text = "Its only neighbour is " + s.name(best)
	case best != picture.None && e.Votes[best] == neighbors:
		text, agrees = fmt.Sprintf("All %d neighbours are %s", neighbors, s.name(best)),
			", and the classifier agrees (%.1f%%)."
	case best != picture.None:
		text = fmt.Sprintf("%d of %d neighbours are %s", e.Votes[best], neighbors, s.name(best))
	}
	switch n.Predicted {
	case picture.None:
		return text + "."
	case best:
		return text + fmt.Sprintf(agrees, 100*n.Confidence)
	}
	return text + fmt.Sprintf("; the classifier says %s, %.1f%% sure.", s.name(n.Predicted), 100*n.Confidence)
}

// Words say who says what about a label, such as "ann says Theory". They are those of decide.Words.
func Words(words []decide.Decision) (parts []string) {
	for _, d := range words {
		says := "says " + cmp.Or(d.To, "no label")
		if d.Kind == decide.Unsure {
			says = "is unsure"
		}
		parts = append(parts, print.EscapeControls(cmp.Or(d.Who, "somebody")+" "+says))
	}
	return parts
}

// Scores counts the scores of the store, a block of them in memory at a time.
func Scores(ctx context.Context, tx *kv.Tx) (*figure.Histogram, error) {
	scores, err := tx.Reader(cleaner.ScoreColumn)
	if err != nil {
		return nil, err
	}
	h := new(figure.Histogram)
	for v := range kv.NodeID(tx.NumNodes()) {
		if v%(1<<14) == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		score, err := scores.At(v)
		if err != nil {
			return nil, err
		}
		if !score.IsNull() { // else it is unlabelled
			h.Add(score.Float(), 1)
		}
	}
	return h, nil
}
