package prompt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graphcleaner/graphcleaner/shell/internal/atomic"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
	"github.com/graphcleaner/graphcleaner/shell/stream"
)

// A dotCommand changes the session rather than asking the store.
type dotCommand struct {
	name    string
	usage   string
	summary string
}

// textFormats are the names of the formats that answers one after another may have.
var textFormats = print.FormatNames[:print.FormatParquet]

var dotCommands = []dotCommand{
	{".help", ".help [TOPIC]", "what can be asked, or more about a statement or about conditions"},
	{".mode", ".mode [FORMAT]", "print or set the output format: " + strings.Join(textFormats, ", ")},
	{".output", ".output [FILE]", "write answers to a file, in the format of its name; without FILE, to the screen again"},
	{".quit", ".quit", "leave"},
	{".read", ".read FILE", "run the statements of a file"},
	{".timing", ".timing on|off", "print the time of each statement"},
}

func dotNames() (names []string) {
	for _, c := range dotCommands {
		names = append(names, c.name)
	}
	return names
}

// dot runs a dot command.
func (s *session) dot(ctx context.Context, at query.Step) error {
	word, argument, _ := strings.Cut(strings.TrimSpace(at.Text), " ")
	word, argument = strings.TrimSuffix(word, ";"), strings.TrimSuffix(strings.TrimSpace(argument), ";")
	switch word {
	case ".help":
		return s.help(argument)
	case ".mode":
		if argument == "" {
			s.say(s.format.String())
			return nil
		}
		format, err := print.ParseFormat(argument)
		if err != nil || format == print.FormatParquet {
			return fmt.Errorf("unknown format %q, want %s", argument, wording.AnyOf(textFormats))
		}
		s.format = format
		return nil
	case ".timing":
		if s.timing = argument == "on"; !s.timing && argument != "off" {
			return fmt.Errorf(".timing %s: want on or off", argument)
		}
		return nil
	case ".output":
		return s.redirect(ctx, argument)
	case ".read":
		return s.read(ctx, argument)
	case ".quit":
		return errQuit
	}
	return fmt.Errorf("unknown command %s (commands: %s)", word, strings.Join(dotNames(), ", "))
}

// read runs the statements of a file.
func (s *session) read(ctx context.Context, file string) error {
	if file == "" {
		return errors.New(".read: want the name of a file")
	}
	in, err := stream.Open(ctx, file)
	if err != nil {
		return fmt.Errorf(".read: %w", err)
	}
	if s.depth++; s.depth > mostDepth {
		return errors.Join(fmt.Errorf(".read: %s: more than %d files that read each other", file, mostDepth), in.Close())
	}
	defer func() { s.depth-- }()
	return errors.Join(s.runScript(ctx, in, filepath.ToSlash(file)), in.Close())
}

// mostDepth is how many files may read each other in turn.
const mostDepth = 8

// help prints the manual, or the page of one topic.
func (s *session) help(of string) error {
	var page strings.Builder
	if of != "" {
		for _, m := range append(slices.Clone(query.Manual()), query.Conditions()) {
			if m.Name == of {
				fmt.Fprintf(&page, "%s\n\n%s.\n\n%s\n\nExample:\n    %s\n", m.Usage, wording.Sentence(m.Summary), m.Text,
					strings.Join(m.Examples, "\n    "))
				return s.printText(page.String())
			}
		}
		return fmt.Errorf(".help has nothing on %s (topics: %s, conditions)", of, strings.Join(query.StatementNames(), ", "))
	}
	page.WriteString("Statements end with a semicolon. At the prompt, a line that is a whole statement needs none, " +
		"and Ctrl-C or an empty line\n" +
		"ends one that is not whole. A comment begins with -- and a space.\n\n")
	for _, m := range query.Manual() {
		fmt.Fprintf(&page, "  %-10s %s\n", m.Name, m.Summary)
	}
	page.WriteString("\n")
	for _, c := range dotCommands {
		fmt.Fprintf(&page, "  %-18s %s\n", c.usage, c.summary)
	}
	page.WriteString("\n.help suspects prints more about suspects, and .help conditions says what may stand behind " +
		"where.\n")
	return s.printText(page.String())
}

// printText prints a text as an answer.
func (s *session) printText(text string) error {
	_, err := io.WriteString(s.out, text)
	return err
}

// A redirection is the file that answers go to. It replaces the earlier file when .output names another or the session
// ends, but not if the session ends with an error.
type redirection struct {
	*atomic.File
	name string       // as it was typed
	mode print.Format // of answers before it
}

// redirect sends answers to a file, in the format that its name asks for, or with "" back to where they went at first.
func (s *session) redirect(ctx context.Context, file string) error {
	if err := s.endOutput(false); err != nil || file == "" {
		return err
	}
	format, named := print.OfFile(file)
	if named && format == print.FormatParquet && s.format != format {
		return fmt.Errorf(".output %s: a Parquet file holds one answer: use shell -c with --format parquet", file)
	}
	begun, err := atomic.Begin(ctx, file, 0o666) // less the bits of the umask
	if err != nil {
		return fmt.Errorf(".output: %w", err)
	}
	s.output, s.out = &redirection{File: begun, name: file, mode: s.format}, begun.Writer
	if named {
		s.format = format
	}
	return nil
}

// endOutput puts the file of .output, if any, into place. Where the session failed, the file that was there stays.
func (s *session) endOutput(failed bool) error {
	r := s.output
	if r == nil {
		return nil
	}
	s.output, s.out, s.format = nil, s.opt.Out, r.mode
	if !failed {
		return r.Commit()
	}
	if !r.InPlace() {
		s.say(fmt.Sprintf("%s was not written", r.Path()))
	}
	return r.Discard()
}
