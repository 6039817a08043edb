package lsm

import (
	"errors"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// TestGuard has Badger trip over a damaged table: the error is for people, without the words of the Go runtime.
func TestGuard(t *testing.T) {
	block := []byte("cut")
	err := guard([]byte("key"), func() error {
		clear(block[len(block)-len("longer"):])
		return nil
	})
	if !errors.Is(err, record.ErrCorrupt) || strings.Contains(err.Error(), "runtime") ||
		!strings.Contains(err.Error(), "damaged") {
		t.Errorf("got %v, want ErrCorrupt in plain words", err)
	}
}
