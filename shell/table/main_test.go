package table

import (
	"os"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/memdir"
)

func TestMain(m *testing.M) { os.Exit(memdir.Tests(m).Run()) }
