package shell

import (
	"strings"
	"sync"
	"testing"
	"time"
)

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

// TestProgressBar draws a stage, and takes it back.
func TestProgressBar(t *testing.T) {
	var out lockedText
	p := &progress{out: &out}
	p.show("diagonal", 18000, 36000)
	if got := out.take(); !strings.Contains(got, "diagonal") || !strings.Contains(got, "50%") || !strings.Contains(got, "18000/36000") {
		t.Errorf("half of a stage: got %q, want its name, 50%% and the count", got)
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
