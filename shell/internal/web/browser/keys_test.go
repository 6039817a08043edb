package browser

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// history lists what was decided, the newest first.
func (w *window) history() (entries []string) {
	w.Helper()
	return eval[[]string](w,
		`fetch('ask?statement=history', {headers: {Accept: 'application/json'}}).then(answer => answer.json()).then(entries =>
		entries.map(of => of.id + ' ' + of.decision).reverse())`)
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
	if got := w.text("#problem"); !strings.HasPrefix(got, "graphcleaner has ended") {
		t.Errorf("the page says %q", got)
	}
	if still := w.shown(); still != shown {
		t.Errorf("the page shows %s, want %s, which is not decided", still, shown)
	}
}
