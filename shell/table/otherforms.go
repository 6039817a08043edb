package table

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	tableOf     = ", want a table of edges"
	takesGraph  = "graphcleaner.from_networkx of the Python package takes its graph"
	viaNetworkX = tableOf + ": networkx reads it, and " + takesGraph
)

// graphForms are beginnings of texts that have a graph in another form than a table, behind comments, and what is said
// of them. A command makes a table of edges of the file.
var graphForms = []struct {
	begin        *regexp.Regexp
	msg, command string
}{
	{regexp.MustCompile(`^(strict\s+)?(di)?graph\s*("[^"]*"|\w*)\s*[{\[]`), "a graph in DOT or GML" + viaNetworkX, ""},
	{regexp.MustCompile(`^((Creator|Version|Comment)\s[^\n]*\n\s*)+graph\s*\[`), "a graph in GML" + viaNetworkX, ""},
	{regexp.MustCompile(`(?i)^\*(vertices|network|arcs|edges)\b`), "a graph in the form of Pajek" + viaNetworkX, ""},
	{regexp.MustCompile(`^>>(graph6|digraph6|sparse6)<<`), "a graph in graph6 or sparse6" + viaNetworkX, ""},
	{regexp.MustCompile(`^(c\b[^\n]*\n\s*)*p\s+\w+\s+\d+\s+\d+\s`), "a graph in the form of DIMACS" + tableOf,
		`awk 'BEGIN {print "src", "dst"} /^[ea] / {print $2, $3}'`},
	{regexp.MustCompile(`^(<[^<>\s]*>|_:\S+)\s+<[^<>\s]*>\s+(<|"|_:)|^@prefix\s`),
		"a graph in RDF" + tableOf + ": rdflib reads it", ""},
	{regexp.MustCompile(`^//`),
		"a comment that begins with //, want comments that begin with # or %", `sed 's|^//|#|'`},
}

// graphJSON is in graphs that are written as JSON.
var graphJSON = regexp.MustCompile(`"(links|edges|nodes|adjacency)"\s*:\s*\[`)

// graphForm says in which form, other than a table, a text has a graph, and what to do; empty if it may be a table.
func (r *Reader) graphForm(begin []byte) string {
	const space = " \t\r\n"
	text, comment := bytes.TrimLeft(begin, space), commentOf(begin)
	for len(text) > 0 && text[0] == comment {
		text = bytes.TrimLeft(text[lineEnd(text):], space)
	}
	for _, form := range graphForms {
		if !form.begin.Match(text) {
			continue
		}
		if form.command != "" {
			return "got " + form.msg + ": " + converting(r.path, form.command)
		}
		return "got " + form.msg
	}
	if len(begin) >= sniffBytes {
		return "" // METIS is recognized by the whole file alone
	}
	if first, step, ok := metis(text, comment); ok {
		names, values := `"src", "dst"`, "n - 1, $i"
		if step > 1 {
			names, values = names+`, "weight"`, values+", $(i + 1)"
		}
		return "got a graph in the form of METIS" + tableOf + ": " + converting(r.path, fmt.Sprintf(
			`awk 'BEGIN {print %s} !/^%%/ && n++ {for (i = %d; i <= NF; i += %d) if ($i >= n - 1) print %s}'`,
			names, first+1, step, values))
	}
	return ""
}

// metis reports whether a text begins with the numbers of nodes and edges, and perhaps a format and how many weights a
// node has, and has a line for each node with its neighbours, which are numbers from 1. No table of edges is that: it
// has as many numbers in each line. The neighbours are at each step from the first on; weights are between them.
func metis(text []byte, comment byte) (first, step int, ok bool) {
	var counts []int
	nodes, ends, fewest, most := -1, 0, math.MaxInt, 0
	for line := range strings.Lines(string(text)) {
		if line[0] == comment {
			continue
		}
		var numbers []int
		for _, field := range strings.Fields(line) {
			number, err := strconv.Atoi(field)
			if err != nil || number < 0 {
				return 0, 0, false
			}
			numbers = append(numbers, number)
		}
		if nodes++; nodes == 0 {
			counts = slices.Concat(numbers, []int{0, 0})
			if len(counts) < 4 || len(counts) > 6 || max(counts[2], counts[3]) > 111 {
				return 0, 0, false
			}
			if len(numbers) == 3 {
				counts[3] = counts[2] / 10 % 10
			}
			first, step = counts[2]/100+counts[3], 1+counts[2]%10
			continue
		}
		fewest, most = min(fewest, len(numbers)), max(most, len(numbers))
		for i := first; i < len(numbers); i += step {
			if ends++; numbers[i] < 1 || numbers[i] > counts[0] {
				return 0, 0, false
			}
		}
	}
	return first, step, nodes > 0 && nodes == counts[0] && ends == 2*counts[1] && fewest < most
}
