package query

import (
	"context"
	flags "flag"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"github.com/graphcleaner/graphcleaner/internal/longtest"
	"github.com/graphcleaner/graphcleaner/internal/memdir"
	"github.com/graphcleaner/graphcleaner/kv"
)

// answerIn answers any statement. What it reads it reads in a snapshot that ends with the test.
func answerIn(ctx context.Context, t testing.TB, s *kv.Store, opt Options, text string, args ...any) (*Result, error) {
	t.Helper()
	parsed, err := Parse(text)
	if err != nil {
		return nil, err
	}
	if parsed.Writes() {
		return parsed.Exec(ctx, s, opt, args...)
	}
	return parsed.Query(ctx, snapshotOf(t, s), opt, args...)
}

// answer is answerIn with the context of the test and no options.
func answer(t testing.TB, s *kv.Store, text string, args ...any) (*Result, error) {
	t.Helper()
	return answerIn(t.Context(), t, s, Options{}, text, args...)
}

// snapshotOf is a snapshot that ends with the test.
func snapshotOf(t testing.TB, s *kv.Store) *kv.Tx {
	t.Helper()
	tx := s.Begin()
	t.Cleanup(tx.Close)
	return tx
}

func TestMain(m *testing.M) {
	// Each try of a rapid test makes a store. The flag overrides this number.
	if err := flags.Set("rapid.checks", strconv.Itoa(longtest.Of(30, 100))); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(memdir.Tests(m))
}
