//go:build unix

package shell

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// browsing runs a command that serves the page, and returns the process and a function that asks the page for JSON.
func browsing(t *testing.T, args ...string) (p *exec.Cmd, ask func(method, path, body string) (int, string)) {
	t.Helper()
	p = child(t, args...)
	said, err := p.StderrPipe()
	if err == nil {
		err = p.Start()
	}
	must.Do(t, err)
	t.Cleanup(func() {
		p.Process.Kill() //nolint:errcheck // it may have ended
		p.Wait()         //nolint:errcheck // likewise
	})
	address := regexp.MustCompile(`(http://127\.0\.0\.1:\d+)/\?token=([0-9a-f]{32})`)
	lines, found := bufio.NewScanner(said), []string(nil)
	for found == nil && lines.Scan() {
		found = address.FindStringSubmatch(lines.Text())
	}
	if found == nil {
		t.Fatalf("%q printed no address", args)
	}
	go func() {
		for lines.Scan() {
			t.Logf("%s: %s", args[0], lines.Text())
		}
	}()
	return p, func(method, path, body string) (int, string) {
		t.Helper()
		r := must.Get(http.NewRequestWithContext(t.Context(), method, found[1]+path, strings.NewReader(body)))(t)
		r.Header = http.Header{"Authorization": {"Bearer " + found[2]}, "Accept": {"application/json"},
			"Content-Type": {"application/json"}}
		answer, err := http.DefaultClient.Do(r)
		must.Do(t, err)
		defer answer.Body.Close()
		text := must.Get(io.ReadAll(answer.Body))(t)
		return answer.StatusCode, string(text)
	}
}

// TestPage serves the page of a store as serve, lets a second person review through that process, and commands beside
// both.
func TestPage(t *testing.T) {
	cleanedStore(t)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	serving, asAnyone := browsing(t, "serve", "g")
	reviewing, asBob := browsing(t, "review", "g", "--web", "--no-open", "--who", "bob", "--where", "score > 0.5")
	var suspects []struct{ ID, Label string }
	status, text := asBob("GET", "/ask?statement=suspects+limit+1", "")
	if err := json.Unmarshal([]byte(text), &suspects); err != nil || status != http.StatusOK || len(suspects) != 1 {
		t.Fatalf("got %d, %s", status, text)
	}
	card := suspects[0]
	decide := fmt.Sprintf(`{"statement": "accept $1 if label = $2 because 'seen'", "args": [%q, %q]}`, card.ID, card.Label)
	if status, text := asBob("POST", "/ask", decide); status != http.StatusOK {
		t.Fatalf("bob decides: got %d, %s", status, text)
	}
	if status, text := asAnyone("POST", "/ask", decide); status != http.StatusConflict {
		t.Errorf("somebody decides about the old card: got %d, %s", status, text)
	}
	if got := mustRun(t, "shell", "g", "--format", "csv", "-c",
		"nodes where decided_by = 'bob' return id, decision"); !strings.Contains(got, card.ID+",accept") {
		t.Errorf("a command beside: got %s", got)
	}
	// The end of one page leaves the other.
	interrupt(t, reviewing)
	if status, _ := asAnyone("GET", "/ask?statement=stats", ""); status != http.StatusOK {
		t.Errorf("after bob's end: got %d", status)
	}
	interrupt(t, serving)
	mustRun(t, "check", "g")
}

// interrupt ends a process by Ctrl-C, within a second or two.
func interrupt(t *testing.T, p *exec.Cmd) {
	t.Helper()
	must.Do(t, p.Process.Signal(os.Interrupt))
	if code := ends(t, p, 3*time.Second); code != exitDone && code != exitInterrupted {
		t.Errorf("%s: got exit code %d", p.Args[1], code)
	}
}

// TestBrowserGetsNoAddress has a browser that keeps its arguments, as the list of processes shows them to everybody:
// they name a file that only its owner can read, which leads to the page, and which is gone after the end.
func TestBrowserGetsNoAddress(t *testing.T) {
	if runtime.GOOS == "darwin" {
		t.Skip("here open starts the browser")
	}
	cleanedStore(t)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	bin := t.TempDir()
	script := "#!/bin/sh\necho \"$@\" > " + bin + "/new && mv " + bin + "/new " + bin + "/arguments\n"
	err := os.WriteFile(filepath.Join(bin, "xdg-open"), []byte(script), 0o700)
	must.Do(t, err)
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	reviewing, ask := browsing(t, "review", "g", "--web")
	var arguments []byte
	for range 1000 {
		if arguments, err = os.ReadFile(filepath.Join(bin, "arguments")); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err != nil {
		t.Fatalf("no browser is started: %v", err)
	}
	file := strings.TrimSpace(string(arguments))
	for path, want := range map[string]os.FileMode{file: 0o600, filepath.Dir(file): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: got %v, %v, want the mode %v", path, info, err, want)
		}
	}
	text := string(mustRead(t, file))
	address := regexp.MustCompile(`content="0;url=(http://127\.0\.0\.1:\d+/\?token=[0-9a-f]{32})"`).FindStringSubmatch(text)
	if address == nil || strings.Contains(file, "token") {
		t.Fatalf("%s leads nowhere: %s", file, text)
	}
	jar := must.Get(cookiejar.New(nil))(t)
	answer, err := (&http.Client{Jar: jar}).Get(address[1])
	must.Do(t, err)
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK || !strings.HasSuffix(answer.Request.URL.Path, "/review") {
		t.Errorf("the address leads to %s: got %d", answer.Request.URL, answer.StatusCode)
	}
	if status, _ := ask("GET", "/review", ""); status != http.StatusOK {
		t.Errorf("got %d", status)
	}
	interrupt(t, reviewing)
	if _, err := os.Stat(filepath.Dir(file)); !os.IsNotExist(err) {
		t.Errorf("after the end the file is still there: %v", err)
	}
}
