//go:build unix

package shell

import (
	"regexp"
	"testing"
)

// TestCompletionsAtTerminal presses Tab in interactive shells.
func TestCompletionsAtTerminal(t *testing.T) {
	for name, begin := range map[string]string{
		"bash": `bash --norc --noprofile -i`,
		"zsh":  `zsh -f -i`,
	} {
		t.Run(name, func(t *testing.T) {
			machineProgram(t, name)
			term := newTerminal(t)
			path := completionFile(t, name)
			term.session(100, 24, "sh", "-c", begin)
			if name == "zsh" {
				term.text(`autoload -U compinit && compinit -D; `)
			}
			term.text(`PS1='ready> '; source ` + path + `; clear`)
			term.keys("Enter")
			term.wait("the shell", `(?m)^ready>$`)
			for _, c := range []struct{ typed, want string }{
				{"graphcleaner cle", "graphcleaner clean"},
				{"graphcleaner clean papers.g", "graphcleaner clean papers.graph/"},
				{"graphcleaner clean g --report papers.c", "graphcleaner clean g --report papers.csv"},
				{"graphcleaner clean --preset pa", "graphcleaner clean --preset paper"},
				{"graphcleaner clean --preset=pa", "graphcleaner clean --preset=paper"},
				{"graphcleaner export papers.graph tr", "graphcleaner export papers.graph transition"},
			} {
				term.text(c.typed)
				term.keys("Tab")
				term.wait(c.want, `(?m)^ready> `+regexp.QuoteMeta(c.want)+`$`)
				term.keys("C-u")
				term.wait("an empty line", `(?m)^ready>$`)
			}
		})
	}
}
