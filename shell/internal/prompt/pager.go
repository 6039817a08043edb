package prompt

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"
)

// errPagerLeft is returned by writes to a pager that somebody has left before the end.
var errPagerLeft = errors.New("the pager was left")

// A pager shows what is written to it on a terminal: as it is where that fits, and else through another program, which
// it starts when there is too much. It is made for one answer and closed behind it.
type pager struct {
	ctx      context.Context // ends the program
	terminal *os.File
	command  []string
	room     int // lines of the terminal, beside one for the prompt
	width    int // cells

	buffer  bytes.Buffer // until the program runs
	program *exec.Cmd    // nil until then
	in      io.WriteCloser
}

// pagerEnd is how long a pager that is to end may take before it is killed.
const pagerEnd = 300 * time.Millisecond

// pagerCommand is the program that pages: what PAGER says, or less. It is nil where there is none, or PAGER is empty or
// cat.
func pagerCommand() []string {
	command := []string{"less", "-R"}
	if asked, ok := os.LookupEnv("PAGER"); ok {
		command = strings.Fields(asked)
	}
	if len(command) == 0 || command[0] == "cat" {
		return nil
	}
	if _, err := exec.LookPath(command[0]); err != nil {
		return nil
	}
	return command
}

// newPager makes the pager of a terminal, nil where nothing can be paged.
func newPager(ctx context.Context, terminal *os.File) *pager {
	command := pagerCommand()
	width, height, err := term.GetSize(int(terminal.Fd()))
	if command == nil || err != nil || width < 1 || height < 2 || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return &pager{ctx: ctx, terminal: terminal, command: command, room: height - 1, width: width}
}

// Write shows a piece, or holds it back while all may still fit.
func (p *pager) Write(piece []byte) (int, error) {
	if p.program == nil {
		p.buffer.Write(piece)
		if p.fits() {
			return len(piece), nil
		}
		if err := p.start(); err != nil {
			return 0, err
		}
		_, err := p.feed(p.buffer.Bytes())
		p.buffer.Reset()
		return len(piece), err
	}
	return p.feed(piece)
}

// fits reports whether what is held fits the terminal, at a guess: the lines of wide text are broken.
func (p *pager) fits() bool {
	return bytes.Count(p.buffer.Bytes(), []byte{'\n'}) <= p.room && p.buffer.Len() <= p.room*p.width
}

func (p *pager) start() error {
	program := exec.CommandContext(p.ctx, p.command[0], p.command[1:]...)
	program.Cancel = func() error { return program.Process.Signal(syscall.SIGTERM) } // so that it restores the terminal
	program.WaitDelay = pagerEnd
	program.Stdout, program.Stderr = p.terminal, os.Stderr
	program.Env = os.Environ()
	if _, set := os.LookupEnv("LESS"); !set {
		// Colours as they are; leave at once where all fits; keep what was shown.
		program.Env = append(program.Env, "LESS=FRX")
	}
	in, err := program.StdinPipe()
	if err != nil {
		return err
	}
	if err := program.Start(); err != nil {
		return err
	}
	p.program, p.in = program, in
	return nil
}

// feed hands bytes to the program. Once it has ended they have nowhere to go.
func (p *pager) feed(piece []byte) (int, error) {
	n, err := p.in.Write(piece)
	if err != nil {
		err = errPagerLeft
	}
	return n, err
}

// Close shows what was held back, or waits until the program is left.
func (p *pager) Close() error {
	if p.program == nil {
		_, err := p.terminal.Write(p.buffer.Bytes())
		return err
	}
	err := p.in.Close()
	// Its exit code says nothing about the answer.
	if exit := p.program.Wait(); p.ctx.Err() != nil {
		err = p.ctx.Err()
	} else if !errors.As(exit, new(*exec.ExitError)) {
		err = cmp.Or(err, exit)
	}
	return err
}
