package table

import (
	"bytes"
	"regexp"
)

const (
	tableOf     = ", want a table of edges"
	takesGraph  = "graphcleaner.from_networkx of the Python package takes its graph"
	viaNetworkX = tableOf + ": networkx reads it, and " + takesGraph
)

// graphForms are beginnings of texts that have a graph in another form than a table, behind comments, and what is said
// of them.
var graphForms = []struct {
	begin *regexp.Regexp
	msg   string
}{
	{regexp.MustCompile(`^(strict\s+)?(di)?graph\s*("[^"]*"|\w*)\s*[{\[]`), "a graph in DOT or GML" + viaNetworkX},
	{regexp.MustCompile(`^((Creator|Version|Comment)\s[^\n]*\n\s*)+graph\s*\[`), "a graph in GML" + viaNetworkX},
	{regexp.MustCompile(`(?i)^\*(vertices|network|arcs|edges)\b`), "a graph in the form of Pajek" + viaNetworkX},
	{regexp.MustCompile(`^>>(graph6|digraph6|sparse6)<<`), "a graph in graph6 or sparse6" + viaNetworkX},
	{regexp.MustCompile(`^(c\b[^\n]*\n\s*)*p\s+\w+\s+\d+\s+\d+\s`), "a graph in the form of DIMACS" + tableOf},
	{regexp.MustCompile(`^(<[^<>\s]*>|_:\S+)\s+<[^<>\s]*>\s+(<|"|_:)|^@prefix\s`),
		"a graph in RDF" + tableOf + ": rdflib reads it"},
	{regexp.MustCompile(`^//`),
		"a comment that begins with //, want comments that begin with # or %"},
}

// graphJSON is in graphs that are written as JSON.
var graphJSON = regexp.MustCompile(`"(links|edges|nodes|adjacency)"\s*:\s*\[`)

// graphForm says in which form, other than a table, a text has a graph, and what to do; empty if it may be a table.
func graphForm(begin []byte) string {
	const space = " \t\r\n"
	text, comment := bytes.TrimLeft(begin, space), commentOf(begin)
	for len(text) > 0 && text[0] == comment {
		text = bytes.TrimLeft(text[lineEnd(text):], space)
	}
	for _, form := range graphForms {
		if form.begin.Match(text) {
			return "got " + form.msg
		}
	}
	return ""
}
