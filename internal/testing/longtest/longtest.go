// Package longtest says whether tests run at length. By default they keep every promise with a few tries. With
// GRAPHCLEANER_TEST_LONG=1 they try more: more damages, stages, forms, seeds and data sets.
package longtest

import (
	"os"
	"testing"
)

const variable = "GRAPHCLEANER_TEST_LONG"

// Asked reports whether tests run at length. It reads the variable anew, while tests run: else go test would not know
// that its kept results depend on it.
func Asked() bool { return os.Getenv(variable) == "1" }

// Of is how often to try: few times, or many at length.
func Of(few, many int) int {
	if Asked() {
		return many
	}
	return few
}

// Only skips a test that takes too long for every day.
func Only(t *testing.T) {
	t.Helper()
	if !Asked() {
		t.Skipf("long: it runs with %s=1", variable)
	}
}
