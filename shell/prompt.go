package shell

import (
	"bufio"
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
)

const (
	promptText   = "graphcleaner> "
	continueText = "          ...> "
)

// converse prompts for statements until Ctrl-D or .quit. The errors of statements are printed; only what
// makes the terminal unusable is returned.
func (s *session) converse(ctx context.Context) error {
	s.say(`Type .help for help, Ctrl-D to leave.`)
	read := s.plainReader()
	if isTerminal(s.opt.In) && isTerminal(s.opt.Out) && os.Getenv("TERM") != "dumb" {
		var err error
		if read, err = s.lineEditor(); err != nil {
			return err
		}
	}
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	for {
		text, err := read()
		switch {
		case errors.Is(err, readline.ErrInterrupt):
			continue
		case errors.Is(err, io.EOF):
			s.say("")
			return nil
		case err != nil:
			return err
		}
		err = untilInterrupted(ctx, interrupts, func(ctx context.Context) error {
			return s.runScript(ctx, strings.NewReader(text), "", 0)
		})
		switch {
		case errors.Is(err, context.Canceled):
			s.say("interrupted")
		case err != nil:
			return err
		}
	}
}

// untilInterrupted runs statements under a context that the next interrupt ends.
func untilInterrupted(ctx context.Context, interrupts <-chan os.Signal, run func(context.Context) error) error {
	select {
	case <-interrupts: // at the prompt, where there was nothing to interrupt
	default:
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-interrupts:
			cancel()
		case <-ctx.Done():
		}
	}()
	defer func() {
		cancel()
		<-ended
	}()
	return run(ctx)
}

// lineEditor returns a function that reads statements with history and completion.
func (s *session) lineEditor() (func() (string, error), error) {
	editor := readline.NewShell()
	// Pasted lines are one text, and Tab shows what fits before it chooses.
	for _, setting := range []string{"enable-bracketed-paste", "menu-complete-display-prefix"} {
		if err := editor.Config.Set(setting, true); err != nil {
			return nil, err
		}
	}
	if os.Getenv("NO_COLOR") != "" {
		// The editor paints the chosen completion; this undoes it and inverts instead.
		if err := editor.Config.Set("completion-selection-style", "\x1b[0;7m"); err != nil {
			return nil, err
		}
	}
	for _, keys := range []string{"emacs", "vi-insert"} {
		if err := editor.Config.Bind(keys, inputrc.Unescape(`\C-i`), "menu-complete", false); err != nil {
			return nil, err
		}
	}
	editor.Prompt.Primary(func() string { return promptText })
	editor.Prompt.Secondary(func() string { return continueText })
	editor.AcceptMultiline = func(line []rune) bool { return isComplete(string(line)) }
	editor.Completer = func(line []rune, cursor int) readline.Completions {
		return s.completions(string(line[:cursor]))
	}
	if file, err := s.openHistory(); err != nil {
		s.say(fmt.Sprintf("history of this session is not kept: %v", err))
	} else {
		editor.History.Delete()
		editor.History.Add("history", file)
	}
	return editor.Readline, nil
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
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	made, err := os.OpenFile(file, os.O_CREATE|os.O_RDONLY, 0o600)
	if err != nil {
		return nil, err
	}
	if err := made.Close(); err != nil {
		return nil, err
	}
	return readline.NewHistoryFromFile(file)
}

// isComplete reports whether a typed text can run, or fail, as it is: it ends with a semicolon or parses, or
// no further line could make it parse, or a blank line was added to have it run.
func isComplete(text string) bool {
	source := newScript(strings.NewReader(text))
	for {
		next, err := source.next()
		if err != nil || next.dot {
			return true
		}
		if strings.HasSuffix(next.text, ";") {
			continue
		}
		if strings.HasSuffix(text, "\n") {
			return true
		}
		_, err = parse(next.text, next.pos)
		wrong, ok := errors.AsType[*ParseError](err)
		return !ok || !wrong.atEnd
	}
}

// plainReader returns a function that reads lines from a terminal that cannot be edited on.
func (s *session) plainReader() func() (string, error) {
	in := bufio.NewReader(s.opt.In)
	return func() (string, error) {
		text, prompt := "", promptText
		for {
			if _, err := fmt.Fprint(s.opt.Err, prompt); err != nil {
				return "", err
			}
			line, err := in.ReadString('\n')
			text += line
			if errors.Is(err, io.EOF) && strings.TrimSpace(text) != "" {
				return text, nil
			}
			if err != nil {
				return "", err
			}
			if isComplete(strings.TrimSuffix(text, "\n")) {
				return text, nil
			}
			prompt = continueText
		}
	}
}
