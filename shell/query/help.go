package query

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/graphcleaner/graphcleaner/kv"
)

// A Page describes one statement, or conditions, for its user.
type Page struct {
	Name     string
	Usage    string // its forms, a line each
	Summary  string // one line
	Text     string // what the summary leaves out
	Examples []string
}

// Each page of the manual is a line with the name and the summary behind "# ", the forms, the text, and the examples.
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

// maxClasses bounds how many class names are offered at once.
const maxClasses = 200

// A Candidate is a text that could be typed next, with a note for the person who types.
type Candidate struct{ Text, Note string }

// Complete returns the texts that the grammar and the store allow at the end of an unfinished statement. A candidate
// replaces the last part of the text, which Complete returns as replaced.
func Complete(tx *kv.Tx, before string) (candidates []Candidate, word string) {
	before = LastStatement(before)
	begin := wordStart(before)
	word = before[begin:]
	p := newParser(before[:begin], startOfText)
	p.statement() //nolint:errcheck // a text that can go on fails at its end
	if p.current.kind != tokenEnd {
		return nil, word
	}
	for _, w := range p.wants {
		candidates = append(candidates, candidatesFor(tx, w)...)
	}
	return slices.DeleteFunc(candidates, func(c Candidate) bool {
		return len(c.Text) < len(word) || !strings.EqualFold(c.Text[:len(word)], word)
	}), word
}

// candidatesFor lists the texts that meet a want.
func candidatesFor(tx *kv.Tx, w want) (candidates []Candidate) {
	isOfNodes := w.list != "history" && w.list != "classes"
	switch w.complete {
	case completeProperties:
		for _, c := range listColumns(tx, w.list) {
			candidates = append(candidates, Candidate{QuoteName(c.Name), kindName(c.Kind)})
		}
		if !isOfNodes {
			break
		}
		for _, property := range propertyNames(tx) {
			c, _ := tx.Column(property)
			candidates = append(candidates, Candidate{QuoteName(property), kindName(c.Kind)})
		}
	case completeValues:
		if w.property != "label" && w.property != "suggested" {
			break
		}
		classes := tx.Classes()
		for _, class := range classes[:min(len(classes), maxClasses)] {
			candidates = append(candidates, Candidate{Text: Quote(class)})
		}
	default:
		for _, word := range w.words {
			if isMark(word) || word == "share" && !isOfNodes {
				continue
			}
			note := ""
			if i := slices.Index(StatementNames(), word); i >= 0 && len(w.words) > 1 {
				note = Manual()[i].Summary
			}
			candidates = append(candidates, Candidate{word, note})
		}
	}
	return candidates
}

// LastStatement returns the text after the last semicolon that ends a statement, or from the last dot command on.
func LastStatement(text string) string {
	for {
		var cut cutter
		end, dot := cut.find([]byte(text), true)
		if end < 0 || dot {
			return text
		}
		text = text[end:]
	}
}

// wordStart is where the word that is being typed at the end of a text begins: a name, a number, or the
// text since an open quote.
func wordStart(text string) int {
	var cut cutter
	cut.find([]byte(text), true)
	if cut.inside == '\'' || cut.inside == '"' {
		return strings.LastIndexByte(text, byte(cut.inside))
	}
	return len(strings.TrimRightFunc(text, continuesName))
}
