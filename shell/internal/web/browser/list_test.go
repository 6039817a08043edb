package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestEndOfQueue skips all of a queue: its end counts all of them, the last one too, and brings them back.
func TestEndOfQueue(t *testing.T) {
	at, origin := review(t, demo(t).store)
	w := open(t, at, origin)
	w.at("/ask?statement=suspects")
	ids := eval[[]string](w, "[...document.querySelectorAll('[name=ids]')].slice(0, 2).map(box => box.value)")
	w.run(chromedp.Evaluate("location.href = 'review?' + new URLSearchParams({where: `id in ('"+strings.Join(ids, "', '")+"')`})", nil))
	w.until("document.querySelector('.card[data-id]')")
	w.ready()
	first := w.shown()
	w.press("s")
	w.next(first)
	w.press("s")
	w.until("document.querySelector('.card[data-empty]')")
	w.ready()
	if got := w.text(".card button"); got != "Show the 2 skipped again" {
		t.Errorf("the end of the queue: got the button %q", got)
	}
	w.run(chromedp.Click(".card button", chromedp.ByQuery))
	w.until("document.querySelector('.card[data-id]')")
	if got := w.shown(); got != first {
		t.Errorf("again: got the card of %s, want %s", got, first)
	}
}
