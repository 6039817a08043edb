package shell

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/stream"
)

// messageFlags are flags of every command: what it says on standard error.
type messageFlags struct {
	Quiet bool   `help:"Print only results, warnings and errors."`
	Log   string `enum:"text,json" default:"text" help:"Format of standard error: text, or json (one object per line)."`
}

// messages are written to people, on standard error, and are no data.
type messages struct {
	err   io.Writer
	flags messageFlags
	log   *slog.Logger // nil: messages are text
}

// follow makes the messages those that the flags want.
func (m *messages) follow(f messageFlags) {
	m.flags = f
	if f.Log == "json" {
		m.log = slog.New(slog.NewJSONHandler(m.err, &slog.HandlerOptions{ReplaceAttr: inUTC}))
	}
}

// inUTC has the times of a log in UTC, as all times that programs get.
func inUTC(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		a.Value = slog.TimeValue(a.Value.Time().UTC())
	}
	return a
}

// newProgress shows how far a command is, as the flags want it.
func (m *messages) newProgress() *progress {
	p := &progress{}
	switch file, ok := m.err.(*os.File); {
	case m.flags.Quiet:
	case m.log != nil:
		p.report = func(stage string, done, total int64) { p.write(m.log, stage, done, total) }
	case ok && print.IsTerminal(file):
		p.out, p.report = file, p.show
	}
	return p
}

// tell writes a message, also if notes are not wanted. Attributes are for logs alone: the text has them too.
func (m *messages) tell(level slog.Level, text string, attributes ...any) {
	// Where standard error cannot be written to there is nobody to be told.
	if m.log == nil {
		_, _ = fmt.Fprintln(m.err, print.EscapeLines(text))
	} else if text = strings.TrimSpace(text); text != "" {
		m.log.Log(context.Background(), level, text, attributes...)
	}
}

// say tells a note.
func (s *streams) say(format string, args ...any) {
	if !s.flags.Quiet {
		s.tell(slog.LevelInfo, fmt.Sprintf(format, args...))
	}
}

// notice passes on what the cleaner has to say.
func (s *streams) notice(text string) { s.say("%s", text) }

// caution tells what may make results wrong, also if notes are not wanted. It is a warning in a log.
func (s *streams) caution(text string) {
	if text != "" {
		s.tell(slog.LevelWarn, text)
	}
}

// sayNext names a command to go on with. A log is of what was done.
func (s *streams) sayNext(command, db string) {
	if s.log == nil {
		s.say("Next: %s %s %s", s.program, command, wording.ShellWord(db))
	}
}

// sayError tells why a command fails.
func (s *streams) sayError(format string, args ...any) {
	s.tell(slog.LevelError, fmt.Sprintf(format, args...))
}

// fail tells why the program ends. A log has no name of the program. Attributes are for logs.
func (s *streams) fail(text string, attributes ...any) {
	if s.log == nil {
		text = s.program + ": " + text
	}
	s.tell(slog.LevelError, text, attributes...)
}

// longestAnswer bounds the line that answers a question, in bytes.
const longestAnswer = 4 << 10

// agree asks a question that y or yes affirms, unless a flag has said yes. Any other answer is the error refused.
func (s *streams) agree(ctx context.Context, yes bool, question string, refusal error) error {
	if yes {
		return nil
	}
	yes, err := s.confirm(ctx, question)
	if err == nil && !yes {
		err = refusal
	}
	return err
}

// confirm asks a question that y or yes affirms.
func (s *streams) confirm(ctx context.Context, question string) (yes bool, err error) {
	if s.log != nil && !print.IsTerminal(s.err) {
		s.tell(slog.LevelInfo, question+" [y/N]")
	} else if _, err := fmt.Fprintf(s.err, "%s [y/N] ", print.EscapeLines(question)); err != nil {
		return false, err
	}
	in := io.LimitReader(stream.NewReader(ctx, s.in), longestAnswer)
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && line == "" || ctx.Err() != nil {
		s.tell(slog.LevelInfo, "")
	}
	line = strings.ToLower(strings.TrimSpace(line))
	return line == "y" || line == "yes", ctx.Err()
}
