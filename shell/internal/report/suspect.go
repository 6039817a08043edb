package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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

// A found node has the weight of its vote.
type found struct {
	node   kv.NodeID
	weight float64
}

// add puts a node among those with most weight. Of equal weights it prefers later nodes, which have fewer edges.
func add(nodes []found, f found, most int) []found {
	at, _ := slices.BinarySearchFunc(nodes, f, func(a, b found) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(b.node, a.node))
	})
	if at < most {
		nodes = slices.Insert(nodes, at, f)
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
	var near, far []found
	seen := 0
	for a, err := range s.tx.Arcs(v) {
		if err != nil {
			return nil, err
		}
		if seen++; seen%(1<<12) == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		weight := float64(s.graph.Weight(a))
		if weight == 0 {
			continue
		}
		label, err := labels.At(a.Neighbor)
		if err != nil {
			return nil, err
		}
		e.Votes[s.class(label)]++
		near = add(near, found{a.Neighbor, weight}, picture.Most-1)
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
		seen := 0
		for a, err := range s.tx.Arcs(u.node) {
			if err != nil {
				return nil, err
			}
			weight := float64(s.graph.Weight(a))
			if a.Neighbor == v || weight == 0 {
				continue
			}
			if seen++; seen > followedEdges {
				break
			}
			beyond[a.Neighbor] += u.weight * weight / float64(degree)
			edges = append(edges, [2]kv.NodeID{u.node, a.Neighbor})
		}
	}
	for _, u := range near {
		delete(beyond, u.node)
	}
	for u, weight := range beyond {
		far = add(far, found{u, weight}, picture.Most-1-len(near))
	}
	places := map[kv.NodeID]int{}
	for i, f := range slices.Concat([]found{{node: v}}, near, far) {
		places[f.node] = i
		node, err := s.node(f)
		if err != nil {
			return nil, err
		}
		e.Nodes = append(e.Nodes, node)
	}
	for _, edge := range edges {
		a, b := places[edge[0]], places[edge[1]]
		if _, drawn := places[edge[1]]; drawn && (a < b || !slices.Contains(e.Edges, [2]int{b, a})) {
			e.Edges = append(e.Edges, [2]int{a, b})
		}
	}
	n := e.Nodes[0]
	e.Title = fmt.Sprintf("%s has the label %s. Is it %s?", picture.Isolated(n.Name), s.name(n.Class), s.name(n.Predicted))
	e.Text = s.evidence(e)
	return e, nil
}

func (s *surveyor) class(label kv.Value) int {
	if label.IsNull() {
		return picture.None
	}
	return s.places[label.String()]
}

// node reads a node. It has a title if the store has such a property.
func (s *surveyor) node(f found) (picture.Node, error) {
	n := picture.Node{Weight: f.weight}
	var errs []error
	read := func(column string) kv.Value {
		value, err := s.tx.Value(f.node, column)
		if err != nil && !errors.Is(err, kv.ErrNoColumn) {
			errs = append(errs, err)
		}
		return value
	}
	number := func(column string) float64 {
		if value := read(column); !value.IsNull() {
			return value.Float()
		}
		return math.NaN()
	}
	n.Class, n.Predicted = s.class(read(kv.LabelColumn)), s.class(read(cleaner.SuggestedColumn))
	n.Confidence, n.Score = number(cleaner.ConfidenceColumn), number(cleaner.ScoreColumn)
	if n.Name = read("title").String(); n.Name == "" {
		id, err := s.tx.ID(f.node)
		n.Name, errs = id, append(errs, err)
	}
	return n, errors.Join(errs...)
}

// name is the name of a class within a sentence.
func (s *surveyor) name(class int) string {
	if class == picture.None {
		return "unknown"
	}
	return picture.Isolated(s.classes[class])
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
