// Package demograph makes up graphs of papers that cite each other, some of them filed under a wrong field.
package demograph

import (
	"bufio"
	"context"
	"encoding/csv"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/graphcleaner/graphcleaner/internal/elementary"
	"github.com/graphcleaner/graphcleaner/shell/internal/atomic"
	"github.com/graphcleaner/graphcleaner/shell/stream"
)

// A Graph is a citation-like graph made up for the demo: papers of one field mostly cite papers of their field and
// use its words, a few are cited by many, some by none, and some are filed under the wrong field.
type Graph struct {
	Field []int // the true one of Fields of each paper [n]
	Label []int // the one in the nodes file [n]
	year  []int // [n]
	edges [][2]int
	words [][]int // the words of each paper, ascending [n]
}

// The sizes of a Graph.
const (
	citations   = 3  // a paper
	isolated    = 75 // of as many papers one is without citations
	vocabulary  = 300
	fieldWords  = 40   // words that a field uses more than others
	paperWords  = 14   // draws of words of a paper
	homophily   = 0.84 // chance that a citation stays in its field
	topical     = 0.45 // chance that a word is one of the field's
	mislabelled = 0.09 // share of papers filed under a wrong field
)

// Fields are the fields of papers, which are the labels.
var Fields = []string{"Computer Vision", "Databases", "Information Retrieval", "Machine Learning", "Networking",
	"Security", "Theory"}

// New draws a graph of n papers; the same seed gives the same one.
func New(n int, seed uint64) *Graph {
	r := rand.New(rand.NewPCG(seed, 0))
	g := &Graph{}
	c := len(Fields)
	members := make([][]int, c) // papers by field
	weight := make([]float64, n)
	for v := range n {
		f := min(r.IntN(c), r.IntN(c+2)) // fields differ in size
		g.Field = append(g.Field, f)
		g.year = append(g.year, 1995+r.IntN(30))
		members[f] = append(members[f], v)
		weight[v] = elementary.Exp(-0.6 * elementary.Log(1-float64(r.Float64()))) // a heavy tail makes hubs
		if v%isolated == 0 {
			weight[v] = 0
		}
	}
	everyone := make([]int, n)
	for v := range everyone {
		everyone[v] = v
	}
	anyone := newDraw(everyone, weight)
	inField := make([]func(*rand.Rand) int, c)
	for f := range members {
		inField[f] = newDraw(members[f], weight)
	}
	seen := make(map[[2]int]bool)
	for len(g.edges) < citations*n {
		u, v := anyone(r), anyone(r)
		if r.Float64() < homophily {
			v = inField[g.Field[u]](r)
		}
		edge := [2]int{min(u, v), max(u, v)}
		if u != v && !seen[edge] {
			seen[edge] = true
			g.edges = append(g.edges, edge)
		}
	}
	for v := range n {
		var words []int
		for range paperWords {
			word := r.IntN(vocabulary)
			if r.Float64() < topical {
				word = (g.Field[v]*fieldWords + r.IntN(fieldWords)) % vocabulary
			}
			words = append(words, word)
		}
		slices.Sort(words)
		g.words = append(g.words, slices.Compact(words))
	}
	g.Label = slices.Clone(g.Field)
	for _, v := range r.Perm(n)[:int(mislabelled*float64(n))] {
		g.Label[v] = misfile(r, g.Field[v], c)
	}
	return g
}

// misfile draws a wrong field: most often the one that is taken for the true one, sometimes any other.
func misfile(r *rand.Rand, field, fields int) int {
	if r.Float64() < 0.6 {
		return (field + 1) % fields
	}
	return (field + 1 + r.IntN(fields-1)) % fields
}

// newDraw picks items by weight.
func newDraw(items []int, weight []float64) func(r *rand.Rand) int {
	sums, sum := make([]float64, len(items)), 0.0
	for i, item := range items {
		sum += weight[item]
		sums[i] = sum
	}
	return func(r *rand.Rand) int {
		i, found := slices.BinarySearch(sums, r.Float64()*sum)
		if found {
			i++ // an item of weight 0 has the sum of the one before
		}
		return items[i]
	}
}

// Mislabels are the papers that are filed under a wrong field.
func (g *Graph) Mislabels() map[string]bool {
	mislabels := make(map[string]bool)
	for v := range g.Field {
		if g.Field[v] != g.Label[v] {
			mislabels[g.ID(v)] = true
		}
	}
	return mislabels
}

// ID is the external id of a paper.
func (*Graph) ID(v int) string { return "p" + strconv.Itoa(v) }

// Write writes nodes.csv, edges.csv, features.csv and, for judging the result, truth.csv.
func (g *Graph) Write(dir string) error {
	header := []string{"id"}
	for word := range vocabulary {
		header = append(header, "word"+strconv.Itoa(word))
	}
	nodes, truth, features := [][]string{{"id", "label", "year"}}, [][]string{{"id", "label"}}, [][]string{header}
	for v := range g.Label {
		id := g.ID(v)
		nodes = append(nodes, []string{id, Fields[g.Label[v]], strconv.Itoa(g.year[v])})
		truth = append(truth, []string{id, Fields[g.Field[v]]})
		row := slices.Repeat([]string{"0"}, vocabulary+1)
		row[0] = id
		for _, word := range g.words[v] {
			row[1+word] = "1"
		}
		features = append(features, row)
	}
	edges := [][]string{{"src", "dst"}}
	for _, e := range g.edges {
		edges = append(edges, []string{g.ID(e[0]), g.ID(e[1])})
	}
	for name, rows := range map[string][][]string{
		"nodes.csv": nodes, "truth.csv": truth, "features.csv": features, "edges.csv": edges,
	} {
		err := atomic.WriteFile(context.Background(), stream.Below(dir, name), 0o666, func(out *bufio.Writer) error {
			return csv.NewWriter(out).WriteAll(rows)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
