package query

import (
	"context"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/graphcleaner/graphcleaner/internal/testing/memdir"
	"github.com/graphcleaner/graphcleaner/kv"
)

// rowsOf reads the rows of an answer.
func rowsOf(r *Result, err error) (rows [][]kv.Value, _ error) {
	if err != nil {
		return nil, err
	}
	for row, err := range r.Rows() {
		if err != nil {
			return rows, err
		}
		rows = append(rows, slices.Clone(row))
	}
	return rows, nil
}

// answered answers any statement, and reads the rows. What it reads it reads in a snapshot of its own.
func answered(ctx context.Context, s *kv.Store, opt Options, text string, args ...any) ([][]kv.Value, error) {
	parsed, err := Parse(text)
	if err != nil {
		return nil, err
	}
	if parsed.Writes() {
		return rowsOf(parsed.Exec(ctx, s, opt, args...))
	}
	tx := s.Begin()
	defer tx.Close()
	return rowsOf(parsed.Query(ctx, tx, opt, args...))
}

// answer is answered with the context of the test and no options.
func answer(t testing.TB, s *kv.Store, text string, args ...any) ([][]kv.Value, error) {
	t.Helper()
	return answered(t.Context(), s, Options{}, text, args...)
}

// firsts are the first values of rows.
func firsts(rows [][]kv.Value) []string {
	return rowsFrom(rows, func(row []kv.Value) string { return row[0].String() })
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(memdir.Tests(m)) }
