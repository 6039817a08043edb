// Command examples makes the data of the examples in the folders beside it: products, papers and accounts. Equal numbers make equal bytes.
//
//	go run ./docs/examples
//
// Each graph grows node by node. A new node draws its links within its class, or anywhere, with a chance that grows with the links that a node
// has: so a few nodes have many. Then some labels are made wrong, in the way that each folder's README tells. planted.csv lists them.
package main

import (
	"encoding/csv"
	"errors"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
)

func main() {
	for _, g := range graphs {
		for name, rows := range g.files() {
			if err := write(filepath.Join("docs", "examples", g.folder, name), rows); err != nil {
				log.Fatal(err)
			}
		}
	}
}

func write(path string, rows [][]string) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return csv.NewWriter(f).WriteAll(rows)
}

// A graph says how the data of an example is made.
type graph struct {
	folder         string
	seed           uint64
	nodes, edges   string   // files
	nodeColumns    []string // id, what a person reads, more of it, and the label
	edgeColumns    []string
	classes        []string
	words          [][2]string // of each class: what names begin and end with, separated by |
	links          int         // a node draws 2 to so many
	within         int         // percent of links that stay in the class
	id             func(r *rand.Rand, class, v int, name string) string
	more           func(r *rand.Rand) string
	wrong          func(r *rand.Rand, class int, more string) (label int)
	areLinksOneWay bool // from the new node to older ones
}

const nodesOfGraph = 700

// files are the files of the example, each as its rows.
func (g *graph) files() map[string][][]string {
	r := rand.New(rand.NewPCG(g.seed, 0))
	nodes, edges, planted := [][]string{g.nodeColumns}, [][]string{g.edgeColumns}, [][]string{{g.nodeColumns[0], "true_" + g.nodeColumns[3]}}
	var ids []string
	var classOf []int
	everyone, members := []int{}, make([][]int, len(g.classes)) // a node once for itself, and once for each of its links
	used, linked := map[string]bool{}, map[[2]int]bool{}
	for v := range nodesOfGraph {
		class := min(r.IntN(len(g.classes)), r.IntN(len(g.classes)+2)) // classes differ in size
		name := pick(r, g.words[class][0]) + " " + pick(r, g.words[class][1])
		id := g.id(r, class, v, name)
		for used[id] {
			id = g.id(r, class, v, name)
		}
		used[id] = true
		ids, classOf = append(ids, id), append(classOf, class)
		more, label := g.more(r), class
		if v >= nodesOfGraph/20 { // the first ones are well known
			label = g.wrong(r, class, more)
		}
		nodes = append(nodes, []string{id, name, more, g.classes[label]})
		if label != class {
			planted = append(planted, []string{id, g.classes[class]})
		}
		for range 2 + r.IntN(g.links-1) {
			from := everyone
			if r.IntN(100) < g.within {
				from = members[class]
			}
			if len(from) == 0 {
				continue
			}
			u := from[r.IntN(len(from))]
			if linked[[2]int{u, v}] {
				continue
			}
			linked[[2]int{u, v}] = true
			ends := []string{id, ids[u]}
			if !g.areLinksOneWay && r.IntN(2) == 0 {
				ends[0], ends[1] = ends[1], ends[0]
			}
			edges = append(edges, ends)
			everyone = append(everyone, u)
			members[classOf[u]] = append(members[classOf[u]], u)
		}
		everyone, members[class] = append(everyone, v), append(members[class], v)
	}
	return map[string][][]string{g.nodes: nodes, g.edges: edges, "planted.csv": planted}
}
