package ops

import "testing"

// The map of a hub has whole words, of all ranks up to its own.
func TestHubMapWords(t *testing.T) {
	want := 0
	for y := range 3000 {
		if got := hubMapWords(y); got != want {
			t.Fatalf("got %d words before the map of %d, want %d", got, y, want)
		}
		want += y/64 + 1
	}
}
