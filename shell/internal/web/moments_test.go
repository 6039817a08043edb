package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/moments"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
)

// TestMoments has each read of each page fail once, at every place of the code, and its context end there.
func TestMoments(t *testing.T) {
	sweep := moments.New("shell/internal/web", "shell/internal/survey")
	written := papers.Cleaned(t)
	must.Do(t, written.Close())
	store := sweep.Open(t, written.Dir())
	c := serve(t, store, nil).browser()
	exec(t, store, "ann", "relabel p1 'Theory'")
	exec(t, store, "ann", "audit draw 5")
	page := func(pattern string, fields ...string) func(context.Context) (any, error) {
		return func(ctx context.Context) (any, error) {
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/?"+valuesOf(fields).Encode(), http.NoBody)
			must.Do(t, readForm(r))
			r.PostForm = r.Form
			a, err := routes[pattern](c.server, r)
			if err != nil {
				return nil, err
			}
			if a.seeOther != "" {
				return nil, nil
			}
			var body strings.Builder
			must.Do(t, pages().ExecuteTemplate(&body, "page", frame{Page: a.page, View: a.view}))
			return body.String(), nil
		}
	}
	var seen, last string
	sweep.Each(t,
		moments.Call{Name: "queue", Make: page("GET /review")},
		moments.Call{Name: "list", Make: page("GET /review", "where", "score > 0.1")},
		moments.Call{Name: "node", Make: page("GET /node", "id", "p1")},
		moments.Call{Name: "audit", Make: page("GET /audit")},
		moments.Call{Name: "decide", Before: func() { seen = show[*card](c, (*Server).node, "id", "p2").Seen },
			Make: func(ctx context.Context) (any, error) {
				return page("POST /decide", "id", "p2", "seen", seen, "decision", "unsure")(ctx)
			}},
		moments.Call{Name: "undo", Before: func() {
			c.decide("p2", "decision", "unsure")
			last = strconv.FormatInt(c.last(), 10)
		}, Make: func(ctx context.Context) (any, error) { return page("POST /undo", "step", last)(ctx) }},
	)
}
