package print

import (
	"bytes"
	"strings"

	"github.com/rivo/uniseg"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// measuredRows is how many rows a table is made to fit. Later rows that are wider push their own line
// out, so that a table of any length streams.
const measuredRows = 1000

// widestColumn is the most cells of a terminal that a column is padded to. What is wider is printed in full and pushes
// its own line out.
const widestColumn = 64

// leastColumn is the width in cells of a terminal below which a column is not narrowed to make a table fit.
const leastColumn = 8

// A tablePrinter aligns columns under a header: numbers to the right, the rest to the left. Width is
// measured in cells of a terminal, where 東 takes two and a combining accent none. On a screen that the table is too
// wide for, the widest columns of text are narrowed and their values cut; ids and numbers are not.
type tablePrinter struct {
	out      *bytes.Buffer
	columns  []query.ColumnInfo
	screen   *Screen
	headless bool
	waiting  [][]string
	widths   []int // nil until measured
	narrowed []bool
}

func (p *tablePrinter) row(values []kv.Value) {
	cells := make([]string, len(values))
	for i, v := range values {
		cells[i] = EscapeControls(Brief(v))
	}
	if p.widths != nil {
		p.line(cells)
		return
	}
	if p.waiting = append(p.waiting, cells); len(p.waiting) == measuredRows {
		p.measure()
	}
}

func (p *tablePrinter) end() {
	if p.widths == nil {
		p.measure()
	}
}

// measure fixes the widths and prints the rows that waited for them.
func (p *tablePrinter) measure() {
	head, rule := make([]string, len(p.columns)), make([]string, len(p.columns))
	p.widths = make([]int, len(p.columns))
	p.narrowed = make([]bool, len(p.columns))
	for i, c := range p.columns {
		head[i] = EscapeControls(c.Name)
		if !p.headless {
			p.widths[i] = uniseg.StringWidth(head[i])
		}
		for _, cells := range p.waiting {
			p.widths[i] = max(p.widths[i], uniseg.StringWidth(cells[i]))
		}
	}
	p.fit()
	for i, width := range p.widths {
		p.widths[i] = min(width, max(widestColumn, p.screen.Width))
		rule[i] = strings.Repeat("-", p.widths[i])
	}
	if !p.headless {
		p.line(head)
		p.line(rule)
	}
	for _, cells := range p.waiting {
		p.line(cells)
	}
	p.waiting = nil
}

// fit narrows columns until the table is as wide as the screen, the widest first, or until none can be narrowed.
func (p *tablePrinter) fit() {
	total := 2 * (len(p.widths) - 1)
	for _, width := range p.widths {
		total += width
	}
	for p.screen.Width > 0 && !p.headless && total > p.screen.Width {
		widest := -1
		for i, c := range p.columns {
			if isNumeric(c.Kind) || c.Name == "id" || p.widths[i] <= leastColumn {
				continue
			}
			if widest < 0 || p.widths[i] > p.widths[widest] {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		p.narrowed[widest] = true
		p.widths[widest]--
		total--
	}
}

// line prints cells.
func (p *tablePrinter) line(cells []string) {
	blanks := 0 // blanks before the next cell; those after the last are never written
	for i, cell := range cells {
		width := uniseg.StringWidth(cell)
		if p.narrowed[i] && width > p.widths[i] {
			cell, width = cutToWidth(cell, p.widths[i])
			p.screen.Cut = true
		}
		pad := max(0, p.widths[i]-width)
		if isNumeric(p.columns[i].Kind) {
			blanks, pad = blanks+pad, 0
		}
		if cell != "" {
			p.out.WriteString(strings.Repeat(" ", blanks) + cell)
			blanks = 0
		}
		blanks += pad + 2
	}
	p.out.WriteByte('\n')
}

// cutToWidth returns the beginning of a text and … in at most so many cells of a terminal, and how many they are.
func cutToWidth(s string, most int) (string, int) {
	end, width := 0, 0
	for rest, state := s, -1; rest != ""; {
		var cluster string
		var w int
		cluster, rest, w, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if width+w > most-1 {
			break
		}
		end, width = end+len(cluster), width+w
	}
	return s[:end] + "…", width + 1
}

// A markdownPrinter writes a table of GitHub-flavoured markdown.
type markdownPrinter struct{ out *bytes.Buffer }

// newMarkdownPrinter writes the header.
func newMarkdownPrinter(out *bytes.Buffer, columns []query.ColumnInfo) *markdownPrinter {
	rule := make([]string, len(columns))
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i], rule[i] = escapeMarkdown(c.Name), "---"
		if isNumeric(c.Kind) {
			rule[i] = "--:"
		}
	}
	out.WriteString(markdownLine(names) + markdownLine(rule))
	return &markdownPrinter{out}
}

func markdownLine(cells []string) string { return "| " + strings.Join(cells, " | ") + " |\n" }

func (p *markdownPrinter) row(values []kv.Value) {
	cells := make([]string, len(values))
	for i, v := range values {
		cells[i] = escapeMarkdown(Brief(v))
	}
	p.out.WriteString(markdownLine(cells))
}

func (p *markdownPrinter) end() {}

var markdownEscapes = strings.NewReplacer(`\`, `\\`, "|", `\|`, "<", "&lt;", "*", `\*`, "`", "\\`", "\r\n", "<br>",
	"\n", "<br>")

func escapeMarkdown(s string) string { return EscapeControls(markdownEscapes.Replace(s)) }
