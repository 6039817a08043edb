package web

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/metrics"
	"github.com/graphcleaner/graphcleaner/shell/internal/metrics/metricstest"
	"github.com/graphcleaner/graphcleaner/shell/internal/papers"
)

// scrape asks for the metrics as a scraper does, without the token.
func scrape(t *testing.T, c *client) map[string]float64 {
	t.Helper()
	status, text, header := c.do("GET", metricsPath, "", "", func(r *http.Request) { r.Header = http.Header{} })
	samples, err := metricstest.Parse(text)
	if status != http.StatusOK || header.Get("Content-Type") != metrics.ContentType || err != nil {
		t.Fatalf("got %d, %v, %v and\n%s", status, header, err, text)
	}
	return samples
}

// TestMetrics scrapes a store that people decide on.
func TestMetrics(t *testing.T) {
	commands := metrics.NewDurations("command", "code")
	commands.Add(time.Second, "gate", "3")
	store := papers.Cleaned(t)
	c := serve(t, store, func(o *Options) { o.Version, o.Commands = "graphcleaner v1", commands })
	<-c.server.progress.first
	first := scrape(t, c)
	for name, want := range map[string]float64{
		"graphcleaner_suspects{}":                                              2,
		"graphcleaner_stale_scores{}":                                          0,
		"graphcleaner_decided_nodes{}":                                         0,
		"graphcleaner_unsure_nodes{}":                                          0,
		`graphcleaner_build_info{version="graphcleaner v1"}`:                   1,
		`graphcleaner_command_duration_seconds_count{command="gate",code="3"}`: 1,
	} {
		if got, ok := first[name]; !ok || got != want {
			t.Errorf("%s: got %g, want %g", name, got, want)
		}
	}
	for _, name := range []string{
		"graphcleaner_nodes{}", "graphcleaner_edges{}", "graphcleaner_store_bytes{}", "graphcleaner_threshold{}", "process_start_time_seconds{}",
		"graphcleaner_counted_timestamp_seconds{}", "graphcleaner_last_run_timestamp_seconds{}",
	} {
		if first[name] <= 0 {
			t.Errorf("%s: got %g, want more than 0", name, first[name])
		}
	}
	if status, text := c.post("/decide", decision{ID: "s3", Decision: "reject"}); status != http.StatusOK {
		t.Fatalf("got %d and %s", status, text)
	}
	second := scrape(t, c)
	if second["graphcleaner_suspects{}"] != 1 || second["graphcleaner_decided_nodes{}"] != 1 {
		t.Errorf("after a decision: got %g suspects and %g decided nodes, want 1 and 1", second["graphcleaner_suspects{}"], second["graphcleaner_decided_nodes{}"])
	}
	for _, path := range []string{"/decide", "/metrics"} {
		if got := second[fmt.Sprintf(`graphcleaner_request_duration_seconds_count{path="%s",code="200"}`, path)]; got != 1 {
			t.Errorf("requests of %s: got %g, want 1", path, got)
		}
	}
	for name := range second {
		for _, secret := range []string{"Systems", "Theory", "p4", "s3", c.server.keys.token, c.server.Query.Who, store.Dir()} {
			if strings.Contains(name, secret) {
				t.Errorf("%s tells %s", name, secret)
			}
		}
	}
}

// TestMetricsAccess: the metrics need no token, and everything else of access holds for them.
func TestMetricsAccess(t *testing.T) {
	c := serve(t, papers.Cleaned(t), nil)
	for _, test := range []struct {
		method, host string
		want         int
	}{
		{"GET", "", http.StatusOK}, {"HEAD", "", http.StatusOK}, {"POST", "", http.StatusUnauthorized},
		{"GET", "evil.example", http.StatusForbidden},
	} {
		status, _, header := c.do(test.method, metricsPath, "", "", func(r *http.Request) {
			r.Header = http.Header{}
			if test.host != "" {
				r.Host = test.host
			}
		})
		if status != test.want || header.Get("Cross-Origin-Resource-Policy") != "same-origin" {
			t.Errorf("%s with the host %q: got %d and %v, want %d", test.method, test.host, status, header, test.want)
		}
	}
}

// TestMetricsWithoutARun: a store that was never cleaned, and an empty one, have no suspects to count.
func TestMetricsWithoutARun(t *testing.T) {
	for name, store := range map[string]*kv.Store{"never cleaned": papers.Loaded(t), "empty": papers.Empty(t)} {
		c := serve(t, store, nil)
		<-c.server.progress.first
		samples := scrape(t, c)
		if _, ok := samples["graphcleaner_suspects{}"]; ok {
			t.Errorf("%s: got suspects", name)
		}
		if nodes, ok := samples["graphcleaner_nodes{}"]; !ok || (nodes == 0) != (name == "empty") {
			t.Errorf("%s: got %g nodes", name, nodes)
		}
	}
}

// TestLately: where a count takes long, who asks often has the last one, and a new one begins no sooner than after a while.
func TestLately(t *testing.T) {
	store := papers.Cleaned(t)
	counts := 0
	how := func(context.Context, *kv.Tx) (*int, error) {
		counts++
		now := counts
		return &now, nil
	}
	c := &counted[int]{wanted: make(chan struct{}, 1), first: make(chan struct{})}
	wanted := func() bool {
		select {
		case <-c.wanted:
			return true
		default:
			return false
		}
	}
	check := func(what string, want int, wantWanted bool) {
		t.Helper()
		latest, _, err := c.lately(t.Context(), store, time.Minute, how)
		got := 0
		if latest != nil {
			got = *latest
		}
		if again := wanted(); err != nil || got != want || again != wantWanted {
			t.Errorf("%s: got count %d, one begun: %v, %v; want %d and %v", what, got, again, err, want, wantWanted)
		}
	}
	check("before the first", 0, true)
	if _, err := c.count(t.Context(), store, how); err != nil {
		t.Fatal(err)
	}
	check("nothing has changed", 1, false)
	change := func() {
		t.Helper()
		if _, err := decide.Write(t.Context(), store, []decide.Request{{Node: 3, Kind: decide.Unsure}}, decide.Options{Who: "bob"}); err != nil {
			t.Fatal(err)
		}
	}
	change()
	check("a quick count", 2, false)
	change()
	c.took = time.Hour
	check("a count that takes long, at once", 2, false)
	c.when = time.Now().Add(-2 * time.Minute)
	check("a count that takes long, later", 2, true)
}
