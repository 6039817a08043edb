package prompt

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"

	"golang.org/x/term"

	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

const (
	promptText   = "graphcleaner> "
	continueText = "         ...> "
)

// converse prompts for statements until Ctrl-D, .quit or the end of ctx. The errors of statements are printed; only the
// end of ctx, and what makes the terminal unusable, is returned.
func (s *session) converse(ctx context.Context) error {
	s.opt.Note(`Begin with clean, audit and suspects limit 20. Type .help for help, Ctrl-D to leave.`)
	edit := s.newEditor()
	between := make(chan os.Signal, 1) // statements, where there is nothing to interrupt
	signal.Notify(between, os.Interrupt)
	defer signal.Stop(between)
	for {
		text, err := edit.read(ctx)
		switch {
		case ctx.Err() != nil:
			s.say("")
			return ctx.Err()
		case errors.Is(err, errDropped):
			continue
		case errors.Is(err, io.EOF):
			s.say("")
			return nil
		case err != nil:
			return err
		}
		statement, stop := signal.NotifyContext(ctx, os.Interrupt)
		err = s.runScript(statement, strings.NewReader(text), "")
		stop()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, context.Canceled):
			s.say("interrupted")
		case err != nil:
			return err
		}
	}
}

// errDropped is Ctrl-C at the prompt.
var errDropped = errors.New("the line was dropped")

// An editor reads statements from a terminal. It keeps the lines of the session.
type editor struct {
	session  *session
	terminal *os.File
	lines    *term.Terminal
	dropped  bool // by Ctrl-C
}

func (s *session) newEditor() *editor {
	e := &editor{session: s, terminal: s.opt.In.(*os.File)}
	e.lines = term.NewTerminal(e, promptText)
	return e
}

// drop begins with an empty line, whatever was typed.
func (e *editor) drop() {
	e.dropped = false
	kept := e.lines.History
	e.lines = term.NewTerminal(e, promptText)
	e.lines.History = kept
}

// Read reads keys. The line editor takes Ctrl-C for the end of the input, as Ctrl-D.
func (e *editor) Read(p []byte) (int, error) {
	n, err := e.terminal.Read(p)
	e.dropped = e.dropped || bytes.IndexByte(p[:n], 'C'&0x1f) >= 0
	return n, err
}

// Write writes to the terminal.
func (e *editor) Write(p []byte) (int, error) { return e.session.opt.Out.Write(p) }

// read reads a text that is a whole statement, or cannot become one, until ctx ends. The editor waits for keys alone:
// it is then left to itself. The terminal is raw only while a line is typed.
func (e *editor) read(ctx context.Context) (text string, err error) {
	e.lines.SetPrompt(promptText)
	for {
		line, err := e.readLine(ctx)
		if errors.Is(err, io.EOF) && e.dropped {
			err = errDropped
			e.session.say("")
			e.drop()
		}
		isPasted := errors.Is(err, term.ErrPasteIndicator) // and more of it may follow: it runs once Enter is typed
		if err != nil && !isPasted {
			return "", err
		}
		if text += line; !isPasted && (line == "" || isComplete(text)) {
			return text, nil
		}
		text += "\n"
		e.lines.SetPrompt(continueText)
	}
}

func (e *editor) readLine(ctx context.Context) (line string, err error) {
	before, err := term.MakeRaw(int(e.terminal.Fd()))
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, term.Restore(int(e.terminal.Fd()), before)) }()
	if on := print.ScreenOf(e.session.opt.Out); on.Width > 0 {
		if err := e.lines.SetSize(on.Width, on.Height); err != nil {
			return "", err
		}
	}
	e.lines.SetBracketedPasteMode(true)
	defer e.lines.SetBracketedPasteMode(false)
	type input struct {
		line string
		err  error
	}
	inputs := make(chan input, 1)
	go func() {
		line, err := e.lines.ReadLine()
		inputs <- input{line, err}
	}()
	select {
	case got := <-inputs:
		return got.line, got.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// isComplete reports whether a typed text can run, or fail, as it is: it ends with a semicolon or parses, or no further
// line could make it parse.
func isComplete(text string) bool {
	source := query.NewScript(strings.NewReader(text))
	for {
		next, err := source.Next()
		if err != nil || next.Dot {
			return true
		}
		if strings.HasSuffix(next.Text, ";") {
			continue
		}
		_, err = next.Parse()
		wrong, ok := errors.AsType[*query.TextError](err)
		return !ok || !wrong.Unfinished
	}
}
