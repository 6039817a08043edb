package cleaner

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/classmatrix"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/method"
	"github.com/graphcleaner/graphcleaner/cleaner/paper"
	"github.com/graphcleaner/graphcleaner/internal/testing/kvtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// keepUntaught has a good classifier that has not learned a class: its training nodes move to the validation split, and
// it predicts the next class for all its nodes. Half of these have no neighbours.
func (p *problem) keepUntaught(class kv.Class, truth []kv.Class) {
	values := p.predictions.(rowsSource).values
	for v, y := range p.labels {
		if v%20 > 0 {
			clear(values[v*p.classes:][:p.classes])
			values[v*p.classes+int(truth[v])] = 1
		}
		if y == class && p.splits[v] == SplitTrain {
			p.splits[v] = SplitValidation
		}
		row := values[v*p.classes:][:p.classes]
		if row[class] > 0 {
			row[(int(class)+1)%p.classes] += row[class]
			row[class] = 0
		}
	}
	graph := p.graph.(kvtest.MemoryGraph)
	for v := range graph {
		alone := func(u kv.NodeID) bool { return truth[u] == class && u%2 == 0 }
		if graph[v] = slices.DeleteFunc(graph[v], alone); alone(kv.NodeID(v)) {
			graph[v] = nil
		}
	}
}

// TestUntaughtClass: where the classifier has not learned a class, the nodes around say whether a label of it is right.
func TestUntaughtClass(t *testing.T) {
	p, truth := communities(5, 2400, 40)
	const class = 2
	p.keepUntaught(class, truth)
	for _, by := range []method.Method{nil, paper.Published} {
		result := must.Get(p.score(context.Background(), Options{Hops: 2, Method: by}, nil))(t)
		right, accused := 0, 0
		for v, y := range p.labels {
			if y != class || truth[v] != class {
				continue
			}
			if right++; float64(result.scores.Data[v]) > result.threshold {
				accused++
			}
		}
		if right < 30 || 5*accused > right {
			t.Errorf("%T: got %d suspects of %d rightly labelled nodes of a class without training nodes", by, accused, right)
		}
		if joint := result.joint; joint != nil &&
			slices.ContainsFunc(joint.Cells, func(cell classmatrix.Cell) bool { return cell.Row == class }) {
			t.Errorf("the class takes part in the joint distribution")
		}
		if m := result.model; m != nil && !slices.Equal(m.Untaught, []kv.Class{class}) {
			t.Errorf("got untaught classes %v, want %d alone", m.Untaught, class)
		}
		must.Do(t, result.Close())
	}
}

// TestUntaughtNode: a training node that is the only one of its class has been predicted by a network that does not
// know it.
func TestUntaughtNode(t *testing.T) {
	p := problem{
		classes: 4, labels: []kv.Class{0, 0, 1, 2, 2, 3, kv.NoClass},
		splits: []Split{SplitTrain, SplitNone, SplitTrain, SplitTrain, SplitTest, SplitValidation, SplitTrain},
	}
	p.kept = p.keep()
	var got []int
	for v := range p.labels {
		if p.isUntaught(kv.NodeID(v)) {
			got = append(got, v)
		}
	}
	if want := []int{2, 3, 5}; !slices.Equal(got, want) {
		t.Errorf("got untaught nodes %v, want %v", got, want)
	}
	p.splits = slices.Repeat([]Split{SplitValidation}, len(p.labels))
	if p.kept = p.keep(); p.isUntaught(0) {
		t.Error("without any training node: got an untaught one, want none, since the classifier has learned elsewhere")
	}
}

// TestCleanCountsUntaughtNodes wants the notice of a cleaning.
func TestCleanCountsUntaughtNodes(t *testing.T) {
	p := newPlanted(8, 300)
	for i := range p.nodes {
		if p.nodes[i].Label == "beta" && p.nodes[i].Values[0].Str() == "train" {
			p.nodes[i].Values = []kv.Value{kv.ValueOf("val")}
		}
	}
	var notices []string
	mustClean(t, p.load(t, false), Options{Notice: func(text string) { notices = append(notices, text) }})
	if got := strings.Join(notices, "\n"); !strings.Contains(got, " nodes whose class no other training node has") {
		t.Errorf("got notices %q, want one of them", notices)
	}
}
