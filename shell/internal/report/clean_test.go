package report

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/shell/internal/papers"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// TestPageOfRun is of a store with suspects.
func TestPageOfRun(t *testing.T) {
	p, err := Clean(t.Context(), papers.Cleaned(t), "Papers")
	if err != nil {
		t.Fatal(err)
	}
	page := rendered(t, p)
	for _, want := range []string{"The first suspects", `id="suspect-1"`, "Is it Theory?", "Top suspects"} {
		if !strings.Contains(page, want) {
			t.Errorf("page: has no %q", want)
		}
	}
}

// A contextWithWriter calls a function when a reader first looks whether it has ended.
type contextWithWriter struct {
	context.Context
	write func()
}

func (c *contextWithWriter) Err() error {
	write := c.write
	if c.write = nil; write != nil {
		write()
	}
	return c.Context.Err()
}

// TestPageOfOneSnapshot decides on the first suspects while their report is made. The report does not show it.
func TestPageOfOneSnapshot(t *testing.T) {
	store := papers.Cleaned(t)
	page := func(ctx context.Context) string {
		t.Helper()
		p, err := Clean(ctx, store, "Papers")
		if err != nil {
			t.Fatal(err)
		}
		return regexp.MustCompile(`<p class="made">.*</p>`).ReplaceAllString(rendered(t, p), "") // the time of writing
	}
	want := page(t.Context())
	got := page(&contextWithWriter{Context: t.Context(), write: func() {
		if _, err := query.Exec(t.Context(), store, query.Options{}, "accept s3, p4"); err != nil {
			t.Fatal(err)
		}
	}})
	if got != want {
		t.Error("the report shows decisions that were made meanwhile")
	}
	if page(t.Context()) == want {
		t.Error("the next report does not show the decisions")
	}
}
