// Package namelist orders names of classes, and prints names of classes and columns in messages.
package namelist

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Of prints the first few names. A name with a comma or a quote, or with blanks around it, is in quotes.
func Of(names []string) string {
	const few = 12
	var shown []string
	for _, name := range names[:min(few, len(names))] {
		if name == "" || name != strings.TrimSpace(name) || strings.ContainsAny(name, `,"`) {
			name = strconv.Quote(name)
		}
		shown = append(shown, name)
	}
	switch {
	case len(names) == 0:
		return "none"
	case len(names) > few:
		return fmt.Sprintf("%s and %d more", strings.Join(shown, ", "), len(names)-few)
	}
	return strings.Join(shown, ", ")
}

// Sorted returns names in the order of the classes of a store that was just loaded: as numbers if all are numbers, else
// by bytes. names is left as it is.
func Sorted(names []string) []string {
	values := make(map[string]float64, len(names))
	for _, name := range names {
		if x, err := strconv.ParseFloat(name, 64); err == nil && !math.IsNaN(x) {
			values[name] = x
		}
	}
	return slices.SortedFunc(slices.Values(names), func(a, b string) int {
		if len(values) == len(names) && values[a] != values[b] {
			return cmp.Compare(values[a], values[b])
		}
		return cmp.Compare(a, b) // also of 1 and 1.0
	})
}
