package index

import (
	"fmt"
	"strings"
)

// String prints the plan as an indented tree, the last step first: order and limit, the condition looked up in
// rows, and at the bottom where the nodes come from. After Rows or Count a last line says what was touched.
//
//	at most 10 rows
//	  in order of score desc, as the index has it
//	    where (null decision)
//	      index on score: (gt score 0.97), descending
//	touched 16 index entries, 16 rows, 0 blocks, 0 skipped
func (p *Plan) String() string {
	out := &printer{}
	if p.limit < 0 {
		out.line("all rows")
	} else {
		out.line("at most %s", countOf(p.limit, "row"))
	}
	p.describe(out)
	if p.gaveWay != nil {
		out.depth = 1
		out.line("given up unfinished, for")
		p.gaveWay.describe(out)
	}
	if p.reads != (Reads{}) {
		out.depth = 0
		t := p.reads
		out.line("touched %d index entries, %d rows, %d blocks, %d skipped",
			t.IndexEntries, t.Rows, t.Blocks, t.SkippedBlocks)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// A printer writes lines, each step one level deeper.
type printer struct {
	strings.Builder
	depth int
}

func (out *printer) line(format string, args ...any) {
	out.WriteString(strings.Repeat("  ", out.depth))
	fmt.Fprintf(out, format, args...)
	out.WriteByte('\n')
}

func (p *Plan) describe(out *printer) {
	out.depth++
	if p.way == byNothing {
		out.line("nothing: the condition is never true")
		return
	}
	switch {
	case p.way == byOrderedIndex:
		out.line("in order of %s, as the index has it", orderText(p.order))
		out.depth++
	case p.way != byFileOrder && len(p.order) > 0:
		out.line("sorted by %s", orderText(p.order))
		out.depth++
	}
	if !isAlways(p.residual) {
		out.line("where %v", p.residual)
		out.depth++
	}
	switch p.way {
	case byIDs:
		out.line("lookup of %s", countOf(len(p.ids), "id"))
	case byRange:
		out.line("%s", p.index)
	case byOrderedIndex:
		direction := ", ascending"
		if p.order[0].Descending {
			direction = ", descending"
		}
		out.line("%s%s", p.index, direction)
		if p.tail != nil {
			out.line("then nodes without %s", p.order[0].Property)
			p.tail.describe(out)
		}
	case byScan:
		out.line("all nodes, in blocks that may match")
	case byFileOrder:
		out.line("all nodes, in file order")
	}
}

func orderText(order []Order) string {
	var names []string
	for _, o := range order {
		if o.Descending {
			names = append(names, o.Property+" desc")
		} else {
			names = append(names, o.Property)
		}
	}
	return strings.Join(names, ", ")
}

func (s *rangeScan) String() string {
	what := "all values"
	if !isAlways(s.terms) {
		what = s.terms.String()
	}
	return fmt.Sprintf("index on %s: %s", s.postings.column, what)
}

// countOf prints a number of things.
func countOf(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
