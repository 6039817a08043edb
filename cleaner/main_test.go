package cleaner

import (
	"os"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/memdir"
)

// trainedWell is how many steps training has at least, outside of tests.
var trainedWell = baseLeast

func TestMain(m *testing.M) {
	baseLeast = longtest.Of(80, trainedWell)
	os.Exit(memdir.Tests(m).Run())
}

// trainWell has a test train as users do.
func trainWell(t *testing.T) {
	t.Helper()
	few := baseLeast
	baseLeast = trainedWell
	t.Cleanup(func() { baseLeast = few })
}
