// Package figure draws charts as SVG within an HTML figure: the same bytes for the same input, for light and dark
// pages, with every text escaped. It knows no store and no page.
package figure

import (
	_ "embed" // for the style and the templates
	"html/template"
	"strings"
	"sync"
)

// Colours of figures that all readers can tell apart (Okabe and Ito).
const (
	Blue       = "#0072b2"
	Vermillion = "#d55e00"
)

// Style is the style of all figures. The page has it, as figures have none of their own.
//
//go:embed style.css
var Style string

//go:embed figure.html
var html string

var templates = sync.OnceValue(func() *template.Template { return template.Must(template.New("figure").Parse(html)) })

// render is a figure as HTML.
func render(name string, data any) string {
	var out strings.Builder
	if err := templates().ExecuteTemplate(&out, name, data); err != nil {
		panic(err) // a Builder takes all
	}
	return out.String()
}
