package metrics_test

import (
	"math"
	"testing"
	"time"

	"github.com/graphcleaner/graphcleaner/shell/internal/metrics"
	"github.com/graphcleaner/graphcleaner/shell/internal/metrics/metricstest"
)

func TestPage(t *testing.T) {
	d := metrics.NewDurations("path", "code")
	for _, took := range []time.Duration{time.Millisecond, 10 * time.Millisecond, 2 * time.Second, time.Hour} {
		d.Add(took, `/a"b\c`+"\n", "200")
	}
	d.Add(time.Second, "/", "404")
	var p metrics.Page
	p.Gauge("nodes", "Nodes of\nthe store, \\ and all.", 3e7)
	p.Gauge("stale", "Scores.", math.Inf(1))
	p.Gauge("rate", "A rate.", math.NaN())
	p.Info("build", "The version.", "version", "v1")
	p.Durations("seconds", "Requests.", d)
	p.Durations("nothing", "None.", metrics.NewDurations())
	const want = `# HELP nodes Nodes of\nthe store, \\ and all.
# TYPE nodes gauge
nodes 3e+07
# HELP stale Scores.
# TYPE stale gauge
stale +Inf
# HELP rate A rate.
# TYPE rate gauge
rate NaN
# HELP build The version.
# TYPE build gauge
build{version="v1"} 1
# HELP seconds Requests.
# TYPE seconds histogram
seconds_bucket{path="/",code="404",le="0.01"} 0
seconds_bucket{path="/",code="404",le="0.05"} 0
seconds_bucket{path="/",code="404",le="0.25"} 0
seconds_bucket{path="/",code="404",le="1"} 1
seconds_bucket{path="/",code="404",le="5"} 1
seconds_bucket{path="/",code="404",le="30"} 1
seconds_bucket{path="/",code="404",le="300"} 1
seconds_bucket{path="/",code="404",le="+Inf"} 1
seconds_sum{path="/",code="404"} 1
seconds_count{path="/",code="404"} 1
seconds_bucket{path="/a\"b\\c\n",code="200",le="0.01"} 2
seconds_bucket{path="/a\"b\\c\n",code="200",le="0.05"} 2
seconds_bucket{path="/a\"b\\c\n",code="200",le="0.25"} 2
seconds_bucket{path="/a\"b\\c\n",code="200",le="1"} 2
seconds_bucket{path="/a\"b\\c\n",code="200",le="5"} 3
seconds_bucket{path="/a\"b\\c\n",code="200",le="30"} 3
seconds_bucket{path="/a\"b\\c\n",code="200",le="300"} 3
seconds_bucket{path="/a\"b\\c\n",code="200",le="+Inf"} 4
seconds_sum{path="/a\"b\\c\n",code="200"} 3602.011
seconds_count{path="/a\"b\\c\n",code="200"} 4
`
	got := string(p.Bytes())
	if got != want {
		t.Errorf("got\n%s", got)
	}
	samples, err := metricstest.Parse(got)
	if err != nil || len(samples) != 24 || samples["nodes{}"] != 3e7 {
		t.Errorf("got %v, %v", samples, err)
	}
}

func TestParse(t *testing.T) {
	const head = "# HELP a A.\n# TYPE a gauge\n"
	for _, page := range []string{
		"a 1\n", head + "a 1", head + "b 1\n", head + "a x\n", head + "a 1\na 2\n", head + `a{b=c} 1` + "\n", head + "a 1\n" + head, "# TYPE a gauge\na 1\n",
		"# HELP h H.\n# TYPE h histogram\nh_bucket{le=\"1\"} 2\nh_bucket{le=\"+Inf\"} 1\n",
	} {
		if got, err := metricstest.Parse(page); err == nil {
			t.Errorf("%q: got %v, want an error", page, got)
		}
	}
}

func TestResident(t *testing.T) {
	bytes, ok := metrics.Resident()
	if !ok {
		t.Skip("this system does not say")
	}
	if bytes < 1<<20 || bytes > 1<<34 {
		t.Errorf("got %g bytes", bytes)
	}
}
