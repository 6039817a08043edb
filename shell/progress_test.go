package shell

import (
	"strings"
	"sync"
	"testing"
	"time"
)

func TestStageText(t *testing.T) {
	for _, c := range []struct {
		stage       string
		done, total int64
		took        time.Duration
		want        string
	}{
		{"detector", 1, 5, 3 * time.Microsecond, "detector: 1 of 5"},
		{"detector", 4, 5, time.Minute, "detector: 4 of 5"},
		{"sync", 0, 0, time.Minute, "sync"},
		{"diagonal", 18000, 36000, 20 * time.Nanosecond, "diagonal: 18 k of 36 k edges"},
		{"propagate", 12_345_678, 31_400_000, 2 * time.Second, "propagate: 12.3 M of 31.4 M edges, 6.17 M/s"},
		{"ids", 999, 999_900, 10 * time.Second, "ids: 999 of 1 M nodes, 99.9/s"},
		{"rows of p.npy", 0, 10, 2 * time.Second, "rows of p.npy: 0 of 10 nodes, 0/s"},
		{"read edges.csv", 3 << 20, 3 << 30, 2 * time.Second, "read edges.csv: 3 MiB of 3 GiB, 1.5 MiB/s"},
		{"read e.csv", 0, 90, 0, "read e.csv: 0 bytes of 90 bytes"},
	} {
		if got := stageText(c.stage, c.done, c.total, c.took); got != c.want {
			t.Errorf("%s at %d of %d after %v: got %q, want %q", c.stage, c.done, c.total, c.took, got, c.want)
		}
	}
}

// lockedText is a text that a bar, which turns by itself, may write to.
type lockedText struct {
	mu   sync.Mutex
	text []byte
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	return len(p), nil
}

// take returns what was written since the last call.
func (l *lockedText) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := string(l.text)
	l.text = l.text[:0]
	return text
}

// A stage that has just begun says neither a rate nor a time left, and what was drawn is taken back.
func TestProgressBar(t *testing.T) {
	var out lockedText
	p := &progress{out: &out}
	p.show("diagonal", 18000, 36000)
	if got := out.take(); !strings.Contains(got, "50%") || !strings.Contains(got, "[0s] diagonal: 18 k of 36 k edges") {
		t.Errorf("half of a stage: got %q, want 50%% and the count without a rate", got)
	}
	p.began = p.began.Add(-2 * settled)
	time.Sleep(110 * time.Millisecond) // the bar draws itself no more often
	p.show("diagonal", 27000, 36000)
	if got := out.take(); !strings.Contains(got, "[0s:0s] diagonal: 27 k of 36 k edges, 1") {
		t.Errorf("three quarters after a while: got %q, want a rate and the time left", got)
	}
	p.clear()
	if got := out.take(); strings.Contains(got, "diagonal") {
		t.Errorf("clear: got %q, want nothing to be left", got)
	}
	p.show("sync", 0, 0)
	p.clear()
	out.take()
	time.Sleep(250 * time.Millisecond) // a bar of unknown length would have turned
	if got := out.take(); strings.Contains(got, "sync") {
		t.Errorf("after clear: got %q, want nothing more", got)
	}
}
