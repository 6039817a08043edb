package kv

import (
	"testing"

	"go.uber.org/goleak"
)

// A store that was closed leaves no goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
