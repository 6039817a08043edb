//go:build unix

package shell

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A terminal is a shell in a tmux of its own, driven by keys and looked at by what is on its screen.
type terminal struct {
	t      *testing.T
	dir    string
	socket string // of the tmux of the shell that was started last, "" where it has ended
	starts int
}

// screenWait is how long a terminal may take to show what is waited for.
const screenWait = 30 * time.Second

// newTerminal prepares a terminal.
func newTerminal(t *testing.T) *terminal {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("there is no tmux to drive a terminal with")
	}
	dir := t.TempDir()
	test := must.Get(os.Executable())(t)
	// TestMain makes a process of that name the program.
	must.Do(t, os.Symlink(test, filepath.Join(dir, "graphcleaner")))
	term := &terminal{t: t, dir: dir}
	t.Cleanup(func() {
		if term.socket != "" {
			term.stop()
		}
	})
	return term
}

func (term *terminal) tmux(args ...string) (string, error) {
	out, err := exec.Command("tmux", append([]string{"-S", term.socket, "-f", os.DevNull}, args...)...).CombinedOutput()
	return string(out), err
}

func (term *terminal) must(args ...string) string {
	term.t.Helper()
	out, err := term.tmux(args...)
	if err != nil {
		term.t.Fatalf("tmux %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return out
}

// start runs the shell on a store and waits for its prompt.
func (term *terminal) start(store string, flags ...string) {
	term.t.Helper()
	term.run(store, flags...)
	term.wait("the prompt", `(?m)^graphcleaner> *$`)
}

// run runs the shell on a store. What it leaves on the screen stays, after it how it ended.
func (term *terminal) run(store string, flags ...string) {
	term.t.Helper()
	words := slices.Concat([]string{"sh", "-c", `echo $$ > "$0"; exec "$@"`, term.pidFile(),
		filepath.Join(term.dir, "graphcleaner"), "shell", store}, flags)
	var quoted []string
	for _, word := range words {
		quoted = append(quoted, "'"+strings.ReplaceAll(word, "'", `'\''`)+"'")
	}
	// Ctrl-C interrupts every process of the terminal; the one around the shell stays, to tell how the shell ended.
	command := "trap : INT; " + strings.Join(quoted, " ") +
		`; echo "ended with $?"; stty -a | grep -q -e ' -icanon' -e ' -echo ' && echo raw; sleep 600`
	term.session(100, 24, "sh", "-c", command)
}

// pidFile holds the process of the shell.
func (term *terminal) pidFile() string { return filepath.Join(term.dir, "pid") }

// signal sends the shell a signal.
func (term *terminal) signal(signal syscall.Signal) {
	term.t.Helper()
	pid := must.Get(strconv.Atoi(strings.TrimSpace(string(mustRead(term.t, term.pidFile())))))(term.t)
	must.Do(term.t, syscall.Kill(pid, signal))
}

// session runs a command in a terminal of so many columns and lines.
func (term *terminal) session(columns, lines int, command ...string) {
	term.t.Helper()
	term.starts++
	term.socket = filepath.Join(term.dir, "tmux"+strconv.Itoa(term.starts))
	size := []string{"-x", strconv.Itoa(columns), "-y", strconv.Itoa(lines)}
	term.must(slices.Concat([]string{"new-session", "-d", "-s", "shell"}, size, command)...)
}

// stop ends tmux with all that runs in it.
func (term *terminal) stop() {
	term.t.Helper()
	term.must("kill-server")
	term.socket = ""
}

// keys presses keys by tmux's names of them, such as Tab or C-c.
func (term *terminal) keys(names ...string) {
	term.t.Helper()
	term.must(append([]string{"send-keys", "-t", "shell"}, names...)...)
}

// text types a text.
func (term *terminal) text(text string) {
	term.t.Helper()
	term.must("send-keys", "-t", "shell", "-l", text)
}

// screen is the text on the terminal, without the blanks at the ends of lines.
func (term *terminal) screen() string {
	term.t.Helper()
	var lines []string
	for line := range strings.Lines(term.must("capture-pane", "-p", "-t", "shell")) {
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// wait waits until the screen matches a pattern, and returns it.
func (term *terminal) wait(what, pattern string) string {
	term.t.Helper()
	want, deadline := regexp.MustCompile(pattern), time.Now().Add(screenWait)
	for {
		screen := term.screen()
		if want.MatchString(screen) {
			return screen
		}
		if time.Now().After(deadline) {
			term.t.Fatalf("waited for %s, %s; the screen is\n%s", what, pattern, screen)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// clear takes what was typed off the line, and waits for the empty prompt.
func (term *terminal) clear() {
	term.t.Helper()
	term.keys("C-c")
	term.wait("an empty prompt", `graphcleaner> *$`)
}

// leave ends the shell by Ctrl-D.
func (term *terminal) leave() {
	term.t.Helper()
	term.keys("C-d")
	term.wait("the end of the shell", `ended with 0`)
	term.stop()
}

// TestTerminalInterrupts cancels a clean that would take long, twice, and goes on. A pasted statement of several lines,
// whose first one could run alone, waits for Enter and runs whole.
func TestTerminalInterrupts(t *testing.T) {
	t.Parallel()
	term := newTerminal(t)
	term.start(longToClean(t))
	for range 2 {
		term.text("clean hops 3")
		term.keys("Enter")
		term.wait("the progress of clean", `(?m)(%|/s|of \d)`)
		term.keys("C-c")
		term.wait("the interruption", `(?s)interrupted.*graphcleaner> *$`)
		term.text("count nodes")
		term.keys("Enter")
		term.wait("an answer", `(?m)^ *`+strconv.Itoa(longNodes)+`$`)
		term.keys("C-l") // off the screen
		term.wait("an empty screen", `^graphcleaner> *$`)
	}
	term.text("suspects")
	term.keys("Enter")
	term.wait("what there is before the first run", `run clean first`)
	term.must("set-buffer", "count nodes\nwhere label = 'class 7'\n")
	term.must("paste-buffer", "-p", "-t", "shell")
	term.wait("the lines that are pasted", `class 7'\n +\.\.\.> *$`)
	term.keys("Enter")
	term.wait("an answer to all of them", `(?m)^ *`+strconv.Itoa(longNodes/40)+`$`)
	term.text("half a line")
	term.wait("what was typed", `half a line$`)
	term.clear()
	term.leave()
}

const longNodes = 60_000

// longToClean is a store without predictions, which clean would have to make first.
func longToClean(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	load := must.Get(kv.NewLoader(t.Context(), dir, kv.LoadOptions{}))(t)
	for i := range longNodes {
		must.Do(t, load.AddNode(kv.Node{ID: strconv.Itoa(i), Label: fmt.Sprint("class ", i%40)}))
	}
	for i := range longNodes {
		for step := range 10 {
			must.Do(t, load.AddEdge(strconv.Itoa(i), strconv.Itoa((i+40*(step*step+1))%longNodes), 0))
		}
	}
	must.Get(load.Commit(t.Context(), nil))(t)
	return dir
}
