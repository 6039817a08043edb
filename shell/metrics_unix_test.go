//go:build unix

package shell

import (
	"net/http"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/shell/internal/metrics/metricstest"
)

// TestServeMetrics scrapes serve, which counts what it does for others.
func TestServeMetrics(t *testing.T) {
	reviewedStore(t)
	_, ask := browsing(t, "serve", "g", "--log", "json")
	if got := run(t, "", "gate", "g", "--most", "0"); got.code != exitVerdict {
		t.Fatalf("gate: got exit code %d and %s", got.code, got.err)
	}
	mustRun(t, "stats", "g")
	if got := run(t, "", "shell", "g", "-c", "suspects limit 1; node nobody"); got.code != exitFailed {
		t.Fatalf("shell: got exit code %d and %s", got.code, got.err)
	}
	status, text := ask("GET", "/metrics", "")
	samples, err := metricstest.Parse(text)
	if status != http.StatusOK || err != nil {
		t.Fatalf("got %d, %v and %s", status, err, text)
	}
	for labels, want := range map[string]float64{`command="gate",code="3"`: 1, `command="stats",code="0"`: 1, `command="shell",code="0"`: 1, `command="shell",code="1"`: 1} {
		if got := samples["graphcleaner_command_duration_seconds_count{"+labels+"}"]; got != want {
			t.Errorf("%s: got %g, want %g", labels, got, want)
		}
	}
	if samples["graphcleaner_nodes{}"] != 240 {
		t.Errorf("got %g nodes, want 240", samples["graphcleaner_nodes{}"])
	}
	if strings.Contains(text, "even") || strings.Contains(text, "tester") {
		t.Errorf("the metrics name a label or a person:\n%s", text)
	}
}

// TestQuietTerminal: on a terminal, --quiet leaves the result alone, without progress and colours.
func TestQuietTerminal(t *testing.T) {
	term := newTerminal(t)
	reviewedStore(t)
	program := term.dir + "/graphcleaner"
	term.session(150, 24, "sh", "-c", program+" clean g --preset paper --hops 2 --quiet > out 2> /dev/tty; NO_COLOR=1 "+program+" shell g -c runs --quiet; echo ended with $?; sleep 600")
	screen := term.wait("the end", `(?m)^ended with 0$`)
	if lines := strings.Split(strings.TrimSpace(screen), "\n"); !strings.HasPrefix(lines[0], "run ") {
		t.Errorf("got %q, want only the answer of runs", screen)
	}
	if colours := term.must("capture-pane", "-p", "-e", "-t", "shell"); strings.Contains(colours, "\x1b[") {
		t.Errorf("got colours: %q", colours)
	}
}
