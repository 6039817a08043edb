package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestListAfterUndo takes back a decision about a row: the row comes back once its score is there, without a reload,
// and the row that the keys are at stays. Rows that are selected stay as they are.
func TestListAfterUndo(t *testing.T) {
	at, origin := review(t, demo(t).store)
	w := open(t, at, origin)
	w.at("/list")
	const counts = "document.querySelector('#list-count').innerText === " +
		"document.querySelector('[data-count=left]').innerText"
	has := func(id string) string { return "document.querySelector(`[name=ids][value='" + id + "']`)" }
	w.until(counts)
	before := w.text("#list-count")
	w.press("j", "x", "y")
	w.until("document.querySelector('.question')")
	w.ready()
	id := eval[string](w, "document.querySelector('.question').closest('main').querySelector('[name=ids]').value")
	w.press("Enter")
	w.until("location.pathname.endsWith('/list') && !" + has(id) + " && " + counts)
	w.ready()
	w.press("j", "j")
	w.press("z")
	w.until(has(id) + " && " + counts + " && document.querySelector('#list-count').innerText === " + quoted(before) +
		" && !document.body.innerText.includes('older')")
	w.ready()

	// A row is decided on elsewhere, while another one is the current one.
	w.press("j", "j")
	current := eval[string](w, "document.querySelector('tr.current [name=ids]').value")
	gone := eval[string](w, "document.querySelectorAll('[name=ids]')[5].value")
	reject := func(id string) {
		t.Helper()
		if status := eval[int](w, "fetch('decide', {method: 'POST', body: new URLSearchParams({id: "+quoted(id)+
			", decision: 'reject'})}).then(answer => answer.status)"); status != 200 {
			t.Fatalf("the decision about %s: got %d", id, status)
		}
	}
	reject(gone)
	w.until("!" + has(gone) + " && " + counts)
	w.ready()
	if now := eval[string](w, "document.activeElement.value"); now != current {
		t.Errorf("the keys are at %q, want %q as before", now, current)
	}
	w.press("x")
	kept := eval[string](w, "document.querySelectorAll('[name=ids]')[5].value")
	reject(kept)
	w.until(counts)
	if !eval[bool](w, "!!"+has(kept)+" && document.querySelectorAll('[name=ids]:checked').length === 1") {
		t.Error("rows have changed while one is selected")
	}
}

// TestEndOfQueue skips all of a queue: its end counts all of them, the last one too, and brings them back.
func TestEndOfQueue(t *testing.T) {
	at, origin := review(t, demo(t).store)
	w := open(t, at, origin)
	w.at("/list")
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
	if got := w.text("#main button"); got != "Show the 2 skipped again" {
		t.Errorf("the end of the queue: got the button %q", got)
	}
	w.run(chromedp.Click("#main button", chromedp.ByQuery))
	w.until("document.querySelector('.card[data-id]')")
	if got := w.shown(); got != first {
		t.Errorf("again: got the card of %s, want %s", got, first)
	}
}
