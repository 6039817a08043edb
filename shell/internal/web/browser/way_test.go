package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// TestWay is a person's whole way: 50 decisions by keyboard alone, then statements, a second person, and the labels.
func TestWay(t *testing.T) {
	g := demo(t)
	at, origin := review(t, g.store, "--who", "ann")
	w := open(t, at, origin)
	w.until("document.querySelector('.card[data-id]')")
	if strings.Contains(eval[string](w, "location.href"), "token") {
		t.Error("the token is in the address bar")
	}
	w.ready()
	w.press("e")
	w.until("document.querySelector('pre') && document.querySelector('pre').innerText.includes('Score, had the label " +
		"been')")
	w.at("/review")

	// The person knows the truth, and is sure of it, except now and then.
	decided := map[string]string{}
	for i := range 50 {
		card := eval[shown](w, readCard)
		truth := g.truth[card.ID]
		digit := slices.Index(card.Choices, truth)
		here := "document.querySelector('.card') && document.querySelector('.card').dataset.id === " + quoted(card.ID)
		gone := "!(" + here + ")"
		switch {
		case i == 10:
			w.pressUntil(gone, "d")
		case i == 20:
			w.pressUntil(gone, "s")
		case i == 30: // a slip, taken back
			w.pressUntil(gone, "u")
			w.pressUntil(here, "z")
			w.pressUntil(gone, "n")
			decided[card.ID] = card.Label
		case truth == card.Label:
			w.pressUntil(gone, "n")
		case truth == card.Suggested:
			w.pressUntil(gone, "y")
		case digit >= 0 && i%2 == 0:
			w.pressUntil(gone, fmt.Sprint(digit+1))
		default:
			w.pressUntil("document.activeElement.id === 'label'", "l")
			w.write(truth)
			w.press("Enter")
		}
		if i != 10 && i != 20 && i != 30 {
			decided[card.ID] = truth
		}
		w.next(card.ID)
	}
	// Labels are as the person says.
	export := func() map[string]string {
		t.Helper()
		rows := eval[[]struct{ ID, Label string }](w, "fetch('ask?statement=nodes+return+id,+label', {headers: {Accept: "+
			"'application/json'}}).then(answer => answer.json())")
		labels := map[string]string{}
		for _, row := range rows {
			labels[row.ID] = row.Label
		}
		return labels
	}
	labels := export()
	for id, label := range decided {
		if labels[id] != label {
			t.Errorf("%s: got the label %q, want %q", id, labels[id], label)
		}
	}

	// The filter, and a statement with an error.
	w.expects = append(w.expects, "400 (Bad Request)")
	w.at("/review")
	w.press("/")
	w.write("score > 0.5")
	w.press("Enter")
	w.until("location.search.includes('0.5') && document.querySelector('.card[data-id]')")
	w.at("/ask")
	w.press("/")
	w.write("suspects where lable = 1")
	w.press("Enter")
	w.until("document.querySelector('#problem').innerText.includes('no property is named')")
	w.at("/ask?statement=suspects")
	if before := eval[int](w, "document.querySelectorAll('[name=ids]').length"); before < 5 {
		t.Fatalf("the list has %d rows", before)
	}

	// Three rows, one question, one undo.
	eval[any](w, "(() => { [...document.querySelectorAll('[name=ids]')].slice(0, 3).forEach(box => box.click()); })()")
	w.press("y")
	w.until("document.querySelector('.question') && document.querySelectorAll('#main li').length === 3")
	w.ready()
	w.press("Enter")
	w.until("location.pathname.endsWith('/ask') && document.querySelector('#said').innerText.includes('3 nodes accepted')")
	w.ready()
	w.press("z")
	w.until("document.querySelector('#said').innerText.includes('3 nodes: taken back')")

	// Somebody else disagrees, in a window of their own.
	w.at("/ask?statement=suspects")
	first := eval[string](w, "document.querySelector('[name=ids]').value")
	w.at("/node?id=" + first)
	w.press("y")
	w.until("document.querySelector('#said').innerText.includes('accepted')")
	atBob, originBob := review(t, g.store, "--who", "bob")
	bob := open(t, atBob, originBob)
	bob.until("document.querySelector('.card')")
	bob.at("/node?id=" + first)
	bob.press("l")
	bob.write(g.given[first])
	bob.press("Enter")
	bob.until("document.querySelector('#said').innerText.includes('people disagree')")
	w.at("/review?where=disputed")
	if !strings.Contains(w.text(".card"), "People disagree") {
		t.Errorf("the queue of disputes shows %q", w.text(".card"))
	}

	w.stayed()
	bob.stayed()
}

// TestWithoutScript has a browser that runs no script: forms and links do all but keys and live counts.
func TestWithoutScript(t *testing.T) {
	g := demo(t)
	at, origin := review(t, g.store)
	w := open(t, at, origin)
	w.silent = true
	w.run(emulation.SetScriptExecutionDisabled(true))
	w.at("/review")
	title := func() (s string) {
		w.run(chromedp.Text("h1", &s, chromedp.ByQuery))
		return s
	}
	clicked := func(selector, says string) {
		t.Helper()
		w.run(chromedp.Click(selector, chromedp.ByQuery))
		w.until("document.querySelector('#said').textContent.includes(" + quoted(says) + ")")
	}
	first := title()
	clicked("button.yes", first+" accepted")
	second := title()
	if second == first {
		t.Error("the card stays")
	}
	clicked("button[formaction='skip']", second+" skipped")
	clicked("#undo button", "back in the queue")
	if title() != second {
		t.Errorf("after undo: got %s, want %s", title(), second)
	}
	w.at("/ask?statement=suspects")
	w.run(chromedp.Click("tbody tr:nth-child(1) input", chromedp.ByQuery),
		chromedp.Click("tbody tr:nth-child(2) input", chromedp.ByQuery),
		chromedp.Click(".many button[value=reject]", chromedp.ByQuery), chromedp.WaitVisible(".question", chromedp.ByQuery))
	clicked("button.yes", "2 nodes rejected")
	clicked("#undo button", "2 nodes: taken back")
	w.stayed()
}

// pages are the pages that a person looks at.
var pages = []string{"/review", "/ask?statement=suspects", "/ask?statement=classes", "/audit",
	"/ask?statement=explain+ID", "/node?id=ID"}

// TestSizes has windows of all sizes, light and dark: nothing sticks out, and everything has a name that a screen
// reader says.
func TestSizes(t *testing.T) {
	store := languages(t)
	graphcleaner(t, "shell", store, "-c", "audit draw 50")
	at, origin := review(t, store)
	w := open(t, at, origin)
	for _, width := range []int64{360, 800, 1280, 2560} {
		for _, scheme := range []string{"light", "dark"} {
			w.run(chromedp.EmulateViewport(width, 900),
				emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
			for _, path := range pages {
				w.at(strings.ReplaceAll(path, "ID", "n1"))
				if out := eval[int](w, "document.scrollingElement.scrollWidth - innerWidth"); out > 0 {
					t.Errorf("%s at %d pixels: %d pixels stick out", path, width, out)
				}
				if scheme == "dark" {
					if dark := eval[string](w, "getComputedStyle(document.body).backgroundColor"); dark == "rgb(255, 255, 255)" {
						t.Errorf("%s: white in the dark", path)
					}
				}
			}
		}
	}
	for _, path := range pages {
		w.at(strings.ReplaceAll(path, "ID", "n1"))
		nameless := eval[[]string](w,
			`[...document.querySelectorAll('a, button, input:not([type=hidden]), select, svg[role]')].filter(e =>
			!e.closest('[hidden], [aria-hidden], dialog') && !(e.getAttribute('aria-label') || e.textContent.trim() || (e.labels && e.labels.length && e.labels[0].textContent.trim()))).map(e => e.outerHTML.slice(0, 200))`)
		if len(nameless) > 0 {
			t.Errorf("%s: without a name: %q", path, nameless)
		}
		if n := eval[int](w, "document.querySelectorAll('h1').length"); n != 1 {
			t.Errorf("%s: %d first headings", path, n)
		}
		// Tab reaches every link, button and field, and one sees where it is.
		stops := eval[int](w,
			`(() => { document.activeElement.blur(); return [...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, summary')].filter(e => e.tabIndex >= 0 && e.checkVisibility() && !e.closest('[inert]')).length; })()`)
		reached := 0
		for range stops + 5 {
			w.press("Tab")
			state := eval[string](w,
				`(() => { const e = document.activeElement; if (e === document.body) return ''; const s = getComputedStyle(e), inner = e.firstElementChild && getComputedStyle(e.lastElementChild);
				return s.outlineStyle !== 'none' || e.closest('svg') ? 'seen' : 'unseen: ' + e.outerHTML.slice(0, 120); })()`)
			if strings.HasPrefix(state, "unseen") {
				t.Errorf("%s: the focus is %s", path, state)
				break
			}
			if state == "seen" {
				reached++
			}
		}
		if reached < stops {
			t.Errorf("%s: Tab reached %d of %d", path, reached, stops)
		}
	}
	w.stayed()
}

// languages is a store whose labels and titles are of many languages and directions.
func languages(t *testing.T) string {
	t.Helper()
	labels := []string{"الشبكات", "רשתות", "機械学習", "Größe", "a very long label of many words that goes on and on " +
		"without any end in sight"}
	var nodes, edges strings.Builder
	nodes.WriteString("id,label,title,abstract\n")
	edges.WriteString("src,dst\n")
	for i := range 200 {
		label := labels[i%len(labels)]
		if i%19 == 0 {
			label = labels[(i+1)%len(labels)]
		}
		fmt.Fprintf(&nodes, "n%d,%s,%s %d %s,%s\n", i, label, labels[(i+2)%len(labels)], i, strings.Repeat("unbroken", 20),
			strings.Repeat("words of a text ", 40))
		for _, step := range []int{5, 10, 25} {
			fmt.Fprintf(&edges, "n%d,n%d\n", i, (i+step)%200)
		}
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"nodes.csv": nodes.String(), "edges.csv": edges.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	store := filepath.Join(dir, "g")
	graphcleaner(t, "import", store, "--nodes", filepath.Join(dir, "nodes.csv"), "--edges",
		filepath.Join(dir, "edges.csv"))
	graphcleaner(t, "clean", store)
	return store
}
