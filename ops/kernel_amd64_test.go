//go:build !purego

package ops

import "testing"

// Where a processor has wide vectors, the tests of kernels use those; here they use the others.
func TestNarrowKernelsSameBits(t *testing.T) {
	if !hasAVX512 {
		t.Skip("this processor has none but narrow vectors")
	}
	hasAVX512 = false
	defer func() { hasAVX512 = true }()
	t.Run("rows", TestAddRowsSameBits)
	t.Run("marks", TestAddMarksSameBits)
	t.Run("propagation", TestGolden)
}
