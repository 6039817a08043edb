package shell

import (
	"bufio"
	_ "embed" // for the page
	"html/template"
	"strings"
	"time"
)

//go:embed report.html
var reportHTML string

var reportTemplate = template.Must(template.New("report").Parse(reportHTML))

// A reportPage is the page of --report: one html file with its figures in it, which needs no network and no scripts. Texts
// are plain; the template escapes them.
type reportPage struct {
	Title            string
	Version, Written string
	Headline         []fact
	Sections         []pageSection
	Options          []fact
}

// A fact is a value under its name.
type fact struct{ Name, Value string }

// A pageSection is a heading with what of the rest is there.
type pageSection struct {
	Title, Note string
	Table       *pageTable
	Charts      []*chart
	Heat        *heatMap
}

// A pageTable has as many cells in each row as in the header.
type pageTable struct {
	Header []string
	Rows   [][]string
}

// pageSuspects is how many suspects a page lists.
const pageSuspects = 50

// write writes the page, dated now, whole or not at all.
func (p *reportPage) write(path string, s *streams) error {
	p.Version, p.Written = strings.TrimSpace(version()), time.Now().UTC().Format(time.RFC3339)
	return s.writeFile(path, func(out *bufio.Writer) error { return reportTemplate.Execute(out, p) })
}
