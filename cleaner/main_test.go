package cleaner

import (
	"os"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/memdir"
	"github.com/graphcleaner/graphcleaner/kv"
)

func TestMain(m *testing.M) { os.Exit(memdir.Tests(m).Run()) }

// nodeAt is the node at a place in the node file.
func nodeAt(tx *kv.Tx, place int) (kv.NodeID, error) {
	places, err := tx.Places()
	if err != nil {
		return 0, err
	}
	return places.NodeAt(place)
}
