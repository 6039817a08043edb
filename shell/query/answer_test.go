package query

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/graphcleaner/graphcleaner/internal/testing/memdir"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
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

// linesOf prints a result: a line with the columns and a line a row.
func linesOf(r *Result) (string, error) {
	out := fmt.Sprintln(r.Columns())
	for row, err := range r.Rows() {
		if err != nil {
			return "", err
		}
		out += fmt.Sprintf("%q\n", row)
	}
	return out, nil
}

// allRows reads a result.
func allRows(t *testing.T, r *Result) (rows [][]kv.Value) {
	t.Helper()
	for row, err := range r.Rows() {
		must.Do(t, err)
		rows = append(rows, slices.Clone(row))
	}
	return rows
}

// collectAll answers a statement with a line a row.
func collectAll(t *testing.T, store *kv.Store, opt Options, text string) string {
	t.Helper()
	result, err := answerIn(t.Context(), t, store, opt, text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	lines, err := linesOf(result)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return lines
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(memdir.Tests(m)) }
