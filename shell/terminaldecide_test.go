//go:build unix

package shell

import (
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
)

// TestTerminalConfirms decides on conditions at the prompt: by a key, and not without it.
func TestTerminalConfirms(t *testing.T) {
	t.Parallel()
	term := newTerminal(t)
	term.start(terminalStore(t, papers.Cleaned(t)), "--who", "ann")
	for key, answer := range map[string]string{"n": "no", "Enter": "no", "Escape": "no", "C-c": "no"} {
		term.text("accept all where score > 0.9")
		term.keys("Enter")
		term.wait("the question", `Accept the suggested labels of 3 nodes\? \[y/N\] *$`)
		term.keys(key)
		term.wait("no decision after "+key, `\[y/N\] `+answer+`\n(?s).*nothing is decided: not confirmed.*graphcleaner> *$`)
		term.keys("C-l")
		term.wait("an empty screen", `^graphcleaner> *$`)
	}
	term.text("accept all where score > 0.9")
	term.keys("Enter")
	term.wait("the question", `\[y/N\] *$`)
	term.keys("y")
	term.wait("the decisions", `(?s)\[y/N\] yes\n3 nodes accepted: undo takes it back\n.*accept .*\(3 rows\)`)
	term.text("count suspects")
	term.keys("Enter")
	term.wait("no suspects", `(?m)^ *0$`)
	term.text("undo")
	term.keys("Enter")
	term.wait("the undoing", `taken back: 1 step, 3 decisions`)
	term.text("history p4")
	term.keys("Enter")
	term.wait("the history", `(?s)accept .* ann .*undo .* ann .*\(2 rows`)
	term.leave()
}
