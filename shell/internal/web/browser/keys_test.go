package browser

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// history lists what was decided, the newest first.
func (w *window) history() (entries []string) {
	w.Helper()
	return eval[[]string](w, `fetch('history', {headers: {Accept: 'application/json'}}).then(answer => answer.json()).then(view =>
		view.entries.map(of => of.id + ' ' + of.decision))`)
}

// quick presses keys so many milliseconds apart, and waits until keys count again.
func (w *window) quick(keys string, gap int) {
	w.Helper()
	eval[any](w, fmt.Sprintf(`(async () => {
		for (const key of %q) {
			document.body.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true}));
			await new Promise(done => setTimeout(done, %d));
		}
	})()`, keys, gap))
	w.ready()
}

// shown is the node of the card.
func (w *window) shown() string {
	w.Helper()
	return eval[string](w, "document.querySelector('.card').dataset.id")
}

// tab is another tab of the window. It is the one that is seen.
func (w *window) tab() *window {
	ctx, cancel := chromedp.NewContext(w.ctx)
	w.Cleanup(cancel)
	tab := &window{T: w.T, ctx: ctx, origin: w.origin, hosts: map[string]bool{}}
	tab.run(page.BringToFront())
	return tab
}

// TestQuickKeys has keys that come before anybody can have read the card: they decide nothing.
func TestQuickKeys(t *testing.T) {
	at, origin := review(t, demo(t).store)
	w := open(t, at, origin)
	w.until("document.querySelector('.card[data-id]')")
	w.ready()
	var want []string
	for _, test := range []struct {
		keys string
		gap  int
		adds []string // to the history, of the card that was shown
	}{
		{"yy", 0, []string{"accept"}},
		{"nn", 30, []string{"reject"}},
		{"dy", 60, []string{"unsure"}},
		{"yyyyyy", 110, []string{"accept"}},
		{"y1", 140, []string{"accept"}},
		{"sy", 20, nil},
	} {
		shown := w.shown()
		w.quick(test.keys, test.gap)
		for _, kind := range test.adds {
			want = slices.Insert(want, 0, shown+" "+kind)
		}
		if got := w.history(); !slices.Equal(got, want) {
			t.Fatalf("%q %d ms apart: got the history %q, want %q", test.keys, test.gap, got, want)
		}
	}
	// Undo twice takes one reply back: the skip. Then the last decision.
	for range 2 {
		w.quick("zz", 0)
	}
	undone, _, _ := strings.Cut(want[0], " ")
	want = slices.Insert(want, 0, undone+" undo")
	if got := w.history(); !slices.Equal(got, want) {
		t.Errorf("after undo: got %q, want %q", got, want)
	}
	// Clicks are as keys.
	shown := w.shown()
	eval[any](w, "(() => { for (let i = 0; i < 3; i++) document.querySelector('button.no').click(); })()")
	w.next(shown)
	if got := w.history(); len(got) != len(want)+1 {
		t.Errorf("after three clicks: got %q, want one more", got)
	}
}

// TestSlowStore has a decision that takes long: the page says so, keeps the card, and warns who leaves.
func TestSlowStore(t *testing.T) {
	at, origin := review(t, demo(t).store)
	w := open(t, at, origin)
	w.until("document.querySelector('.card[data-id]')")
	w.ready()
	shown := w.shown()
	w.run(chromedp.Evaluate(`(() => {
		const quick = window.fetch;
		window.fetch = (path, ...rest) => path !== 'decide' ? quick(path, ...rest) : new Promise(done => { window.go = done; }).then(() => quick(path, ...rest));
	})()`, nil))
	w.press("y")
	w.until("document.querySelector('#said-text').innerText === 'storing …'")
	w.press("y", "n")
	if still := eval[string](w, "document.querySelector('.card').dataset.id"); still != shown {
		t.Errorf("the page shows %s before the decision about %s is stored", still, shown)
	}
	if !eval[bool](w, "!dispatchEvent(new Event('beforeunload', {cancelable: true}))") {
		t.Error("nobody is warned who leaves")
	}
	eval[any](w, "window.go()")
	w.next(shown)
	if got := w.history(); !slices.Equal(got, []string{shown + " accept"}) {
		t.Errorf("got the history %q, want %s accepted", got, shown)
	}
	if !eval[bool](w, "dispatchEvent(new Event('beforeunload', {cancelable: true}))") {
		t.Error("who leaves later is warned")
	}
}

// TestManyTabs has more tabs than a browser has connections to a server: those that nobody sees have no stream.
func TestManyTabs(t *testing.T) {
	at, origin := review(t, demo(t).store)
	w := open(t, at, origin)
	w.ready()
	for range 7 {
		w.tab().at("/review")
	}
	w.run(page.BringToFront())
	w.ready()
	shown := w.shown()
	w.press("y")
	w.next(shown)

	// A page that is seen again hears what happened meanwhile.
	before := w.text("[data-count=decided]")
	tab := w.tab()
	tab.at("/review")
	shown = tab.shown()
	tab.press("y")
	tab.next(shown)
	if now := w.text("[data-count=decided]"); now != before {
		t.Errorf("a page that nobody sees counts %s, before %s", now, before)
	}
	w.run(page.BringToFront())
	w.until("document.querySelector('[data-count=decided]').innerText !== " + quoted(before))
}

// TestEnded has a server that ends: the page says so, and that a decision is not saved.
func TestEnded(t *testing.T) {
	at, origin, end := reviewUntil(t, demo(t).store)
	w := open(t, at, origin)
	w.until("document.querySelector('.card[data-id]')")
	w.ready()
	w.expects = append(w.expects, "ERR_")
	shown := w.shown()
	end()
	w.press("y")
	w.until("document.querySelector('#problem').innerText !== ''")
	if got := w.text("#problem"); got != "graphcleaner has ended. This decision was not saved." {
		t.Errorf("the page says %q", got)
	}
	if still := eval[string](w, "document.querySelector('.card').dataset.id"); still != shown {
		t.Errorf("the page shows %s, want %s, which is not decided", still, shown)
	}
	w.run(chromedp.Evaluate("document.querySelector('#problem').hidden = true; document.querySelector('#problem').textContent = ''", nil))
	w.until("document.querySelector('#problem').innerText !== ''")
	if got := w.text("#problem"); !strings.HasPrefix(got, "graphcleaner has ended. Start it again") {
		t.Errorf("without a key, the page says %q", got)
	}
}

// TestUndoneCard has a card whose decision was taken back: it gets its score without being loaded again, its reason is
// there, and it can be skipped. A page of another node says that the last reply is an earlier one.
func TestUndoneCard(t *testing.T) {
	at, origin := review(t, demo(t).store)
	w := open(t, at, origin)
	w.until("document.querySelector('.card[data-id]')")
	w.ready()
	w.run(chromedp.Evaluate("window.isSame = true", nil))
	shown, score := w.shown(), w.text(".score")
	w.press("w")
	w.write("an old paper")
	w.press("Enter", "y")
	w.next(shown)
	behind := w.shown()
	w.press("w")
	w.write("of the next one")
	w.press("Escape", "z")
	w.next(behind)
	if got := w.shown(); got != shown {
		t.Fatalf("after undo: got the card of %s, want %s", got, shown)
	}
	if got := eval[string](w, "document.querySelector('#why').value"); got != "an old paper" {
		t.Errorf("the reason after undo: got %q", got)
	}
	w.until("document.querySelector('.score').innerText === " + quoted(score) + " && window.isSame")
	w.ready()
	w.press("s")
	w.next(shown)
	w.press("n")
	w.until("document.querySelector('#said-text').innerText.includes('kept its label')")
	w.ready()
	w.press("g")
	w.write(shown)
	w.press("Enter")
	w.until("location.pathname.endsWith('/node')")
	w.ready()
	if got := w.text("#said-text"); !strings.HasPrefix(got, "Earlier: ") {
		t.Errorf("beside another node: got %q", got)
	}
}
