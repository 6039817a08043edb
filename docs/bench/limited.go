package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// limitedCommand runs a command and measures it.
type limitedCommand struct {
	Limit   byteSize          `placeholder:"SIZE" help:"Memory limit that the kernel enforces, such as 640MiB. Without it: only measured."`
	Tag     map[string]string `placeholder:"NAME=VALUE" help:"Put into the report as it is, to tell measurements apart."`
	Result  string            `placeholder:"FILE" help:"A json file that the command may write; it becomes part of the report."`
	Report  string            `placeholder:"FILE" help:"Append the report to this file. Without it: to standard output."`
	Every   time.Duration     `default:"20ms" help:"Time between two looks at the memory."`
	Command []string          `arg:"" passthrough:"" help:"The command, after --."`
}

func (*limitedCommand) Help() string {
	return `Prints a line of json: seconds of wall time, exit code, the peaks of memory, and the processes killed for ` +
		`want of memory. peak_anonymous_bytes is the greatest sum of RssAnon seen over the processes of the command: ` +
		`what the kernel cannot take back. Pages that processes share after a fork count for each; ` +
		`peak_group_anonymous_bytes counts them once. peak_group_bytes is the peak of the control group, with the ` +
		`cached pages of files. peak_resident_bytes is that of getrusage, and counts mapped files. Where control ` +
		`groups cannot be made the command runs without a limit, and "unlimited" says why. The exit code is the command's.

    bench limited --limit 640MiB -- graphcleaner clean my.graph --memory 512MiB`
}

// A measurement has the time and memory of a run of a command.
type measurement struct {
	Tags               map[string]string `json:"tags,omitempty"`
	Command            []string          `json:"command"`
	Seconds            float64           `json:"seconds"`
	UserSeconds        float64           `json:"user_seconds"`
	SystemSeconds      float64           `json:"system_seconds"`
	ExitCode           int               `json:"exit_code"` // 128 and the number of the signal that ended it
	LimitBytes         int64             `json:"limit_bytes,omitempty"`
	Group              string            `json:"group,omitempty"`     // kind of control group
	Unlimited          string            `json:"unlimited,omitempty"` // why there is no control group
	PeakAnonymousBytes int64             `json:"peak_anonymous_bytes"`
	PeakSharedBytes    int64             `json:"peak_shared_bytes"`
	PeakResidentBytes  int64             `json:"peak_resident_bytes"`
	PeakGroupAnonymous int64             `json:"peak_group_anonymous_bytes,omitempty"`
	PeakGroupBytes     int64             `json:"peak_group_bytes,omitempty"`
	OOMKills           int64             `json:"oom_kills"`
	Result             json.RawMessage   `json:"result,omitempty"`
}

func (c *limitedCommand) Run(ctx context.Context, out io.Writer) error {
	command := c.Command
	if len(command) > 0 && command[0] == "--" {
		command = command[1:]
	}
	if len(command) == 0 {
		return errors.New("limited: want a command after --")
	}
	if c.Result != "" { // of an earlier command
		if err := os.Remove(c.Result); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	m, err := measure(ctx, command, int64(c.Limit), c.Every, out)
	if err != nil {
		return err
	}
	m.Tags = c.Tag
	if c.Limit > 0 && m.Unlimited != "" {
		fmt.Fprintln(os.Stderr, "bench: no memory limit was enforced:", m.Unlimited)
	}
	if c.Result != "" {
		// A command that failed may have written how far it came.
		if err := m.readResult(c.Result); err != nil {
			return err
		}
	}
	if err := c.print(m, out); err != nil {
		return err
	}
	if m.ExitCode != 0 {
		return exitError{m.ExitCode}
	}
	return nil
}

// readResult takes over the result that the command wrote, if it did.
func (m *measurement) readResult(path string) error {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !json.Valid(text) {
		return fmt.Errorf("%s: want json", path)
	}
	m.Result = text
	return nil
}

func (c *limitedCommand) print(m *measurement, out io.Writer) (err error) {
	if c.Report == "" {
		return printJSON(out, m)
	}
	file, err := os.OpenFile(c.Report, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return printJSON(file, m)
}

// measure runs a command under a limit in bytes, zero for none. What it prints goes to out and standard error. A
// command that fails is a measurement, not an error. When ctx ends the command is interrupted, and killed ten
// seconds later.
func measure(
	ctx context.Context, command []string, limit int64, every time.Duration, out io.Writer,
) (m *measurement, err error) {
	m = &measurement{Command: command}
	line := command
	group, err := newMemoryGroup(limit)
	if err != nil {
		m.Unlimited = err.Error()
	} else {
		defer func() { err = errors.Join(err, group.remove()) }()
		m.Group, m.LimitBytes = fmt.Sprintf("cgroup v%d", group.version), limit
		line = group.enter(command)
		if _, err := exec.LookPath(command[0]); err != nil {
			return nil, err
		}
	}
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, out, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	apart(cmd)
	cmd.WaitDelay = 10 * time.Second
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	sampled := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(sampled)
		m.sample(cmd.Process.Pid, group, every, done)
	}()
	err = cmd.Wait()
	m.Seconds = time.Since(began).Seconds()
	close(done)
	<-sampled
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, errors.Join(err, ctx.Err())
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	state := cmd.ProcessState
	m.UserSeconds, m.SystemSeconds = state.UserTime().Seconds(), state.SystemTime().Seconds()
	m.ExitCode = state.ExitCode()
	if signal := endedBy(state); signal != 0 {
		m.ExitCode = 128 + signal
	}
	m.PeakResidentBytes = max(m.PeakResidentBytes, peakResident(state))
	if group != nil {
		m.PeakGroupBytes, m.OOMKills = group.peak(), group.kills()
	}
	return m, nil
}

// sample looks at the command's memory until done is closed, and keeps the peaks.
func (m *measurement) sample(process int, group *memoryGroup, every time.Duration, done <-chan struct{}) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		var processes []int
		if group != nil {
			processes = group.processes()
			m.PeakGroupAnonymous = max(m.PeakGroupAnonymous, group.anonymous())
		} else {
			processes = descendants(process)
		}
		anonymous, shared, resident := memoryOf(processes)
		m.PeakAnonymousBytes = max(m.PeakAnonymousBytes, anonymous)
		m.PeakSharedBytes = max(m.PeakSharedBytes, shared)
		m.PeakResidentBytes = max(m.PeakResidentBytes, resident)
		select {
		case <-done:
			return
		case <-tick.C:
		}
	}
}
