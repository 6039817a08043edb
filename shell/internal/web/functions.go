package web

import (
	"fmt"
	"html/template"
	"math"
	"strings"
	"time"

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
	"whole":   func(x *float64) string { return number(x, "%.0f") },
	"percent": percentOf,
	"fixed":   func(x *float64) string { return number(x, "%.4f") },
	"plain":   print.EscapeControls,
	"named":   func(name string, class int) shownClass { return shownClass{name, class} },
	"next":    func(page, by int) int { return page + by },
	"add":     func(a, b int64) int64 { return a + b },
	"fold":    fold,
	"clock":   clock,
	"count":   grouped,
	"version": assetVersion,
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

// clock is a time as people read it. The script of the page writes it as their clock has it.
func clock(text string) string {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return text
	}
	return at.Format("2006-01-02 15:04") + " UTC"
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
