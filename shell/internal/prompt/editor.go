package prompt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/reeflective/readline"
	"github.com/reeflective/readline/inputrc"
	"github.com/rivo/uniseg"
	"golang.org/x/term"

	"github.com/graphcleaner/graphcleaner/shell/internal/atomic"
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
	s.note(`Begin with clean, audit and suspects limit 20. Type .help for help, Ctrl-D to leave.`)
	edit, err := s.lineEditor()
	if err != nil {
		return err
	}
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	for {
		text, err := readText(ctx, s.opt.In.(*os.File), edit)
		switch {
		case ctx.Err() != nil:
			s.say("")
			return ctx.Err()
		case errors.Is(err, readline.ErrInterrupt):
			continue
		case errors.Is(err, io.EOF):
			s.say("")
			return nil
		case err != nil:
			return err
		}
		err = untilInterrupted(ctx, interrupts, func(ctx context.Context) error {
			return s.runScript(ctx, strings.NewReader(text), "")
		})
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

// readText reads a text by an editor until ctx ends. The editor waits for keys alone: it is then left to itself, and
// the terminal is made what it was before.
func readText(ctx context.Context, terminal *os.File, edit func() (string, error)) (string, error) {
	before, err := term.GetState(int(terminal.Fd()))
	if err != nil {
		return "", err
	}
	type input struct {
		text string
		err  error
	}
	inputs := make(chan input, 1)
	go func() {
		text, err := edit()
		inputs <- input{text, err}
	}()
	select {
	case t := <-inputs:
		return t.text, t.err
	case <-ctx.Done():
		return "", errors.Join(ctx.Err(), term.Restore(int(terminal.Fd()), before))
	}
}

// untilInterrupted runs statements under a context that the next interrupt ends.
func untilInterrupted(ctx context.Context, interrupts <-chan os.Signal, run func(context.Context) error) error {
	select {
	case <-interrupts: // at the prompt, where there was nothing to interrupt
	default:
	}
	ctx, cancel := context.WithCancel(ctx)
	end := make(chan struct{})
	go func() {
		defer close(end)
		select {
		case <-interrupts:
			cancel()
		case <-ctx.Done():
		}
	}()
	defer func() {
		cancel()
		<-end
	}()
	return run(ctx)
}

// lineEditor returns a function that reads statements with history and completion.
func (s *session) lineEditor() (func() (string, error), error) {
	editor := readline.NewShell()
	coloured := print.TakesColour(s.opt.Out)
	// Pasted lines are one text, and Tab shows what fits before it chooses. The terminal is not asked where the cursor
	// is: keys that come together with its answer would be lost. So the editor does not know the last line of the
	// screen, and is given lines below it. The marks before the lines of a text are coloured.
	for setting, on := range map[string]bool{
		"enable-bracketed-paste": true, "menu-complete-display-prefix": true, "cursor-position-probe": false,
		"multiline-column": coloured,
	} {
		if err := editor.Config.Set(setting, on); err != nil {
			return nil, err
		}
	}
	if !coloured {
		// The editor paints the chosen completion; this undoes it and inverts instead.
		if err := editor.Config.Set("completion-selection-style", "\x1b[0;7m"); err != nil {
			return nil, err
		}
	}
	// Ctrl-C drops the line, also if a list of completions is open, which is all that the editor's own abort would
	// close.
	closeList := editor.Keymap.Commands()["abort"]
	editor.Keymap.Register(map[string]func(){"drop-line": func() {
		closeList()
		editor.Display.AcceptLine()
		editor.History.Accept(false, false, readline.ErrInterrupt)
	}})
	for _, bound := range []struct{ keys, key, action string }{
		{"emacs", `\C-i`, "menu-complete"}, {"vi-insert", `\C-i`, "menu-complete"},
		{"emacs", `\C-c`, "drop-line"}, {"vi-insert", `\C-c`, "drop-line"}, {"menu-select", `\C-c`, "drop-line"},
	} {
		if err := editor.Config.Bind(bound.keys, inputrc.Unescape(bound.key), bound.action, false); err != nil {
			return nil, err
		}
	}
	editor.Prompt.Primary(func() string { return promptText })
	editor.Prompt.Secondary(func() string { return continueText })
	editor.AcceptMultiline = func(line []rune) bool { return isComplete(string(line)) }
	editor.Completer = func(line []rune, cursor int) readline.Completions {
		return s.completions(string(line[:cursor]))
	}
	below := lineRoom{terminal: s.opt.Out}
	editor.SyntaxHighlighter = func(line []rune) string {
		below.make(string(line)) // nothing is painted
		return string(line)
	}
	read := func() (string, error) {
		below.rows = 0
		below.make("")
		return editor.Readline()
	}
	if s.opt.NoHistory {
		return read, nil // lines of this session are remembered until its end
	}
	if file, err := s.openHistory(); err != nil {
		s.say(fmt.Sprintf("history of this session is not kept: %v", err))
	} else {
		editor.History.Delete()
		editor.History.Add("history", file)
	}
	return read, nil
}

// A lineRoom keeps lines of a terminal free below the cursor, for what is typed and one more.
type lineRoom struct {
	terminal io.Writer
	rows     int
}

// make makes room for a text behind the prompt. Where the screen ends it is scrolled; the cursor stays in its line.
func (r *lineRoom) make(text string) {
	rows, width := 1, print.ScreenOf(r.terminal).Width
	for line := range strings.Lines(text + "\n") {
		rows++
		if width > 0 {
			rows += (len(promptText) + uniseg.StringWidth(line)) / width
		}
	}
	if rows <= r.rows {
		return
	}
	const index, up = "\x1bD", "\x1b[A"
	// A terminal that cannot be written to ends the session at the next answer.
	_, _ = fmt.Fprint(r.terminal, strings.Repeat(index, rows)+strings.Repeat(up, rows))
	r.rows = rows
}

// openHistory opens the file of typed lines, made if need be for its owner alone.
func (s *session) openHistory() (readline.History, error) {
	file := s.opt.History
	if file == "" {
		state := os.Getenv("XDG_STATE_HOME")
		if !filepath.IsAbs(state) {
			home, err := os.UserHomeDir()
			if err != nil {
				return nil, err
			}
			state = filepath.Join(home, ".local", "state")
		}
		file = filepath.Join(state, "graphcleaner", "history")
	}
	if err := atomic.CheckOutsideStores(file); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	history, err := os.OpenFile(file, os.O_CREATE|os.O_RDONLY, 0o600)
	if err != nil {
		return nil, err
	}
	if err := history.Close(); err != nil {
		return nil, err
	}
	return readline.NewHistoryFromFile(file)
}

// isComplete reports whether a typed text can run, or fail, as it is: it ends with a semicolon or parses, or
// no further line could make it parse, or a blank line was added to have it run.
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
		if strings.HasSuffix(text, "\n") {
			return true
		}
		_, err = next.Parse()
		wrong, ok := errors.AsType[*query.ParseError](err)
		return !ok || !wrong.Unfinished
	}
}
