// Package namelist prints names of classes and columns in messages.
package namelist

import (
	"fmt"
	"strings"
)

// Of prints the first few names.
func Of(names []string) string {
	const few = 12
	switch {
	case len(names) == 0:
		return "none"
	case len(names) > few:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
	}
	return strings.Join(names, ", ")
}
