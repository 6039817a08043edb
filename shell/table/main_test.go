package table

import (
	"context"
	"os"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/memdir"
)

func TestMain(m *testing.M) { os.Exit(memdir.Tests(m).Run()) }

// openFile opens the files of a name.
func openFile(ctx context.Context, path string, memory int64) (*Reader, error) {
	parts, err := FindParts(ctx, path)
	if err != nil {
		return nil, err
	}
	return Open(ctx, parts, memory)
}
