package table

import (
	"context"
	"os"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/memdir"
)

func TestMain(m *testing.M) { os.Exit(memdir.Tests(m).Run()) }

// openFile opens one file.
func openFile(ctx context.Context, path string, memory int64) (*Reader, error) {
	return Open(ctx, Parts{name: path, paths: []string{path}}, memory)
}
