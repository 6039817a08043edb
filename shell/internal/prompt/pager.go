package prompt

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// errPagerLeft is returned by writes to a pager that somebody has left before the end.
var errPagerLeft = errors.New("the pager was left")

// A pager shows what is written to it on a terminal through another program, which starts with the first byte. It is
// made for one answer and closed behind it.
type pager struct {
	ctx      context.Context // ends the program
	terminal *os.File
	command  []string

	program *exec.Cmd // nil until it runs
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

// Write hands bytes to the program. Once it has ended they have nowhere to go.
func (p *pager) Write(piece []byte) (int, error) {
	if p.program == nil {
		if err := p.start(); err != nil {
			return 0, err
		}
	}
	n, err := p.in.Write(piece)
	if err != nil {
		err = errPagerLeft
	}
	return n, err
}

func (p *pager) start() (err error) {
	program := exec.CommandContext(p.ctx, p.command[0], p.command[1:]...)
	program.Cancel = func() error { return program.Process.Signal(syscall.SIGTERM) } // so that it restores the terminal
	program.WaitDelay = pagerEnd
	program.Stdout, program.Stderr = p.terminal, os.Stderr
	program.Env = os.Environ()
	if _, set := os.LookupEnv("LESS"); !set {
		// Colours as they are; leave at once where all fits; keep what was shown.
		program.Env = append(program.Env, "LESS=FRX")
	}
	if p.in, err = program.StdinPipe(); err == nil {
		err = program.Start()
	}
	if err == nil {
		p.program = program
	}
	return err
}

// Close waits until the program is left.
func (p *pager) Close() error {
	if p.program == nil {
		return nil
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
