package prompt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graphcleaner/graphcleaner/shell/internal/columnar"
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

var dotCommands = []dotCommand{
	{".help", ".help [TOPIC]", "what can be asked, or more about a statement or about conditions"},
	{".mode", ".mode [FORMAT]", "print or set the output format: " + strings.Join(print.FormatNames, ", ")},
	{".output", ".output [FILE]", "write answers to a file, in the format of .mode; nothing ends it"},
	{".quit", ".quit", "leave"},
	{".read", ".read FILE", "run the statements of a file"},
	{".timing", ".timing on|off", "print the time of each statement"},
}

// dot runs a dot command.
func (s *session) dot(ctx context.Context, at query.Step) error {
	word, argument, _ := strings.Cut(strings.TrimSpace(at.Text), " ")
	word, argument = strings.TrimSuffix(word, ";"), strings.TrimSuffix(strings.TrimSpace(argument), ";")
	if !strings.HasPrefix(word, ".") {
		word = "." + strings.ToLower(word)
	}
	switch word {
	case ".help":
		return s.help(argument)
	case ".mode":
		if argument == "" {
			s.say(s.format.String())
			return nil
		}
		format, err := print.ParseFormat(argument)
		if err != nil {
			return err
		}
		s.format = columnar.Format(format)
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
	case ".quit", ".exit":
		return errQuit
	}
	var names []string
	for _, c := range dotCommands {
		names = append(names, c.name)
	}
	return fmt.Errorf("unknown command %s%s (commands: %s)", word, wording.DidYouMean(word, names), strings.Join(names, ", "))
}

// read runs the statements of a file.
func (s *session) read(ctx context.Context, file string) error {
	if file == "" {
		return errors.New(".read: want the name of a file")
	}
	in, err := OpenScript(ctx, file)
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

// OpenScript opens a file of statements, or a pipe that brings some.
func OpenScript(ctx context.Context, path string) (*stream.File, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil: // the open says it
	case info.IsDir():
		return nil, fmt.Errorf("%s is a directory, want a file of statements", path)
	case info.Mode()&fs.ModeDevice != 0:
		return nil, fmt.Errorf("%s is a device, want a file of statements, or a pipe", path)
	}
	return stream.Open(ctx, path)
}

// ofConditions are the topics of help that lead to the page on conditions.
var ofConditions = []string{"conditions", "functions", "operators", "properties", "share", "where"}

// helpTopics are what .help knows beside the statements and the dot commands.
func helpTopics() []string { return append(query.StatementNames(), ofConditions...) }

// help prints the manual, or the page of one topic.
func (s *session) help(of string) error {
	var page strings.Builder
	if of != "" {
		name, _, _ := strings.Cut(strings.ToLower(of), "(") // as of share()
		for _, c := range dotCommands {
			if strings.TrimPrefix(name, ".") == c.name[1:] {
				return s.printText(fmt.Sprintf("%s\n\n%s.\n", c.usage, wording.Sentence(c.summary)))
			}
		}
		pages := query.Manual()
		if slices.Contains(ofConditions, name) || slices.Contains(ofConditions, name+"s") {
			pages, name = []query.Page{query.Conditions()}, query.Conditions().Name
		}
		for _, m := range pages {
			if m.Name == name {
				fmt.Fprintf(&page, "%s\n\n%s.\n\n%s\n\nExample:\n    %s\n", m.Usage, wording.Sentence(m.Summary), m.Text,
					strings.Join(m.Examples, "\n    "))
				return s.printText(page.String())
			}
		}
		return fmt.Errorf(".help has nothing on %s%s (topics: %s)", of, wording.DidYouMean(of, helpTopics()),
			strings.Join(helpTopics(), ", "))
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
	return s.print(func(out io.Writer) error {
		_, err := io.WriteString(out, text)
		return err
	})
}
