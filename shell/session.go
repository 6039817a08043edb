package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/rivo/uniseg"
	"golang.org/x/term"

	"github.com/graphcleaner/graphcleaner/kv"
)

// SessionOptions says where a session reads statements and how it answers.
type SessionOptions struct {
	Store *kv.Store

	// In holds statements that end with a semicolon or with the input, and dot commands of a line each.
	// Answers go to Out and everything else, such as the threshold a guarantee came to, to Err.
	In       io.Reader
	Out, Err io.Writer

	// Name of the input, such as a file, put before the positions in errors. "" leaves it out.
	Name string

	Format Format
	Timing bool

	// Interactive prompts for statements on the terminal. Errors are printed and the session goes on; Ctrl-C
	// ends the statement that runs, or clears the line, and Ctrl-D the session. It then answers to SIGINT
	// itself and not to the end of ctx.
	Interactive bool

	// History is the file of the lines typed at the prompt. "" is graphcleaner/history in the directory
	// XDG_STATE_HOME, or else in ~/.local/state.
	History string

	// KeepGoing runs what follows a statement that failed. Run still returns an error at the end.
	KeepGoing bool

	// ReadOnly refuses statements that write.
	ReadOnly bool

	Workers      int   // of statements that compute; zero means GOMAXPROCS
	MemoryBudget int64 // bytes for statements that compute; zero leaves it to them
	Progress     kv.Progress
}

// Run answers the statements of an input in turn. It stops at the first that fails, unless told otherwise,
// and returns its error, with its position in the input where it has one; .quit and the end of the input
// are no errors.
func Run(ctx context.Context, opt SessionOptions) error {
	s := &session{
		opt:    opt,
		out:    opt.Out,
		format: opt.Format,
		timing: opt.Timing,
		engine: engine{
			store:    opt.Store,
			workers:  opt.Workers,
			memory:   opt.MemoryBudget,
			readOnly: opt.ReadOnly,
			progress: opt.Progress,
		},
	}
	s.engine.notice = s.say
	var err error
	if opt.Interactive {
		err = s.converse(context.WithoutCancel(ctx))
	} else {
		err = s.runScript(ctx, opt.In, opt.Name, 0)
	}
	if errors.Is(err, errQuit) {
		err = nil
	}
	if err == nil && s.failed > 0 && !opt.Interactive {
		err = fmt.Errorf("%d of %d statements failed", s.failed, s.done+s.failed)
	}
	return firstError(err, s.redirect(""))
}

// errQuit is the wish to leave.
var errQuit = errors.New("quit")

// A session holds what dot commands change.
type session struct {
	opt          SessionOptions
	engine       engine
	out          io.Writer
	file         *os.File // that out was redirected to, or nil
	format       Format
	timing       bool
	done, failed int // statements
}

// say prints a line for people.
func (s *session) say(line string) {
	// Where standard error cannot be written to there is nobody to be told.
	_, _ = fmt.Fprintln(s.opt.Err, line)
}

// runScript answers everything an input holds. Depth counts the .read commands it is inside of.
func (s *session) runScript(ctx context.Context, in io.Reader, name string, depth int) error {
	for source := newScript(in); ; {
		next, err := source.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err = firstError(err, ctx.Err()); err != nil {
			return err
		}
		err = s.step(ctx, next, depth)
		switch {
		case err == nil:
			s.done++
		case errors.Is(err, errQuit) || ctx.Err() != nil:
			return err
		case s.opt.KeepGoing || s.opt.Interactive:
			s.failed++
			s.sayError(next, name, err)
		default:
			s.point(next, err)
			return s.placed(next, name, err)
		}
	}
}

// step answers one statement or dot command.
func (s *session) step(ctx context.Context, next step, depth int) error {
	if next.dot {
		return s.dot(ctx, next, depth)
	}
	if strings.TrimSpace(next.text) == ";" {
		return nil
	}
	started := time.Now()
	parsed, err := parse(next.text, next.pos)
	if err != nil {
		return err
	}
	result, err := s.engine.run(ctx, parsed)
	if err != nil {
		return err
	}
	for _, notice := range result.Notices() {
		s.say(notice)
	}
	rows, err := Render(s.out, result, s.format)
	if err != nil {
		return err
	}
	s.sayRows(result, rows, time.Since(started))
	return nil
}

// sayRows prints how many rows a table had, to people, and the time if asked.
func (s *session) sayRows(r *Result, rows int64, took time.Duration) {
	var parts []string
	listed := !r.record && !r.bare && r.sections == nil
	if listed && (s.timing || s.file == nil && s.format == FormatTable && isTerminal(s.out)) {
		if rows == 1 {
			parts = append(parts, "1 row")
		} else {
			parts = append(parts, fmt.Sprintf("%d rows", rows))
		}
	}
	if s.timing {
		parts = append(parts, took.Round(time.Microsecond).String())
		if r.cost != nil {
			parts = append(parts, r.cost())
		}
	}
	if len(parts) > 0 {
		s.say("(" + strings.Join(parts, ", ") + ")")
	}
}

// A placedError is an error with the place, in a named input, of the statement that it came from.
type placedError struct {
	place string // such as "job.q:3:1: "
	err   error
}

func (e *placedError) Error() string { return e.place + e.err.Error() }
func (e *placedError) Unwrap() error { return e.err }

// placed puts the name of the input to an error that says where in it. Of files that read each other, the first and the
// last are named.
func (s *session) placed(at step, name string, err error) error {
	if name == "" {
		return err
	}
	place := fmt.Sprintf("%s:%s: ", name, at.pos)
	if inner, ok := errors.AsType[*placedError](err); ok {
		if innermost, ok := errors.AsType[*placedError](inner.err); ok {
			inner = innermost
		}
		return &placedError{place: place, err: inner}
	}
	if _, ok := position(err); ok {
		place = name + ":"
	}
	return &placedError{place: place, err: err}
}

// sayError prints an error of a session that goes on.
func (s *session) sayError(at step, name string, err error) {
	s.point(at, err)
	s.say(s.placed(at, name, err).Error())
}

// point shows on a terminal where in the text an error is: the line, and a caret under the place.
func (s *session) point(at step, err error) {
	pos, ok := position(err)
	_, elsewhere := errors.AsType[*placedError](err) // in a file that the step read
	if !ok || elsewhere || !isTerminal(s.opt.Err) {
		return
	}
	s.say(caret(at, pos))
}

// caret is the line of a step that a position is in, and below it a ^ under the position.
func caret(at step, pos Pos) string {
	offset := min(max(0, pos.Offset-at.pos.Offset), len(at.text))
	begin := 1 + strings.LastIndexByte(at.text[:offset], '\n')
	before := at.text[begin:offset]
	rest, _, _ := strings.Cut(at.text[offset:], "\n")
	blank := strings.Repeat(" ", uniseg.StringWidth(escapeControls(before)))
	return "  " + escapeControls(before+strings.TrimRight(rest, "\r")) + "\n  " + blank + "^"
}

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
