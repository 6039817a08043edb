package prompt

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
	"github.com/graphcleaner/graphcleaner/shell/stream"
)

// Options says where a session reads statements and how it answers.
type Options struct {
	Store Store

	// In holds statements that end with a semicolon or with the input, and dot commands of a line each; a statement has
	// a MiB at most. The end of ctx ends the wait for In, if it is a file. Answers go to Out and everything else, such
	// as the threshold a guarantee came to, to Err.
	In       io.Reader
	Out, Err io.Writer

	// Note takes remarks on answers, and Fail errors after which the session goes on. If they are nil, Err has both.
	Note, Fail func(line string)

	// Name of the input, such as a file, put before the positions in errors. "" leaves it out.
	Name string

	// A Parquet file holds the answer to one statement.
	Format print.Format

	// Interactive prompts for statements on the terminal. Errors are printed and the session goes on; Ctrl-C
	// ends the statement that runs, or clears the line, and Ctrl-D the session. It answers to SIGINT itself, so ctx,
	// which ends the session, should not end by it. In and Out are a terminal that can be edited on.
	Interactive bool

	// Decisions on the nodes of a condition want a yes: Yes gives it to all, and else Confirm is asked. Without
	// Confirm, they are refused with ErrNotConfirmed.
	Yes     bool
	Confirm func(ctx context.Context, question string) (bool, error)
}

// Run answers the statements of an input in turn. It stops at the first that fails, unless it is Interactive, and
// returns its error, with its position in the input where it has one; .quit and the end of the input
// are no errors.
func Run(ctx context.Context, opt Options) error {
	s := &session{opt: opt, out: opt.Out, format: opt.Format}
	if opt.Note == nil {
		s.opt.Note = s.say
	}
	if opt.Fail == nil {
		s.opt.Fail = s.say
	}
	var err error
	if opt.Interactive {
		err = s.converse(ctx)
	} else {
		err = s.runScript(ctx, stream.NewReader(ctx, opt.In), opt.Name)
	}
	if errors.Is(err, errQuit) {
		err = nil
	}
	if err == nil && s.format == print.FormatParquet && s.asked == 0 {
		err = errors.New("a Parquet file holds one answer: got no statement")
	}
	return cmp.Or(err, s.endOutput(err != nil))
}

// errQuit is the wish to leave.
var errQuit = errors.New("quit")

// A session holds the settings that dot commands change.
type session struct {
	opt    Options
	out    io.Writer
	output *redirection // nil where out is opt.Out
	depth  int          // of the files that read each other
	format print.Format
	timing bool
	asked  int // statements that want an answer
}

// say prints a line for people.
func (s *session) say(line string) {
	// Where standard error cannot be written to there is nobody to be told.
	_, _ = fmt.Fprintln(s.opt.Err, print.EscapeLines(line))
}

// runScript answers everything an input holds.
func (s *session) runScript(ctx context.Context, in io.Reader, name string) error {
	for source := query.NewScript(in); ; {
		next, err := source.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil: // nothing after it can be read
			return s.place(next, name, err)
		}
		err = s.step(ctx, next)
		switch {
		case err == nil:
		case errors.Is(err, errQuit) || ctx.Err() != nil:
			return err
		case s.opt.Interactive:
			s.sayError(next, name, err)
		default:
			return s.place(next, name, err)
		}
	}
}

// step answers one statement or dot command.
func (s *session) step(ctx context.Context, next query.Step) error {
	if next.Dot {
		return s.dot(ctx, next)
	}
	text := strings.TrimSpace(strings.TrimSuffix(next.Text, ";"))
	if text == "" {
		return nil
	}
	on := print.ScreenOf(s.out)
	question := Question{Step: next, Format: s.format, Screen: *on, Asks: !s.opt.Yes}
	if _, err := question.Statement(); err != nil {
		return err // no store is needed to say so
	}
	if s.asked++; s.asked > 1 && s.format == print.FormatParquet {
		return &query.TextError{Pos: next.Pos, Err: errors.New("a Parquet file holds one answer: got a second statement")}
	}
	outcome, err := s.opt.Store.Answer(ctx, question, Listener{Out: s.out, Notice: s.opt.Note})
	for question.Asks && err != nil {
		if err = s.confirm(ctx, &question, err); err != nil {
			return err
		}
		outcome, err = s.opt.Store.Answer(ctx, question, Listener{Out: s.out, Notice: s.opt.Note})
	}
	if err != nil {
		return err
	}
	s.sayRows(outcome)
	if s.output != nil {
		s.opt.Note(wording.Count(outcome.Rows, "row", "rows") + " to " + s.output.name)
	}
	return nil
}

// confirm asks what an UnconfirmedError asks, and notes the yes in the question. Any other error it returns.
func (s *session) confirm(ctx context.Context, q *Question, err error) error {
	about, ok := errors.AsType[*UnconfirmedError](err)
	if !ok {
		return err
	}
	if q.Confirmed != [sha256.Size]byte{} {
		s.opt.Note("the nodes have changed since you were asked:")
	}
	for _, line := range about.First {
		s.opt.Note("  " + print.EscapeControls(line))
	}
	if s.opt.Confirm == nil {
		return fmt.Errorf("%w: there is no terminal to ask at, and --yes was not given: %s", query.ErrNotConfirmed,
			about.Text)
	}
	yes, err := s.opt.Confirm(ctx, about.Text)
	if err == nil && !yes {
		err = fmt.Errorf("nothing is decided: %w", query.ErrNotConfirmed)
	}
	q.Confirmed = about.Digest
	return err
}

// sayRows prints how many rows a table had, to people, and the time if asked.
func (s *session) sayRows(o Outcome) {
	var parts []string
	if o.Listed && (s.timing || s.output == nil && s.format == print.FormatTable && print.IsTerminal(s.out)) {
		parts = append(parts, wording.Count(o.Rows, "row", "rows"))
	}
	if o.Cut {
		parts = append(parts, "values with … are cut to fit: .mode jsonl shows them whole")
	}
	if s.timing {
		parts = append(parts, o.Took.Round(time.Microsecond).String())
	}
	if len(parts) > 0 {
		s.opt.Note("(" + strings.Join(parts, ", ") + ")")
	}
}

// A placedError is an error with the place, in a named input, of the statement that it came from.
type placedError struct {
	place string // such as "job.q:3:1: "
	err   error
}

func (e *placedError) Error() string { return e.place + e.err.Error() }
func (e *placedError) Unwrap() error { return e.err }

// place puts the name of the input to an error that says where in it.
func (s *session) place(at query.Step, name string, err error) error {
	if name == "" {
		return err
	}
	place := fmt.Sprintf("%s:%s: ", name, at.Pos)
	if _, elsewhere := errors.AsType[*placedError](err); elsewhere {
		return err // in a file that this one reads
	}
	if _, ok := query.Position(err); ok {
		place = name + ":"
	}
	return &placedError{place: place, err: err}
}

// sayError prints an error of a session that goes on.
func (s *session) sayError(at query.Step, name string, err error) {
	s.opt.Fail(wording.Plain(s.place(at, name, err)))
}
