package files

import (
	"context"
	"strings"

	"github.com/graphcleaner/graphcleaner/shell/table"
)

// Names are the files, directories and patterns that one table is read from, in their order. Those without a name are none.
type Names []string

// String lists the names.
func (n Names) String() string { return strings.Join(n, ", ") }

// Given says whether there are any.
func (n Names) Given() bool { return n.String() != "" }

// only is the one name; empty: there are several, or none.
func (n Names) only() string {
	if len(n) != 1 {
		return ""
	}
	return n[0]
}

// Sources are the files that the name of a table stands for; none if there are none.
func Sources(ctx context.Context, path string) []string {
	parts, err := table.FindParts(ctx, path)
	if err != nil {
		return nil // reading it says so
	}
	return parts.Paths()
}
