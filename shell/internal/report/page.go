// Package report makes the pages of --report: one file of HTML with its figures in it, which needs no network and no scripts. It
// knows no command.
package report

import (
	_ "embed" // for the page
	"html/template"
	"io"
	"sync"
	"time"

	"github.com/graphcleaner/graphcleaner/shell/internal/figure"
)

//go:embed page.html
var html string

// pageTemplate is parsed when it is needed: most commands write no report.
var pageTemplate = sync.OnceValue(func() *template.Template { return template.Must(template.New("page").Parse(html)) })

// A Page is a report. Its texts are plain; writing escapes them.
type Page struct {
	Title            string
	Version, Written string
	Headline         []Fact
	Sections         []section
	Options          []Fact
	Style            template.CSS // of the figures
}

// A Fact is a value under its name.
type Fact struct{ Name, Value string }

// A section is a heading, and some of the rest.
type section struct {
	Title, Note string
	Table       *table
	Chart       template.HTML
	Cards       []card
}

// A table has as many cells in each row as in the header.
type table struct {
	Header []string
	Rows   [][]string
}

// listedSuspects is how many suspects a page lists.
const listedSuspects = 50

// Write writes the page of a version of the program, dated now.
func (p *Page) Write(out io.Writer, version string) error {
	p.Version, p.Written, p.Style = version, time.Now().UTC().Format(time.RFC3339), template.CSS(figure.Style)
	return pageTemplate().Execute(out, p)
}
