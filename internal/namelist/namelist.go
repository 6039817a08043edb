// Package namelist prints names of classes and columns in messages.
package namelist

import (
	"fmt"
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
