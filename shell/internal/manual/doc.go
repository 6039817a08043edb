// Package manual makes the manual page and the completions of shells from the commands and flags of a program, so that they say what its
// help says. It knows no store and no command of its own.
package manual

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// A Program is what manuals are made of.
type Program struct {
	Model *kong.Application

	// Values are those that a flag or an argument can have, nil if they cannot be listed. Kong knows those of the tag enum alone.
	Values func(*kong.Value) []string
}

// A kind says how a shell completes a value.
type kind int

const (
	free        kind = iota // by nothing
	listed                  // by one of its values
	files                   // by the name of a file or a directory
	directories             // by the name of a directory
)

// kindOf says how a flag or an argument is completed. A file has the tag file, and a store the name DB.
func (p *Program) kindOf(v *kong.Value) kind {
	switch {
	case p.Values(v) != nil:
		return listed
	case v.Name == "DB", v.Flag != nil && v.Flag.PlaceHolder == "DIR":
		return directories
	case v.Tag.Get("file") != "", v.Flag == nil:
		return files
	}
	return free
}

// flagsOf are the flags of a command, those of every command last.
func (p *Program) flagsOf(command *kong.Node) []*kong.Flag {
	flags := slices.Clone(command.Flags)
	if command != p.Model.Node {
		flags = append(flags, p.shared()...)
	}
	return flags
}

// shared are the flags of every command.
func (p *Program) shared() []*kong.Flag { return p.Model.Flags }

func (p *Program) commands() []*kong.Node { return p.Model.Leaves(true) }

// hasValue reports whether a flag is followed by a value.
func hasValue(flag *kong.Flag) bool { return !flag.IsBool() && !flag.IsCounter() }

// names are how a flag may be written.
func names(flag *kong.Flag) []string {
	all := []string{"--" + flag.Name}
	if flag.Short != 0 {
		all = append(all, "-"+string(flag.Short))
	}
	return all
}

// brief is the first sentence of a help text, without its end.
func brief(help string) string {
	sentence, _, _ := strings.Cut(help, ". ")
	return strings.TrimSuffix(strings.TrimSuffix(sentence, "."), ":")
}
