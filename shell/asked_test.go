//go:build unix

package shell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/graphcleaner/graphcleaner/internal/testing/atrest"
	"github.com/graphcleaner/graphcleaner/internal/testing/memdir"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/demograph"
	"github.com/graphcleaner/graphcleaner/shell/internal/holder"
)

// cleanedTemplate is the directory that cleanedFiles copies.
var cleanedTemplate struct {
	made sync.Once
	dir  string
}

// cleanedFiles makes a new working directory with a store g that was cleaned and the files that it was made of.
func cleanedFiles(t *testing.T) {
	t.Helper()
	cleanedTemplate.made.Do(func() {
		t.Chdir(t.TempDir())
		must.Do(t, demograph.New(64, 1).Write("."))
		mustRun(t, "import", "g", "--nodes", "nodes.csv", "--edges", "edges.csv")
		mustRun(t, "clean", "g")
		dir := must.Get(os.MkdirTemp("", "cleaned"))(t)
		must.Do(t, memdir.Copy(".", dir))
		cleanedTemplate.dir = dir
	})
	if cleanedTemplate.dir == "" {
		t.Fatal("the store cannot be made")
	}
	t.Chdir(t.TempDir())
	must.Do(t, memdir.Copy(cleanedTemplate.dir, "."))
}

// cleanedStore is cleanedFiles with another store beside g, h, with the same contents.
func cleanedStore(t *testing.T) {
	t.Helper()
	cleanedFiles(t)
	must.Do(t, memdir.Copy("g", "h"))
}

// served has a program that embeds the store answer on it, until the test ends or stop is called.
func served(t *testing.T, dir string) (store *kv.Store, stop func()) {
	t.Helper()
	store = must.Get(openStore(dir, kv.Options{MemoryBudget: testMemory}))(t)
	end := must.Get(Serve(t.Context(), store))(t)
	stop = sync.OnceFunc(func() {
		must.Do(t, errors.Join(end(), store.Close()))
	})
	t.Cleanup(stop)
	return store, stop
}

// variable matches the parts that differ from run to run.
var variable = regexp.MustCompile(`[0-9.]+ s\b|"seconds":[0-9.e+-]+|20\d\d-\d\d-\d\dT[0-9:.]+Z|(?m)^disk_bytes.*$|"disk_bytes":\d+|[0-9.]+[µm]s\b|[0-9.]+ ([KM]iB|bytes)`)

// comparable is an outcome without what differs from run to run, and with short names of stores.
func comparable(o outcome, db string) string {
	text := strconv.Itoa(o.code) + "\n" + o.out + "\n" + o.err
	text = regexp.MustCompile(`\b`+db+`\b`).ReplaceAllString(text, "DB")
	return variable.ReplaceAllString(text, "…")
}

// TestAskedCommands gives every command that opens a store on one that another process holds, and wants the same
// outcome as on a store that nobody holds.
func TestAskedCommands(t *testing.T) {
	cleanedStore(t)
	suspect := strings.TrimSpace(strings.SplitN(mustRun(t, "shell", "h", "-c", "suspects limit 1 return id", "--format",
		"csv"), "\n", 3)[1])
	must.Do(t, os.WriteFile("script.q", []byte("count nodes;\ncount nodes where\n label = 3"), 0o600))
	leaks := goleak.IgnoreCurrent()
	_, stop := served(t, "g")
	for _, test := range []struct {
		args, input string
		file        string // that it writes
	}{
		{args: "stats DB"},
		{args: "shell DB -f script.q"},
		{args: "shell DB --format csv", input: ".timing on\ncount nodes;\n.read script.q\n"},
		{args: "shell DB --format csv", input: ".output FILE\nnodes limit 5;\n", file: "nodes.csv"},
		{args: "shell DB -c accept+where+score>0.9"},
		{args: "shell DB --who ann -c reject+" + suspect},
		{args: "shell DB -c undo"},
		{args: "shell DB -c suspects+fpr+0.5+limit+1;suspects+limit+x --log json"},
		{args: "gate DB --most 1 --log json"},
		{args: "export DB suspects --out FILE", file: "known.csv"},
		{args: "draw DB " + suspect + " --out FILE", file: "node.svg"},
		{args: "export DB features --out FILE", file: "features.npy"},
		{args: "import DB --decisions nothing.csv"},
		{args: "review DB"},
		{args: "rescore DB"},
		{args: "clean DB --hops 2"},
		{args: "check DB"},
		{args: "compact DB"},
		{args: "backup DB FILE", file: "b.backup"},
		{args: "backup DB FILE --since b.backup", file: "c.backup"},
	} {
		outcomes := map[string]string{}
		for _, db := range []string{"g", "h"} {
			file := test.file
			if file == "b.backup" || file == "c.backup" {
				file = db + file
			}
			replace := strings.NewReplacer("FILE", file, "DB", db, "b.backup", db+"b.backup")
			var args []string
			for _, arg := range strings.Fields(test.args) {
				args = append(args, strings.ReplaceAll(replace.Replace(arg), "+", " "))
			}
			got := run(t, strings.ReplaceAll(test.input, "FILE", file), args...)
			text := comparable(got, db)
			if file != "" && !strings.HasSuffix(file, ".backup") {
				content, err := os.ReadFile(file)
				if err != nil {
					t.Errorf("%s: %v", test.args, err)
				}
				text += string(content)
			}
			outcomes[db] = strings.NewReplacer(db+"b.backup", "b.backup", db+"c.backup", "c.backup").Replace(text)
		}
		if outcomes["g"] != outcomes["h"] {
			t.Errorf("%s: asked and alone: %s", test.args, firstDifference(outcomes["g"], outcomes["h"]))
		}
	}
	stop()
	goleak.VerifyNone(t, leaks)
	mustRun(t, "check", "g")
}

// child is a process of the program.
func child(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	test := must.Get(os.Executable())(t)
	// TestMain makes a process of that name the program.
	return &exec.Cmd{Path: test, Args: append([]string{"graphcleaner"}, args...)}
}

// serving is a process that holds a store.
func serving(t *testing.T, db string, flags ...string) *exec.Cmd {
	t.Helper()
	p := child(t, append([]string{"serve", db}, flags...)...)
	said, err := p.StderrPipe()
	if err == nil {
		err = p.Start()
	}
	must.Do(t, err)
	t.Cleanup(func() {
		p.Process.Kill() //nolint:errcheck // it may have ended
		p.Wait()         //nolint:errcheck // likewise
	})
	line := make([]byte, 1000)
	if n, err := said.Read(line); err != nil || !bytes.Contains(line[:n], []byte("is open")) {
		t.Fatalf("serve says %q, %v", line[:n], err)
	}
	go io.Copy(io.Discard, said) //nolint:errcheck // until it ends
	return p
}

// asking is a process with a command that goes on until somebody reads its standard output.
func asking(t *testing.T, args ...string) (p *exec.Cmd, said *bytes.Buffer, read func()) {
	t.Helper()
	p = child(t, args...)
	in, out, err := os.Pipe() // which nobody reads
	must.Do(t, err)
	said = new(bytes.Buffer)
	p.Stdout, p.Stderr = out, said
	must.Do(t, errors.Join(p.Start(), out.Close()))
	t.Cleanup(func() { _ = in.Close() })
	if _, err := io.ReadFull(in, make([]byte, 10)); err != nil { // it has begun
		t.Fatalf("%q: %v: %s", args, err, said)
	}
	return p, said, func() { go io.Copy(io.Discard, in) } //nolint:errcheck // until it ends
}

// longAnswer is a statement whose answer no pipe holds.
var longAnswer = []string{"shell", "g", "--format", "jsonl", "-c", "nodes"}

// longStore is a store g with an answer that no pipe holds.
func longStore(t *testing.T) {
	t.Helper()
	from := closedStore(t, papers.Scored(t, 20_000))
	t.Chdir(t.TempDir())
	must.Do(t, memdir.Copy(from, "g"))
}

// ends waits for the end of a process, and returns its exit code; -1 if a signal killed it.
func ends(t *testing.T, p *exec.Cmd, within time.Duration) int {
	t.Helper()
	timer := time.AfterFunc(10*within, func() { p.Process.Kill() }) //nolint:errcheck // it may have ended
	defer timer.Stop()
	began := time.Now()
	if err := p.Wait(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Error(err)
	}
	if took := time.Since(began); took > within {
		t.Errorf("%s: ended after %v, want at most %v", p.Args[1], took, within)
	}
	return p.ProcessState.ExitCode()
}

// untilNobodyListens waits until the holder of a store takes no more jobs.
func untilNobodyListens(db string) {
	for err := error(nil); err == nil; _, err = os.Lstat(filepath.Join(db, holder.DirectoryName)) {
		time.Sleep(time.Millisecond)
	}
}

// TestStoppedHolder asks a holder that is there and does nothing. It has a job already, or not.
func TestStoppedHolder(t *testing.T) {
	longStore(t)
	const soon = 4 * time.Second
	holder := serving(t, "g")
	send := func(p *exec.Cmd, signal syscall.Signal) {
		t.Helper()
		must.Do(t, p.Process.Signal(signal))
	}
	asker, said, read := asking(t, longAnswer...)
	send(holder, syscall.SIGSTOP)
	// Until all its threads have stopped it may take a job.
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(holder.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("the holder: got status %v, %v, want that it has stopped", status, err)
	}
	began := time.Now()
	got := run(t, "", "shell", "g", "--wait", "1s", "-c", "count nodes")
	if took := time.Since(began); got.code != exitFailed || !strings.Contains(got.err, "is in use by process") ||
		took > soon {
		t.Errorf("after %v: got %+v, want that the store is in use, after a second", took, got)
	}
	read()
	send(asker, syscall.SIGINT)
	if code := ends(t, asker, soon); code != exitInterrupted ||
		!strings.Contains(said.String(), "does not answer, and may go on with the job") {
		t.Errorf("Ctrl-C of an asker with a job: got exit code %d and %s", code, said)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	code := make(chan int)
	go func() {
		code <- Main(ctx, []string{"shell", "g", "--wait", "1m", "-c", "count nodes"}, nil, io.Discard, io.Discard)
	}()
	atrest.Wait() // until it asks
	interrupt()
	if code := <-code; code != exitInterrupted {
		t.Errorf("Ctrl-C of an asker without a job: got exit code %d", code)
	}
	send(holder, syscall.SIGCONT)
}

// TestEndOfAskerAndHolder ends either side while the other works, in each way there is.
func TestEndOfAskerAndHolder(t *testing.T) {
	longStore(t)
	const soon = 3 * time.Second
	holder := serving(t, "g")
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		asker, said, _ := asking(t, longAnswer...)
		must.Do(t, asker.Process.Signal(signal))
		want := map[bool]int{true: -1, false: exitInterrupted}[signal == syscall.SIGKILL]
		if code := ends(t, asker, soon); code != want {
			t.Errorf("the asker, by %v: got exit code %d and %s, want %d", signal, code, said, want)
		}
	}
	// The holder goes on.
	if got := run(t, "", "shell", "g", "-c", "count nodes"); got.code != exitDone {
		t.Fatalf("after the end of askers: got %+v", got)
	}
	asker, said, read := asking(t, longAnswer...)
	must.Do(t, holder.Process.Signal(syscall.SIGTERM))
	// While nobody reads, the job cannot end by itself. An asker that does not read for a second misses the last words.
	untilNobodyListens("g")
	read()
	if code := ends(t, holder, soon); code != exitDone {
		t.Errorf("the holder: got exit code %d", code)
	}
	if code := ends(t, asker, soon); code != exitFailed ||
		!strings.Contains(said.String(), "the process that holds the store ends") {
		t.Errorf("the asker of a holder that ends: got exit code %d and %s", code, said)
	}
	if got := run(t, "", "shell", "g", "-c", "count nodes"); got.code != exitDone {
		t.Fatalf("after the end of the holder: got %+v", got)
	}
	holder = serving(t, "g")
	asker, said, read = asking(t, longAnswer...)
	must.Do(t, holder.Process.Kill())
	read()
	if code := ends(t, asker, soon); code != exitFailed || !strings.Contains(said.String(), "is gone") {
		t.Errorf("the asker of a holder that is killed: got exit code %d and %s", code, said)
	}
	if code := ends(t, holder, soon); code != -1 {
		t.Errorf("the holder: got exit code %d", code)
	}
	// What it left is in nobody's way.
	mustRun(t, "shell", "g", "-c", "count nodes")
	mustRun(t, "shell", "g", "-c", "create index on label")
	mustRun(t, "check", "g")
}

// TestWait opens a store that a process holds which answers nobody.
func TestWait(t *testing.T) {
	cleanedStore(t)
	store, err := openStore("g", kv.Options{MemoryBudget: testMemory})
	must.Do(t, err)
	began := time.Now()
	for _, args := range []string{"stats g", "shell g -c stats", "clean g", "review g", "check g --repair", "serve g"} {
		got := run(t, "", append(strings.Fields(args), "--wait", "0s")...)
		if got.code != exitFailed || !strings.Contains(got.err, "is in use by this process") {
			t.Errorf("%s: got exit code %d and %s", args, got.code, got.err)
		}
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("--wait 0s took %v", took)
	}
	closed := make(chan error)
	time.AfterFunc(300*time.Millisecond, func() { closed <- store.Close() })
	go func() {
		if err := <-closed; err != nil {
			t.Error(err)
		}
	}()
	mustRun(t, "shell", "g", "-c", "count nodes", "--wait", "1m")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err = withStore("g", kv.Options{MemoryBudget: 1}, func(*kv.Store) error {
		var out bytes.Buffer
		if code := Main(ctx, []string{"clean", "g", "--wait", "1h"}, strings.NewReader(""), &out, &out); code == exitDone {
			t.Errorf("got exit code %d and %s", code, &out)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if got := run(t, "", "stats", "g", "--wait", "-1s"); got.code != exitUsage {
		t.Errorf("--wait -1s: got %+v", got)
	}
}

// A command that holds the store lets those end that ask it, and a prompt holds nothing while it is idle.
func TestCommandsAnswer(t *testing.T) {
	longStore(t)
	in, typed, err := os.Pipe()
	must.Do(t, err)
	session := child(t, "shell", "g", "--format", "csv")
	session.Stdin = in
	answers, err := session.StdoutPipe()
	if err == nil {
		err = errors.Join(session.Start(), in.Close())
	}
	must.Do(t, err)
	say := func(text string) {
		t.Helper()
		must.Get(io.WriteString(typed, text))(t)
	}
	say("reject 1;\n")
	must.Get(io.ReadFull(answers, make([]byte, len("id,"))))(t)
	// The session has the store open for a moment, and answers; then it has closed it.
	answered := func() {
		t.Helper()
		if got := run(t, "", "shell", "g", "-c", "reject 2; count nodes", "--wait", "30s"); got.code != exitDone {
			t.Errorf("got %+v", got)
		}
	}
	answered()
	var held error
	for range 60 {
		time.Sleep(500 * time.Millisecond)
		if held = withStore("g", kv.Options{MemoryBudget: 1}, func(*kv.Store) error { return nil }); held == nil {
			break
		}
	}
	if held != nil {
		t.Errorf("an idle session holds the store: %v", held)
	}
	answered()
	// A job of another goes on when the session ends, and the session waits for it.
	say("reject 1;\n")
	must.Get(io.ReadFull(answers, make([]byte, len("id,"))))(t)
	asker, said, read := asking(t, longAnswer...)
	must.Do(t, typed.Close())
	untilNobodyListens("g")
	read()
	if code := ends(t, asker, 30*time.Second); code != exitDone {
		t.Errorf("the asker: got exit code %d and %s", code, said)
	}
	if code := ends(t, session, 30*time.Second); code != exitDone {
		t.Errorf("the session: got exit code %d", code)
	}
}

// TestReadOnlyHolder asks a holder that refuses what writes.
func TestReadOnlyHolder(t *testing.T) {
	cleanedStore(t)
	serving(t, "g", "--read-only")
	for _, test := range []struct {
		args string
		code int
	}{{"stats g", exitDone}, {"shell g -c stats", exitDone}, {"shell g -c undo", exitFailed}, {"clean g", exitFailed}} {
		got := run(t, "", strings.Fields(test.args)...)
		if got.code != test.code || test.code == exitFailed &&
			!strings.Contains(got.err, "--read-only, and refuses what writes") {
			t.Errorf("%s: got %+v", test.args, got)
		}
	}
}

// A fault in one job ends that job, and the holder goes on.
func TestFaultOfAJob(t *testing.T) {
	cleanedStore(t)
	store := must.Get(openStore("g", kv.Options{MemoryBudget: testMemory}))(t)
	defer func() { must.Do(t, store.Close()) }()
	broken := host{foreign: true} // without a store
	server := must.Get(holder.Listen(t.Context(), "g", broken.work))(t)
	for range 2 {
		if got := run(t, "", "stats", "g"); got.code != exitFailed ||
			!strings.Contains(got.err, "a fault of the program ended this command") {
			t.Errorf("got exit code %d, %q and %q, want a fault that is told", got.code, got.out, got.err)
		}
	}
	must.Do(t, server.Close())
}

// firstDifference shows the first lines in which two texts differ.
func firstDifference(got, want string) string {
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(gotLines), len(wantLines)) {
		if gotLines[i] != wantLines[i] {
			return fmt.Sprintf("line %d: got %q, want %q", i+1, gotLines[i], wantLines[i])
		}
	}
	return fmt.Sprintf("got %d lines, want %d", len(gotLines), len(wantLines))
}
