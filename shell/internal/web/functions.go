package web

import (
	"fmt"
	"html/template"
	"math"
	"strings"

	"github.com/graphcleaner/graphcleaner/shell/internal/picture"
	"github.com/graphcleaner/graphcleaner/shell/print"
)

// A shownClass is a class as the template "label" shows it.
type shownClass struct {
	Name  string
	Color int // its place among classes
}

// functions are those of the templates.
var functions = template.FuncMap{
	"swatch":  func(class int) template.HTML { return template.HTML(picture.Swatch(class)) },
	"svg":     func(text string) template.HTML { return template.HTML(text) },
	"percent": percentOf,
	"share":   shareText,
	"short":   func(x *float64) string { return number(x, "%.2f") },
	"whole":   func(x *float64) string { return number(x, "%.0f") },
	"fixed":   func(x *float64) string { return number(x, "%.4f") },
	"plain":   print.EscapeControls,
	"named":   func(name string, class int) shownClass { return shownClass{name, class} },
	"add":     func(a, b int) int { return a + b },
	"count":   grouped,
	"version": assetVersion,
}

// number is a number in a form, "" if there is none.
func number(x *float64, form string) string {
	if x == nil {
		return ""
	}
	return fmt.Sprintf(form, *x)
}

// percentOf is a share in percent, with digits where it is near 0 or 1.
func percentOf(share *float64) string {
	switch {
	case share == nil || math.IsNaN(*share):
		return "unknown"
	case *share > 0.999 && *share < 1:
		return "over 99.9%"
	case *share < 0.001 && *share > 0:
		return "under 0.1%"
	}
	return fmt.Sprintf("%.1f%%", 100**share)
}

// shareText is a share in percent, "" if there is none.
func shareText(share *float64) string {
	if share == nil {
		return ""
	}
	return percentOf(share)
}

// grouped is a number with spaces between groups of three digits.
func grouped(n int64) string {
	text := fmt.Sprint(n)
	var out strings.Builder
	for i, digit := range text {
		if i > 0 && (len(text)-i)%3 == 0 && text[i-1] != '-' {
			out.WriteString("\u202f")
		}
		out.WriteRune(digit)
	}
	return out.String()
}
