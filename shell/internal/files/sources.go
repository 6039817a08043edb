package files

import (
	"context"

	"github.com/graphcleaner/graphcleaner/shell/table"
)

// Sources are the files that the name of a table stands for; none if there are none.
func Sources(ctx context.Context, path string) []string {
	parts, err := table.FindParts(ctx, path)
	if err != nil {
		return nil // reading it says so
	}
	return parts.Paths()
}
