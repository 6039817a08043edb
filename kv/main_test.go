package kv

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/graphcleaner/graphcleaner/internal/testing/memdir"
)

// A store that was closed leaves no goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(memdir.Tests(m)) }
