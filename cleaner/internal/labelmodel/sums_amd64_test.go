//go:build !purego

package labelmodel

import "testing"

// TestNarrowerVectors holds the kernels of other processors to the same.
func TestNarrowerVectors(t *testing.T) {
	defer func(has bool) { hasAVX512 = has }(hasAVX512)
	hasAVX512 = false
	t.Run("four lanes", TestVectors)
	t.Run("counts", TestCountFlips)
}
