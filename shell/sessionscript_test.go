package shell

import (
	"testing"
)

func TestWrites(t *testing.T) {
	for text, want := range map[string]bool{
		"stats; CLEAN hops 2": true, "accept 1": true, "undo": true, "drop index on x": true, "history": false,
		"stats; nodes where a = 'clean'": false, ".read x": true, "nodes wher": false,
	} {
		if got := writes(text); got != want {
			t.Errorf("writes(%q): got %t, want %t", text, got, want)
		}
	}
}
