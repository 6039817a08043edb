package shell

import (
	"bufio"
	"strconv"
	"strings"
	"unicode"

	"github.com/rivo/uniseg"

	"github.com/graphcleaner/graphcleaner/kv"
)

// measuredRows is how many rows a table is made to fit. Later rows that are wider push their own line
// out, so that a table of any length streams.
const measuredRows = 1000

// widestColumn is the most cells of a terminal that a column is padded to. What is wider is printed in full and pushes
// its own line out.
const widestColumn = 64

// A tablePrinter aligns columns under a header: numbers to the right, the rest to the left. Width is
// measured in cells of a terminal, where 東 takes two and a combining accent none.
type tablePrinter struct {
	out      *bufio.Writer
	columns  []ColumnInfo
	headless bool
	waiting  [][]string
	widths   []int // nil until measured
}

func (p *tablePrinter) row(values []kv.Value) error {
	cells := make([]string, len(values))
	for i, v := range values {
		cells[i] = escapeControls(brief(v))
	}
	if p.widths != nil {
		return p.line(cells)
	}
	if p.waiting = append(p.waiting, cells); len(p.waiting) < measuredRows {
		return nil
	}
	return p.measure()
}

func (p *tablePrinter) end() error {
	if p.widths != nil {
		return nil
	}
	return p.measure()
}

// measure fixes the widths and prints what was waiting for them.
func (p *tablePrinter) measure() error {
	head, rule := make([]string, len(p.columns)), make([]string, len(p.columns))
	p.widths = make([]int, len(p.columns))
	for i, c := range p.columns {
		head[i] = escapeControls(c.Name)
		if !p.headless {
			p.widths[i] = uniseg.StringWidth(head[i])
		}
		for _, cells := range p.waiting {
			p.widths[i] = max(p.widths[i], uniseg.StringWidth(cells[i]))
		}
		p.widths[i] = min(p.widths[i], widestColumn)
		rule[i] = strings.Repeat("-", p.widths[i])
	}
	if !p.headless {
		p.waiting = append([][]string{head, rule}, p.waiting...)
	}
	for _, cells := range p.waiting {
		if err := p.line(cells); err != nil {
			return err
		}
	}
	p.waiting = nil
	return nil
}

func (p *tablePrinter) line(cells []string) error {
	owed := 0 // blanks before the next cell; those after the last are never written
	for i, cell := range cells {
		pad := max(0, p.widths[i]-uniseg.StringWidth(cell))
		if isNumeric(p.columns[i].Kind) {
			owed, pad = owed+pad, 0
		}
		if cell != "" {
			p.out.WriteString(strings.Repeat(" ", owed) + cell)
			owed = 0
		}
		owed += pad + 2
	}
	return p.out.WriteByte('\n')
}

// escapeControls writes characters that would move the cursor or hide text as \n, \x1b or \u202e.
func escapeControls(s string) string {
	const joiner = '\u200d' // holds an emoji of several people together
	odd := func(r rune) bool { return !unicode.IsPrint(r) && r != joiner }
	if strings.IndexFunc(s, odd) < 0 {
		return s
	}
	var out strings.Builder
	for _, r := range s {
		if odd(r) {
			quoted := strconv.QuoteRune(r)
			out.WriteString(quoted[1 : len(quoted)-1])
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

// A markdownPrinter writes a table of GitHub-flavoured markdown.
type markdownPrinter struct{ out *bufio.Writer }

// newMarkdownPrinter writes the header.
func newMarkdownPrinter(out *bufio.Writer, columns []ColumnInfo) *markdownPrinter {
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

func (p *markdownPrinter) row(values []kv.Value) error {
	cells := make([]string, len(values))
	for i, v := range values {
		cells[i] = escapeMarkdown(brief(v))
	}
	_, err := p.out.WriteString(markdownLine(cells))
	return err
}

func (p *markdownPrinter) end() error { return nil }

var markdownEscapes = strings.NewReplacer(`\`, `\\`, "|", `\|`, "<", "&lt;", "*", `\*`, "`", "\\`", "\r\n", "<br>", "\n", "<br>")

func escapeMarkdown(s string) string { return escapeControls(markdownEscapes.Replace(s)) }
