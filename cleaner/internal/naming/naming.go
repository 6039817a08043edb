// Package naming names nodes in errors. It knows nothing of what went wrong.
package naming

import (
	"errors"
	"fmt"

	"github.com/graphcleaner/graphcleaner/kv"
)

// Node says of which node err speaks, by its external id.
func Node(tx *kv.Tx, v kv.NodeID, err error) error {
	id, idErr := tx.ID(v)
	if idErr != nil {
		return errors.Join(err, idErr)
	}
	return fmt.Errorf("node %s: %w", id, err)
}
