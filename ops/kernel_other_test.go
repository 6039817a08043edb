//go:build !amd64 || purego

package ops

import "testing"

// eachWidth runs a test, as there is but one width.
func eachWidth(t *testing.T, test func(t *testing.T)) { test(t) }
