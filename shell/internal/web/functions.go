package web

import (
	"fmt"
	"html/template"
	"math"
	"strings"

	"github.com/graphcleaner/graphcleaner/shell/internal/picture"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// A shownClass is a class as the template "label" shows it.
type shownClass struct {
	Name  string
	Color int // its place among classes
}

// functions are those of the templates.
var functions = template.FuncMap{
	"swatch":    func(class int) template.HTML { return template.HTML(picture.Swatch(class)) },
	"svg":       func(text string) template.HTML { return template.HTML(text) },
	"percent":   percentOf,
	"plain":     print.EscapeControls,
	"named":     func(name string, class int) shownClass { return shownClass{name, class} },
	"next":      func(i, by int) int { return i + by },
	"fold":      fold,
	"pair":      func(a, b any) [2]any { return [2]any{a, b} },
	"statement": func(word, id string) string { return word + " " + query.Quote(id) },
	"ask":       askAddress,
	"version":   assetVersion,
}

// fold divides a long text in its beginning and the rest, between words.
func fold(text string, most int) (parts [2]string) {
	parts[0] = text
	runes := []rune(text)
	if len(runes) <= most+most/4 {
		return parts
	}
	begin := string(runes[:most])
	if at := strings.LastIndexAny(begin, " \n"); at > len(begin)/2 {
		begin = begin[:at]
	}
	return [2]string{begin, text[len(begin):]}
}

// percentOf is a share in percent, with digits where it is near 0 or 1.
func percentOf(share float64) string {
	switch {
	case math.IsNaN(share):
		return "unknown"
	case share > 0.999 && share < 1:
		return "over 99.9%"
	case share < 0.001 && share > 0:
		return "under 0.1%"
	}
	return fmt.Sprintf("%.1f%%", 100*share)
}
