// Command examples makes the data of the example in the folder papers. Equal numbers make equal bytes.
//
//	go run ./docs/examples
//
// The graph grows node by node. A new node draws its links within its class, or anywhere, with a chance that grows with
// the links that a node has: so a few nodes have many. Then some labels are made wrong, in the way that the folder's
// README tells. planted.csv lists them.
package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	for name, rows := range files() {
		if err := write(filepath.Join("docs", "examples", "papers", name), rows); err != nil {
			log.Fatal(err)
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

const (
	papers    = 700
	mostLinks = 7  // a paper draws 2 to so many
	within    = 86 // percent of links that stay in the class
)

// fields are the classes, with what titles begin and end with.
var fields = []struct{ name, first, last string }{
	{"Machine Learning", "Sparse|Deep|Bayesian|Contrastive|Federated",
		"Representation Learning|Kernels|Attention|Policy Gradients|Calibration"},
	{"Databases", "Adaptive|Columnar|Log-Structured|Approximate|Vectorized", "Joins|Indexes|Transactions|Query " +
		"Plans|Materialized Views"},
	{"Networks", "Low-Latency|Software-Defined|Multipath|Lossless|Programmable",
		"Routing|Congestion Control|Switches|Overlays|Datacenter Fabrics"},
	{"Security", "Practical|Post-Quantum|Verified|Speculative|Anonymous", "Signatures|Side Channels|Key " +
		"Exchange|Sandboxing|Intrusion Detection"},
	{"Graphics", "Real-Time|Neural|Progressive|Differentiable|Procedural", "Path Tracing|Shading|Mesh " +
		"Simplification|Point Clouds|Cloth Simulation"},
}

// pick draws one of the words of a list.
func pick(r *rand.Rand, list string) string {
	words := strings.Split(list, "|")
	return words[r.IntN(len(words))]
}

// files are the files of the example, each as its rows.
func files() map[string][][]string {
	r := rand.New(rand.NewPCG(12, 0))
	nodes, edges, planted := [][]string{{"paper", "title", "venue", "field"}}, [][]string{{"citing", "cited"}},
		[][]string{{"paper", "true_field"}}
	var ids []string
	var classOf []int
	everyone, members := []int{}, make([][]int, len(fields)) // a node once for itself, and once for each of its links
	used, linked := map[string]bool{}, map[[2]int]bool{}
	newID := func(v int) string { return fmt.Sprintf("10.5555/%d.%04d", 1996+v*28/papers, r.IntN(10000)) }
	for v := range papers {
		class := min(r.IntN(len(fields)), r.IntN(len(fields)+2)) // classes differ in size
		title := pick(r, fields[class].first) + " " + pick(r, fields[class].last)
		id := newID(v)
		for used[id] {
			id = newID(v)
		}
		used[id] = true
		ids, classOf = append(ids, id), append(classOf, class)
		venue, label := pick(r, "Trans. on Systems|Annals of Computing|J. of Methods|Applied Letters"), class
		// The first papers are well known. Of the others, a form with a default makes some wrong.
		if v >= papers/20 && venue == "Applied Letters" && r.IntN(100) < 40 {
			label = 0
		}
		nodes = append(nodes, []string{id, title, venue, fields[label].name})
		if label != class {
			planted = append(planted, []string{id, fields[class].name})
		}
		for range 2 + r.IntN(mostLinks-1) {
			from := everyone
			if r.IntN(100) < within {
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
			edges = append(edges, []string{id, ids[u]})
			everyone = append(everyone, u)
			members[classOf[u]] = append(members[classOf[u]], u)
		}
		everyone, members[class] = append(everyone, v), append(members[class], v)
	}
	return map[string][][]string{"papers.csv": nodes, "citations.csv": edges, "planted.csv": planted}
}
