package wording

import (
	"strconv"

	"github.com/graphcleaner/graphcleaner/kv"
)

// MixedIDs reports whether a store has text ids, some of which look like integers. Their order is then that of text. It
// looks at the first thousand ids only.
func MixedIDs(tx *kv.Tx) (bool, error) {
	if tx.Shape().IntegerIDs {
		return false, nil
	}
	steps := 0
	for id, err := range tx.IDs() {
		if err != nil {
			return false, err
		}
		if IsInteger(id) {
			return true, nil
		}
		if steps++; steps == 1000 {
			break
		}
	}
	return false, nil
}

// IsInteger reports whether an id is an integer as it is written: 007 and -0 are text.
func IsInteger(id string) bool {
	n, err := strconv.ParseInt(id, 10, 64)
	return err == nil && strconv.FormatInt(n, 10) == id
}
