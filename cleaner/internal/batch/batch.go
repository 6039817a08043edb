// Package batch writes many small things to a store, a range of them in a transaction. It knows nothing of what they
// are.
package batch

import (
	"context"
	"errors"

	"github.com/graphcleaner/graphcleaner/kv"
)

// Size is a good number of things for one transaction.
const Size = 1000

// Each calls write for the things 0 to n−1, at most size of them in a transaction. It calls done once they are on disk.
// A range that does not fit into a transaction is halved.
func Each(
	ctx context.Context, s *kv.Store, size, n int, write func(tx *kv.Tx, first, end int) error, done func(first, end int),
) error {
	for first := 0; first < n; {
		if err := ctx.Err(); err != nil {
			return err
		}
		end := min(first+size, n)
		err := s.Update(func(tx *kv.Tx) error { return write(tx, first, end) })
		if errors.Is(err, kv.ErrTxTooBig) && size > 1 {
			size = (end - first + 1) / 2
			continue
		}
		if err != nil {
			return err
		}
		done(first, end)
		first = end
	}
	return nil
}
