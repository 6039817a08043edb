package table

import (
	"os"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/memdir"
)

func TestMain(m *testing.M) { os.Exit(memdir.Tests(m).Run()) }
