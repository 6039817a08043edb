//go:build !purego

package elementary

import "testing"

// TestNarrowerVectors holds the kernels of other processors to the same.
func TestNarrowerVectors(t *testing.T) {
	defer func(four, eight bool) { vectorized, hasAVX512 = four, eight }(vectorized, hasAVX512)
	hasAVX512 = false
	t.Run("groups of four", TestMany)
	vectorized = false
	t.Run("no vectors", TestMany)
}
