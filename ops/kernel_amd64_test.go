//go:build !purego

package ops

import "testing"

// eachWidth runs a test with the widest vectors of this processor, then with narrower ones.
func eachWidth(t *testing.T, test func(t *testing.T)) {
	t.Run("widest", test)
	if hasAVX512 {
		hasAVX512 = false
		defer func() { hasAVX512 = true }()
		t.Run("narrow", test)
	}
}
