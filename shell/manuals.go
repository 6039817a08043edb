package shell

import (
	"fmt"
	"io"
	"slices"

	"github.com/alecthomas/kong"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/columnar"
	"github.com/graphcleaner/graphcleaner/shell/internal/manual"
	"github.com/graphcleaner/graphcleaner/shell/print"
)

// installedName is what the program is called where it is installed.
const installedName = "graphcleaner"

// completionsCommand prints the completions of a shell.
type completionsCommand struct {
	Shell string `arg:"" name:"SHELL" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

func (*completionsCommand) Help() string {
	return `Prints a script. With it, the Tab key completes commands, flags, values and files.

    graphcleaner completions bash > ~/.local/share/bash-completion/completions/graphcleaner
    graphcleaner completions zsh > "${fpath[1]}/_graphcleaner"
    graphcleaner completions fish > ~/.config/fish/completions/graphcleaner.fish`
}

func (c *completionsCommand) Run(s *streams) error {
	p := s.manuals()
	text := map[string]func() string{"bash": p.Bash, "zsh": p.Zsh, "fish": p.Fish}[c.Shell]()
	_, err := io.WriteString(s.out, text)
	return err
}

// manCommand prints the manual page.
type manCommand struct{}

func (*manCommand) Help() string {
	return `Prints the manual page of all commands, for man.

    graphcleaner man > graphcleaner.1 && man ./graphcleaner.1
    graphcleaner man > /usr/local/share/man/man1/graphcleaner.1`
}

func (*manCommand) Run(s *streams) error {
	build, err := build()
	if err != nil {
		return err
	}
	_, err = io.WriteString(s.out, s.manuals().Page(build, exitCodes))
	return err
}

// exitCodes are those of Main.
var exitCodes = []manual.Line{
	{Term: fmt.Sprint(exitDone), Meaning: "Done."},
	{Term: fmt.Sprint(exitFailed), Meaning: "Failed: a file or a store is not as it should be, a statement or a write failed, or check found problems."},
	{Term: fmt.Sprint(exitUsage), Meaning: "Wrong usage: unknown commands or flags, or flags that cannot be meant together."},
	{Term: fmt.Sprint(exitVerdict), Meaning: "The verdict of gate, or of import --append --check: the labels may not pass."},
	{Term: fmt.Sprint(exitInterrupted), Meaning: "Interrupted by Ctrl-C, SIGTERM or SIGHUP."},
}

// manuals are made of the commands and flags as the help has them.
func (s *streams) manuals() *manual.Program {
	parser := s.parser(new(commandLine), nil, installedName, io.Discard, func(int) {})
	return &manual.Program{Model: parser.Model, Values: valuesOf}
}

// valuesOf are the values that a flag or an argument can have, nil if they cannot be listed.
func valuesOf(v *kong.Value) []string {
	if v.Flag != nil && v.Name == "method" {
		return cleaner.MethodNames()
	}
	switch v.Target.Interface().(type) {
	case print.Format:
		return print.FormatNames
	case columnar.Format:
		return append(slices.Clone(print.FormatNames), columnar.ArrowStream.String())
	case kv.Direction, *kv.Direction:
		return []string{kv.Both.String(), kv.Out.String(), kv.In.String()}
	}
	if v.Enum == "" {
		return nil
	}
	return slices.DeleteFunc(v.EnumSlice(), func(value string) bool { return value == "" })
}
