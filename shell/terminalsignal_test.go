//go:build unix

package shell

import (
	"strings"
	"syscall"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
	"github.com/graphcleaner/graphcleaner/kv"
)

// TestTerminalEnds ends the prompt by signals in all that it waits for: the terminal is as it was before, and the
// store is closed.
func TestTerminalEnds(t *testing.T) {
	t.Parallel()
	small := closedStore(t, papers.Scored(t, 5000))
	long := longToClean(t)
	for _, c := range []struct {
		name, store string
		typed       string
		waits       string // a pattern on the screen while it waits
	}{
		{name: "at the prompt", store: small, waits: `(?m)^graphcleaner> *$`},
		{name: "in a line", store: small, typed: "count nod", waits: `count nod$`},
		{name: "at a question", store: small, typed: "unlabel all where id < 10\n", waits: `\[y/N\] *$`},
		{name: "in a clean", store: long, typed: "clean hops 3\n", waits: `(?m)(%|/s|of \d)`},
	} {
		for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
			term := newTerminal(t)
			term.start(c.store)
			if line, entered := strings.CutSuffix(c.typed, "\n"); line != "" {
				term.text(line)
				if entered {
					term.keys("Enter")
				}
			}
			term.wait(c.name, c.waits)
			term.signal(signal)
			screen := term.wait("the end, "+c.name+" by "+signal.String(), `ended with \d+`)
			if !strings.Contains(screen, "ended with 130") || !strings.Contains(screen, "interrupted") {
				t.Errorf("%s, %s: the screen is\n%s", c.name, signal, screen)
			}
			if strings.Contains(screen, "\nraw") {
				t.Errorf("%s, %s: the terminal is left raw:\n%s", c.name, signal, screen)
			}
			term.stop()
			// A store that was not closed cannot be opened to read alone.
			err := withStore(c.store, kv.Options{MemoryBudget: 1, ReadOnly: true}, func(*kv.Store) error { return nil })
			if err != nil {
				t.Errorf("%s, %s: %v", c.name, signal, err)
			}
		}
	}
}
