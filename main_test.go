//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/graphcleaner/graphcleaner/internal/testing/atrest"
	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/shell"
)

// programVariable makes a process of the test the program.
const programVariable = "GRAPHCLEANER_TEST_PROGRAM"

// waitsVariable has the program say, on standard error, when it waits. From then on a signal ends it cleanly.
const (
	waitsVariable = "GRAPHCLEANER_TEST_WAITS"
	waits         = "the program waits\n"
)

func TestMain(m *testing.M) {
	if os.Getenv(programVariable) != "" {
		ctx, _ := shell.UntilSignal()
		if os.Getenv(waitsVariable) != "" {
			go func() {
				atrest.Wait()
				fmt.Fprint(os.Stderr, waits)
			}()
		}
		os.Exit(shell.Main(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// hung is when a process is taken to hang; what is measured does not depend on it.
const hung = 30 * time.Second

// program is a command of the program in a directory.
func program(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	test := must.Get(os.Executable())(t)
	c := exec.Command(test, args...)
	c.Dir, c.Env = dir, append(os.Environ(), programVariable+"=1")
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // nobody to be asked but standard input
	return c
}

// succeed runs a command that succeeds.
func succeed(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := program(t, dir, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v: %s", args, err, out)
	}
	return string(out)
}

// storeDirectory is a directory with a store g of so many nodes and the files it was made of.
func storeDirectory(t *testing.T, nodes int) string {
	t.Helper()
	dir := t.TempDir()
	nodeLines, edgeLines := []byte("id,label\n"), []byte("src,dst\n")
	for i := range nodes {
		nodeLines = fmt.Appendf(nodeLines, "node%d,%c\n", i, 'A'+i%3)
		edgeLines = fmt.Appendf(edgeLines, "node%d,node%d\n", i, (i+1)%nodes)
	}
	for name, content := range map[string][]byte{"nodes.csv": nodeLines, "edges.csv": edgeLines} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	succeed(t, dir, "import", "g", "--nodes", "nodes.csv", "--edges", "edges.csv", "--memory", "64MiB")
	return dir
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries := must.Get(os.ReadDir(dir))(t)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// TestSignals holds that the first signal ends a command cleanly wherever it is blocked.
func TestSignals(t *testing.T) {
	dir := storeDirectory(t, 20_000)
	for _, pipe := range []string{"silent.csv", "silent.csv.gz", "silent.jsonl", "closed"} {
		path := filepath.Join(dir, pipe)
		must.Do(t, unix.Mkfifo(path, 0o600))
		if pipe == "closed" {
			continue
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0) // a writer that writes nothing
		must.Do(t, err)
		defer func() { _ = f.Close() }()
	}
	before := names(t, dir)
	const many = "nodes return id, label, degree"
	cases := []struct {
		name, args string
		input      string // before standard input falls silent
		out, err   string // to wait for, on standard output or error; "" waits until it waits
	}{
		{name: "standard input", args: "shell g --format csv", input: "count nodes;\n", out: "20000\n"},
		{name: "standard input, to read", args: "shell g --format csv --read-only", input: "count nodes;\n", out: "20000\n"},
		{name: "a pipe of a compressed file", args: "import g --splits silent.csv.gz"},
		{name: "the question of --replace", args: "import g --nodes nodes.csv --edges edges.csv --replace", err: "[y/N] "},
		{name: "a backup from standard input", args: "restore - h"},
		{name: "a pipe that nobody writes to, of statements", args: "shell g -f closed"},
		{name: "the same by .read", args: "shell g -c .read+closed"},
		{name: "the same of a backup", args: "restore closed h"},
		{name: "a silent pipe of nodes", args: "import h --nodes silent.csv --edges edges.csv"},
		{name: "a silent pipe of edges", args: "import h --nodes nodes.csv --edges silent.csv"},
		{name: "a silent pipe of splits", args: "import g --splits silent.csv"},
		{name: "a silent pipe of decisions", args: "import g --decisions silent.jsonl"},
		{name: "a silent pipe of statements", args: "shell g -f silent.jsonl"},
		{name: "a file that nobody reads", args: "export g labels --out closed"},
		{name: "the same of .output", args: "shell g -c .output+closed"},
		{name: "a full pipe", args: "shell g --format csv -c " + strings.ReplaceAll(many, " ", "+")},
		{name: "a full pipe of an export", args: "export g labels --out -"},
	}
	signals := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}
	for i, c := range cases {
		use := signals[i%len(signals):][:1] // each of them takes a while
		if longtest.Asked() {
			use = signals
		}
		for _, sent := range use {
			t.Run(fmt.Sprintf("%s, %s", c.name, sent), func(t *testing.T) {
				if sent == syscall.SIGHUP && signal.Ignored(sent) {
					t.Skipf("%s is ignored here, as under nohup, and the program leaves it ignored", sent)
				}
				args := strings.Fields(c.args)
				for i := range args {
					args[i] = strings.ReplaceAll(args[i], "+", " ")
				}
				p := program(t, dir, args...)
				blocked := begin(t, p, c.input)
				switch {
				case c.out != "":
					blocked.wait(t, blocked.out, c.out)
				case c.err != "":
					blocked.wait(t, blocked.err, c.err)
				default:
					blocked.wait(t, blocked.err, waits)
				}
				text, code := blocked.signal(t, sent)
				if code != 130 || !strings.Contains(text, "interrupted") {
					t.Errorf("got exit code %d and %q, want 130 and interrupted", code, text)
				}
				if after := names(t, dir); !slices.Equal(after, before) {
					t.Errorf("left behind %v, want %v", after, before)
				}
			})
		}
	}
	if got := succeed(t, dir, "check", "g"); !strings.Contains(got, "no problems") {
		t.Errorf("check: got %s", got)
	}
}

// TestEndsWithItsCaller holds that a command ends cleanly once the process is gone that it works for, however that
// went.
func TestEndsWithItsCaller(t *testing.T) {
	dir := t.TempDir()
	caller := begin(t, program(t, dir, "restore", "-", "h"), "")
	caller.wait(t, caller.err, waits)
	command := program(t, dir, "restore", "-", "h")
	command.Env = append(command.Env, fmt.Sprintf("GRAPHCLEANER_PARENT=%d", caller.cmd.Process.Pid))
	called := begin(t, command, "")
	called.wait(t, called.err, waits)
	if said, code := caller.signal(t, syscall.SIGKILL); code != -1 {
		t.Fatalf("the caller ended with %d and %q, want by the signal", code, said)
	}
	called.wait(t, called.err, "interrupted")
	state, err := called.cmd.Process.Wait()
	if err := errors.Join(err, called.in.Close(), called.out.Close(), called.err.Close()); err != nil ||
		state.ExitCode() != 130 {
		t.Fatalf("got %v and exit code %d, want 130", err, state.ExitCode())
	}
}

// A blockedProcess is one whose standard input stays open and whose standard output is not read but by wait.
type blockedProcess struct {
	cmd      *exec.Cmd
	in       io.Closer
	out, err *os.File
	said     bytes.Buffer // from err
}

func begin(t *testing.T, cmd *exec.Cmd, input string) *blockedProcess {
	t.Helper()
	cmd.Env = append(cmd.Env, waitsVariable+"=1")
	p := &blockedProcess{cmd: cmd}
	in, err := cmd.StdinPipe()
	must.Do(t, err)
	p.in = in
	var out, errOut *os.File
	for _, pipe := range []struct{ read, write **os.File }{{&p.out, &out}, {&p.err, &errOut}} {
		if *pipe.read, *pipe.write, err = os.Pipe(); err != nil {
			t.Fatal(err)
		}
	}
	cmd.Stdout, cmd.Stderr = out, errOut
	must.Do(t, cmd.Start())
	must.Do(t, errors.Join(out.Close(), errOut.Close()))
	must.Get(io.WriteString(in, input))(t)
	return p
}

// wait reads a pipe of the process until a text has come.
func (p *blockedProcess) wait(t *testing.T, pipe *os.File, want string) {
	t.Helper()
	must.Do(t, pipe.SetReadDeadline(time.Now().Add(hung)))
	var got []byte
	piece := make([]byte, 4096)
	for !strings.Contains(string(got), want) {
		n, err := pipe.Read(piece)
		got = append(got, piece[:n]...)
		if err != nil {
			t.Fatalf("%q: got %q and %v, want %q", p.cmd.Args[1:], got, err, want)
		}
	}
	must.Do(t, pipe.SetReadDeadline(time.Time{}))
}

// signal sends one signal and returns what the process said and its exit code, -1 where the signal killed it or it
// hung.
func (p *blockedProcess) signal(t *testing.T, signal syscall.Signal) (said string, code int) {
	t.Helper()
	must.Do(t, p.cmd.Process.Signal(signal))
	guard := time.AfterFunc(hung, func() { p.cmd.Process.Kill() }) //nolint:errcheck // it may have ended
	defer guard.Stop()
	must.Get(p.said.ReadFrom(p.err))(t)
	// The process is waited for itself: its standard input stays open until then.
	state, err := p.cmd.Process.Wait()
	must.Do(t, errors.Join(err, p.in.Close(), p.out.Close(), p.err.Close()))
	return p.said.String(), state.ExitCode()
}
