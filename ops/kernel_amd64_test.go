//go:build !purego

package ops

import "testing"

// Where a processor has wide vectors, the tests of kernels use those; here they use the others.
func TestNarrowKernelsSameBits(t *testing.T) {
	if !wide {
		t.Skip("this processor has none but narrow vectors")
	}
	wide = false
	defer func() { wide = true }()
	t.Run("rows", TestAddRowsSameBits)
	t.Run("marks", TestAddMarksSameBits)
	t.Run("propagation", TestGolden)
}
