package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/picture"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// Beyond the neighbours of a suspect, a picture looks at few of their edges: it takes little time and memory beside any hub.
const (
	followedNeighbors = 36
	followedEdges     = 256 // of one neighbour
)

// A surveyor reads what pictures of suspects show, in one snapshot.
type surveyor struct {
	tx      *kv.Tx
	graph   *kv.Oriented // along the direction of the last run
	classes []string     // in the order of answers, so that a class has one colour on a page
	places  map[string]int
}

func newSurveyor(tx *kv.Tx, direction kv.Direction) *surveyor {
	s := &surveyor{tx: tx, graph: tx.Along(direction), places: map[string]int{}}
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

// picture reads a suspect with its neighbours and, where these are few, theirs.
func (s *surveyor) picture(ctx context.Context, id string, v kv.NodeID) (*picture.Ego, error) {
	e := &picture.Ego{ID: id, Classes: s.classes, Votes: map[int]int{}}
	labels, err := s.tx.Reader(kv.LabelColumn)
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
		node, err := s.node(u)
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
	n := e.Nodes[0]
	e.Title = fmt.Sprintf("%s has the label %s. Is it %s?", picture.Within(n.Name, picture.NodeLength), s.name(n.Class), s.name(n.Predicted))
	e.Text = s.evidence(e)
	return e, nil
}

// around yields the neighbours of a node.
func (s *surveyor) around(ctx context.Context, v kv.NodeID) iter.Seq2[weightedNode, error] {
	return func(yield func(weightedNode, error) bool) {
		count := 0
		for a, err := range s.tx.Arcs(v) {
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

// node reads a node. Its name is its title, if the store has one, or its id.
func (s *surveyor) node(f weightedNode) (n picture.Node, err error) {
	read := func(column string) (value kv.Value) {
		if err == nil {
			value, err = s.tx.Value(f.node, column)
		}
		if errors.Is(err, kv.ErrNoColumn) {
			err = nil
		}
		return value
	}
	number := func(column string) float64 {
		if value := read(column); !value.IsNull() {
			return value.Float()
		}
		return math.NaN()
	}
	n = picture.Node{
		Name: read("title").String(), Class: s.class(read(kv.LabelColumn)), Predicted: s.class(read(cleaner.SuggestedColumn)),
		Confidence: number(cleaner.ConfidenceColumn), Score: number(cleaner.ScoreColumn), Weight: f.weight,
	}
	if n.Name == "" && err == nil {
		n.Name, err = s.tx.ID(f.node)
	}
	return n, err
}

// name is the name of a class within a sentence.
func (s *surveyor) name(class int) string {
	if class == picture.None {
		return "unknown"
	}
	return picture.Within(s.classes[class], picture.ClassLength)
}

// evidence says in a sentence what the neighbours and the classifier say of a suspect.
func (s *surveyor) evidence(e *picture.Ego) string {
	n, best, neighbors := e.Nodes[0], picture.None, e.Votes[picture.None]
	for class := range s.classes {
		neighbors += e.Votes[class]
		if count := e.Votes[class]; count > 0 && (best == picture.None || count > e.Votes[best] || count == e.Votes[best] && class == n.Predicted) {
			best = class
		}
	}
	text := "It has no neighbours"
	switch {
	case best == picture.None && neighbors > 0:
		text = "No neighbour has a label"
	case neighbors == 1:
		text = "Its only neighbour is " + s.name(best)
	case best != picture.None:
		text = fmt.Sprintf("%d of %d neighbours are %s", e.Votes[best], neighbors, s.name(best))
	}
	says := "so says the classifier"
	if n.Predicted != best {
		says = "the classifier says " + s.name(n.Predicted)
	}
	return fmt.Sprintf("%s; %s, %.1f%% sure.", text, says, 100*n.Confidence)
}
