package cleaner

import (
	"os"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/memdir"
	"github.com/graphcleaner/graphcleaner/kv"
)

// trainedWell is how many steps training has at least, outside of tests.
var trainedWell = areaLeast

func TestMain(m *testing.M) {
	areaLeast = longtest.Of(80, trainedWell)
	os.Exit(memdir.Tests(m).Run())
}

// trainWell has a test train as users do.
func trainWell(t *testing.T) {
	t.Helper()
	few := areaLeast
	areaLeast = trainedWell
	t.Cleanup(func() { areaLeast = few })
}

// nodeAt is the node at a place in the node file.
func nodeAt(tx *kv.Tx, place int) (kv.NodeID, error) {
	places, err := tx.Places()
	if err != nil {
		return 0, err
	}
	return places.NodeAt(place)
}
