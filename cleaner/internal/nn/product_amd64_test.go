//go:build amd64 && !purego

package nn

import "testing"

// TestWithoutAVX512 tests the kernels that processors without it have.
func TestWithoutAVX512(t *testing.T) {
	if !hasAVX512 {
		t.Skip("the other tests have tested them")
	}
	hasAVX512 = false
	defer func() { hasAVX512 = true }()
	t.Run("products", TestProductsAreSumsInOrder)
}
