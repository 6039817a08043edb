package table

import (
	"bytes"
	"regexp"
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
	if len(begin) < sniffBytes && isMETIS(text, comment) {
		return "got a graph in the form of METIS" + tableOf + ": " +
			converting(r.path, `awk 'BEGIN {print "src", "dst"} !/^%/ && n++ {for (i = 1; i <= NF; i++) print n - 1, $i}'`)
	}
	return ""
}

// isMETIS reports whether a text begins with the numbers of nodes and edges, and has a line for each node with its
// neighbours, which are numbers from 1. No table of edges is that: it has as many numbers in each line.
func isMETIS(text []byte, comment byte) bool {
	var counts []int
	nodes, ends, isEven, first := 0, 0, true, -1
	for line := range strings.Lines(string(text)) {
		if line[0] == comment {
			continue
		}
		fields := strings.Fields(line)
		for _, field := range fields {
			number, err := strconv.Atoi(field)
			if err != nil || nodes > 0 && (number < 1 || number > counts[0]) {
				return false
			}
			if nodes == 0 {
				counts = append(counts, number)
			}
		}
		if nodes++; nodes == 1 {
			if len(counts) < 2 {
				return false
			}
			continue
		}
		if first < 0 {
			first = len(fields)
		}
		ends, isEven = ends+len(fields), isEven && len(fields) == first
	}
	return len(counts) == 2 && nodes-1 == counts[0] && ends == 2*counts[1] && !isEven
}
