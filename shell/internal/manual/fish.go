package manual

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// Fish returns the completions of fish.
func (p *Program) Fish() string {
	var b strings.Builder
	name := p.Model.Name
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# Completions of %s for fish.", name)
	line("complete -c %s -f", name)
	for _, flag := range p.shared() {
		line("complete -c %s%s", name, p.fishFlag(flag))
	}
	for _, c := range p.commands() {
		line("complete -c %s -n __fish_use_subcommand -a %s -d %s", name, c.Name, fishQuote(brief(c.Help)))
		when := fmt.Sprintf("complete -c %s -n '__fish_seen_subcommand_from %s'", name, c.Name)
		for _, flag := range c.Flags {
			line("%s%s", when, p.fishFlag(flag))
		}
		for _, a := range c.Positional {
			switch p.kindOf(a) {
			case listed:
				line("%s -a %s -d %s", when, fishQuote(strings.Join(p.Values(a), " ")), fishQuote(a.Name))
			case directories:
				line("%s -a '(__fish_complete_directories)'", when)
			case files:
				line("%s -F", when)
			}
		}
	}
	return b.String()
}

// fishFlag is how complete knows a flag.
func (p *Program) fishFlag(flag *kong.Flag) string {
	text := " -l " + flag.Name
	if flag.Short != 0 {
		text += " -s " + string(flag.Short)
	}
	if hasValue(flag) {
		switch p.kindOf(flag.Value) {
		case listed:
			text += " -x -a " + fishQuote(strings.Join(p.Values(flag.Value), " "))
		case directories:
			text += " -x -a '(__fish_complete_directories)'"
		case files:
			text += " -r -F"
		case free:
			text += " -x"
		}
	}
	return text + " -d " + fishQuote(brief(flag.Help))
}

// fishQuote is a text as one word of fish.
func fishQuote(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(text) + "'"
}
