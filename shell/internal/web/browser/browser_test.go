// Package browser tests the review page in Chromium, as a person uses it. It is a module of its own: the program does
// not need the driver of a browser.
package browser

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// program builds the program once.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "graphcleaner-browser")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "graphcleaner")
	build := exec.Command("go", "build", "-o", path, ".")
	build.Dir = filepath.Join("..", "..", "..", "..")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := program(); err == nil {
		if err := os.RemoveAll(filepath.Dir(path)); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	os.Exit(code)
}

// graphcleaner runs a command.
func graphcleaner(t *testing.T, args ...string) string {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(path, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v: %s", args, err, out)
	}
	return string(out)
}

// A graph is a cleaned store with planted mislabels.
type graph struct {
	store string
	truth map[string]string // the right label of each node
	given map[string]string // the label with the mislabels
}

// readLabels reads the columns id and label of a csv file.
func readLabels(t *testing.T, path string) map[string]string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	id, label := slices.Index(rows[0], "id"), slices.Index(rows[0], "label")
	labels := map[string]string{}
	for _, row := range rows[1:] {
		labels[row[id]] = row[label]
	}
	return labels
}

// demo is the made-up graph of the demo, without the decisions of its audit.
func demo(t *testing.T) *graph {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "demo.graph")
	graphcleaner(t, "demo", "--dir", dir)
	file := func(name string) string { return filepath.Join(dir+".files", name) }
	graphcleaner(t, "import", dir, "--replace", "--yes", "--nodes", file("nodes.csv"), "--edges", file("edges.csv"))
	graphcleaner(t, "clean", dir)
	return &graph{dir, readLabels(t, file("truth.csv")), readLabels(t, file("nodes.csv"))}
}

var address = regexp.MustCompile(`(http://127\.0\.0\.1:\d+)/\?token=\S+`)

// review runs review --web on a store, with more arguments, until the test ends, and returns the address that it prints
// and the origin of the page.
func review(t *testing.T, args ...string) (at, origin string) {
	t.Helper()
	at, origin, _ = reviewUntil(t, args...)
	return at, origin
}

// reviewUntil is review that can end before the test.
func reviewUntil(t *testing.T, args ...string) (at, origin string, end func()) {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	p := exec.Command(path, append([]string{"review", filepath.Base(args[0]), "--web", "--no-open"}, args[1:]...)...)
	p.Dir = filepath.Dir(args[0])
	said, err := p.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(said)
	var read sync.WaitGroup
	end = sync.OnceFunc(func() {
		began := time.Now()
		if err := p.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		read.Wait()
		if err := p.Wait(); err != nil {
			t.Errorf("review ended with %v", err)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("review took %v to end", took)
		}
	})
	t.Cleanup(end)
	for lines.Scan() {
		if found := address.FindStringSubmatch(lines.Text()); found != nil {
			read.Go(func() {
				for lines.Scan() {
					t.Log(lines.Text())
				}
			})
			return found[0], found[1], end
		}
	}
	t.Fatal("review printed no address")
	return "", "", nil
}

// A window is a window of Chromium that a person uses.
type window struct {
	*testing.T
	ctx    context.Context
	origin string
	silent bool // no script runs

	mu      sync.Mutex
	hosts   map[string]bool // that were asked
	expects []string        // parts of messages of the console that are meant to come
}

// open starts Chromium and opens an address, or skips the test where there is no Chromium.
func open(t *testing.T, at, origin string) *window {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Skip("Chromium is not here: on Debian, apt-get install chromium")
	}
	// The context of the test ends before its cleanups: it would kill Chromium.
	allocated, stop := chromedp.NewExecAllocator(context.Background(),
		chromedp.ExecPath(path), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking",
			true), chromedp.Flag("disable-component-update", true),
		// As with the network cable pulled: no name is found.
		chromedp.Flag("disable-sync", true), chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"),
		chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(1280, 900))
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(allocated)
	t.Cleanup(cancel)
	ctx, end := context.WithTimeout(ctx, 4*time.Minute)
	t.Cleanup(end)
	t.Cleanup(func() { // before its directory goes, into which it writes until it has ended
		if err := chromedp.Cancel(ctx); err != nil {
			t.Logf("Chromium ended with %v", err)
		}
	})
	w := &window{T: t, ctx: ctx, origin: origin, hosts: map[string]bool{}, expects: []string{"409 (Conflict)"}}
	chromedp.ListenTarget(ctx, w.hear)
	w.run(log.Enable(), network.Enable(), chromedp.Navigate(at))
	w.enter()
	return w
}

// enter notes where the pages are: below a path of this start.
func (w *window) enter() {
	w.Helper()
	w.origin = eval[string](w, "location.href.slice(0, location.href.lastIndexOf('/'))")
}

// hear notes requests, and fails at errors of scripts and broken rules of the page.
func (w *window) hear(event any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	wrong := ""
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if to, err := url.Parse(e.Request.URL); err == nil && to.Host != "" {
			w.hosts[to.Host] = true
		}
	case *runtime.EventExceptionThrown:
		wrong = e.ExceptionDetails.Text
	case *log.EventEntryAdded:
		if e.Entry.Level == log.LevelError {
			wrong = e.Entry.Text
		}
	}
	if wrong != "" && !slices.ContainsFunc(w.expects, func(part string) bool { return strings.Contains(wrong, part) }) {
		w.Errorf("the console says: %s", wrong)
	}
}

// stayed fails if the window has asked another host.
func (w *window) stayed() {
	w.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	host, _, _ := strings.Cut(strings.TrimPrefix(w.origin, "http://"), "/")
	delete(w.hosts, host)
	if len(w.hosts) > 0 {
		w.Errorf("other hosts were asked: %v", w.hosts)
	}
}

func (w *window) run(actions ...chromedp.Action) {
	w.Helper()
	if err := chromedp.Run(w.ctx, actions...); err != nil {
		w.Fatal(err)
	}
}

// eval evaluates a script, and waits for its promise.
func eval[T any](w *window, script string) (value T) {
	w.Helper()
	w.run(chromedp.Evaluate(script, &value,
		func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	return value
}

// press presses keys as a keyboard does: what a page takes as a command is not typed.
func (w *window) press(keys ...string) {
	w.Helper()
	for _, key := range keys {
		text := key
		if len([]rune(key)) > 1 {
			text = map[string]string{"Enter": "\r"}[key]
		}
		down := input.DispatchKeyEvent(input.KeyDown).WithKey(key).WithText(text)
		switch key {
		case "Enter":
			down = down.WithWindowsVirtualKeyCode(13)
		case "Tab":
			down = down.WithWindowsVirtualKeyCode(9)
		case "Escape":
			down = down.WithWindowsVirtualKeyCode(27)
		}
		if key != strings.ToLower(key) && len(key) == 1 {
			down = down.WithModifiers(input.ModifierShift)
		}
		w.run(down, input.DispatchKeyEvent(input.KeyUp).WithKey(key))
	}
}

// write types a text.
func (w *window) write(text string) { w.press(strings.Split(text, "")...) }

// until waits for a script to be true.
func (w *window) until(script string) {
	w.Helper()
	for began := time.Now(); time.Since(began) < 15*time.Second; time.Sleep(5 * time.Millisecond) {
		var ok bool
		if err := chromedp.Run(w.ctx, chromedp.Evaluate("!!("+script+")", &ok)); err == nil && ok {
			return
		}
	}
	w.Fatalf("in vain: %s on\n%s", script, eval[string](w, "document.body.innerText"))
}

func (w *window) text(selector string) string {
	w.Helper()
	return eval[string](w, "(document.querySelector("+quoted(selector)+") || {innerText: ''}).innerText")
}

func (w *window) at(path string) {
	w.Helper()
	w.run(chromedp.Navigate(w.origin + path))
	if !w.silent {
		w.ready()
	}
}

// ready waits until the script of the page runs, and keys count.
func (w *window) ready() {
	w.Helper()
	w.until("document.readyState === 'complete' && document.querySelector('#main').ariaBusy === 'false'")
}

// pressUntil presses a key until what it does is seen. The page refuses keys for a moment after it has brought the
// scores of a card up to date, as a person would read the card again.
func (w *window) pressUntil(script, key string) {
	w.Helper()
	for began := time.Now(); time.Since(began) < 30*time.Second; {
		if w.ready(); eval[bool](w, "!!("+script+")") {
			return
		}
		w.press(key)
	}
	w.until(script)
}

func quoted(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// A shown has the texts of the card on the screen.
type shown struct {
	ID, Label, Suggested string
	Choices              []string
}

const readCard = `(() => {
  const card = document.querySelector('.card[data-id]');
  const seen = JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(card.querySelector('[name=seen]').value.replaceAll('-', '+').replaceAll('_', '/')), c => c.charCodeAt(0))));
  return {ID: card.dataset.id, Label: seen.Label, Suggested: seen.Suggestion,
    Choices: [...card.querySelectorAll('.choices button')].map(b => b.value.slice('relabel:'.length))};
})()`

// next waits for another card than the one with an id, until keys count.
func (w *window) next(id string) {
	w.Helper()
	w.until("document.querySelector('.card') && document.querySelector('.card').dataset.id !== " + quoted(id))
	w.ready()
}
