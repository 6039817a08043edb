package shell

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/graphcleaner/graphcleaner/ops"
)

// A budget that is too small is told as the flag that would do.
func TestTooLittleMemory(t *testing.T) {
	r := resources{Memory: 64 << 20}
	err := r.inFlags(fmt.Errorf("clean: %w", &ops.BudgetError{Job: "diagonal", Budget: r.work(), Least: 300 << 20}))
	if want := "--memory 64MiB is too little: want at least 464MiB"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := r.inFlags(context.Canceled); !errors.Is(err, context.Canceled) {
		t.Errorf("another error: got %v", err)
	}
}
