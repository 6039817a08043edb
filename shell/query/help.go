package query

import (
	_ "embed"
	"strings"
	"sync"
)

// A Page describes one statement, or conditions, for its user.
type Page struct {
	Name     string
	Usage    string // its forms, a line each
	Summary  string // one line
	Text     string // the rest after the summary
	Examples []string
}

// Each page of the manual is a line with the name and the summary after "# ", the forms, the text, and the examples.
// The page on conditions is the last.
//
//go:embed manual.txt
var manualText string

var readManual = sync.OnceValue(func() (pages []Page) {
	for page := range strings.SplitSeq("\n"+manualText, "\n# ") {
		head, rest, isPage := strings.Cut(page, "\n")
		if !isPage {
			continue // before the first
		}
		var p Page
		p.Name, p.Summary, _ = strings.Cut(head, ": ")
		p.Usage, rest, _ = strings.Cut(rest, "\n\n")
		text, examples, _ := strings.Cut(rest, "\n\nExample:\n")
		p.Text, p.Examples = text, strings.Split(strings.TrimSpace(examples), "\n")
		pages = append(pages, p)
	}
	return pages
})

// Manual returns a page for every statement, in the order of their names. The caller must not change it.
func Manual() []Page {
	pages := readManual()
	return pages[:len(pages)-1]
}

// Conditions returns the page on conditions.
func Conditions() Page {
	pages := readManual()
	return pages[len(pages)-1]
}

// StatementNames returns the names of all statements, in order.
func StatementNames() (names []string) {
	for _, page := range Manual() {
		names = append(names, page.Name)
	}
	return names
}
