package browser

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// options are the labels that a draw offers.
func (w *window) options() []string {
	w.Helper()
	return eval[[]string](w, "[...document.querySelectorAll('.choices button')].map(b => "+
		"b.value.slice('relabel:'.length))")
}

// answer gives a label to the draw that is shown, and waits for the next one.
func (w *window) answer(label string) {
	w.Helper()
	shown := w.shown()
	if at := slices.Index(w.options(), label); at >= 0 {
		w.press(fmt.Sprint(at + 1))
	} else {
		w.press("l")
		w.write(label)
		w.press("Enter")
	}
	w.drawn(shown)
}

// drawn waits for another draw than the one of an id, or for the end of the draws.
func (w *window) drawn(id string) {
	w.Helper()
	w.until("!document.querySelector('.card') || document.querySelector('.card').dataset.id !== " + quoted(id))
	w.ready()
}

// TestAudit is an audit up to its first look by a person who knows the truth, mostly by keyboard.
func TestAudit(t *testing.T) {
	g := demo(t)
	at, origin := review(t, g.store, "--who", "ann")
	w := open(t, at, origin)
	w.until("document.querySelector('.card[data-id]')")
	w.run(chromedp.Click("nav a[href=audit]", chromedp.ByQuery))
	w.until("location.pathname.endsWith('/audit')")
	w.ready()
	if got := w.text("h1"); got != "How many labels are wrong?" {
		t.Errorf("before the first draw: got %q", got)
	}
	w.run(chromedp.Click("#standing button", chromedp.ByQuery))
	w.until("document.querySelector('.card[data-id]')")
	w.ready()
	if got := w.text("#standing"); got != "0 of 50 draws decided; the share of wrong labels is told once the first 25 "+
		"are." {
		t.Errorf("the first draw: got %q", got)
	}
	for _, word := range []string{"score", "suggest", "suspect", "threshold", "against", "%"} {
		if text := w.text("#main"); strings.Contains(strings.ToLower(text), word) {
			t.Errorf("the page tells of %q: %s", word, text)
		}
	}
	if eval[bool](w, "!!document.querySelector('.picture, #progress')") {
		t.Error("there is a picture, or a count of suspects")
	}

	// Undo leads back to the draw, and does not tell which label it had. An answer may have a reason.
	first, options := w.shown(), w.options()
	w.press("w")
	w.write("as its title says")
	w.press("Enter")
	w.press("1")
	w.drawn(first)
	if got := graphcleaner(t, "shell", g.store, "-c", "history return id, why", "--format", "csv"); !strings.Contains(got,
		first+",as its title says") {
		t.Errorf("the history has no reason: %s", got)
	}
	if got := w.text("#said"); got != first+": "+options[0]+"." {
		t.Errorf("after 1: got %q", got)
	}
	w.press("z")
	w.until("document.querySelector('.card').dataset.id === " + quoted(first))
	w.ready()
	if got := w.text("#said"); got != first+": taken back." || !slices.Equal(w.options(), options) {
		t.Errorf("after undo: got %q and the labels %q, want %q", got, w.options(), options)
	}
	w.press("s")
	w.drawn(first)
	w.press("z")
	w.until("document.querySelector('.card').dataset.id === " + quoted(first))
	w.ready()

	for range 25 {
		w.answer(g.truth[w.shown()])
	}
	if got := w.text("#standing"); !strings.Contains(got, "labels were wrong (90%: ") ||
		!strings.Contains(got, "by 25 draws") {
		t.Errorf("after 25: got %q", got)
	}

	// Somebody else sees another draw first. What they decide on, or what is removed, goes from the screen.
	atBob, originBob := review(t, g.store, "--who", "bob")
	bob := open(t, atBob, originBob)
	bob.until("document.querySelector('.card')")
	bob.at("/audit")
	mine := w.shown()
	graphcleaner(t, "shell", g.store, "-c", "reject '"+mine+"'")
	w.press("d")
	w.until("document.querySelector('#problem').innerText.includes('omebody has decided on " + mine + " meanwhile')")
	w.at("/audit")
	if got := w.text("#standing"); w.shown() == mine || !strings.Contains(got, "26 of 50 draws decided") {
		t.Errorf("somebody has decided: got %q", got)
	}
	w.stayed()
	bob.stayed()
}
