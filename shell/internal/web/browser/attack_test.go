package browser

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"
)

// attacks are the tries of a page of another origin, in the browser with the cookie. Each gives what it got hold of.
const attacks = `(async () => {
  const at = %q, got = {};
  const id = encodeURIComponent(%q);
  const tries = {
    read: async () => (await fetch(at + '/review', {credentials: 'include'})).text(),
    json: async () => (await fetch(at + '/ask?statement=suspects', {credentials: 'include', headers: {Accept: 'application/json'}})).text(),
    blind: async () => { const a = await fetch(at + '/review', {mode: 'no-cors', credentials: 'include'}); return a.type === 'opaque' ? '' : a.text(); },
    post: async () => (await fetch(at + '/decide', {method: 'POST', credentials: 'include', body: new URLSearchParams({id: %[2]q, decision: 'accept'})})).text(),
    blindPost: async () => { await fetch(at + '/decide', {method: 'POST', mode: 'no-cors', credentials: 'include', body: new URLSearchParams({id: %[2]q, decision: 'accept'})}); return ''; },
    textPost: async () => { await fetch(at + '/decide', {method: 'POST', mode: 'no-cors', credentials: 'include', headers: {'Content-Type': 'text/plain'}, body: '{"id":"' + %[2]q + '","decision":"accept"}'}); return ''; },
    beacon: async () => { navigator.sendBeacon(at + '/decide', new URLSearchParams({id: %[2]q, decision: 'accept'})); return ''; },
    undo: async () => { await fetch(at + '/undo', {method: 'POST', mode: 'no-cors', credentials: 'include'}); return ''; },
    ask: async () => { await fetch(at + '/ask', {method: 'POST', mode: 'no-cors', credentials: 'include', body: new URLSearchParams({statement: 'accept ' + %[2]q})}); return ''; },
    askByAddress: async () => { await fetch(at + '/ask?statement=accept+' + id, {mode: 'no-cors', credentials: 'include'}); return ''; },
    form: () => new Promise(done => {
      const frame = document.createElement('iframe'), form = document.createElement('form');
      frame.name = 'hidden'; form.target = 'hidden'; form.method = 'post'; form.action = at + '/decide';
      for (const [name, value] of [['id', %[2]q], ['decision', 'accept']]) { const field = document.createElement('input'); field.name = name; field.value = value; form.append(field); }
      document.body.append(frame, form); form.submit(); setTimeout(() => done(''), 700);
    }),
    frame: () => new Promise(done => {
      const frame = document.createElement('iframe');
      frame.src = at + '/node?id=' + id;
      document.body.append(frame);
      setTimeout(() => { try { done(frame.contentDocument && frame.contentDocument.querySelector('.card') ? frame.contentDocument.body.innerText : ''); } catch { done(''); } }, 700);
    }),
    script: () => new Promise(done => {
      const script = document.createElement('script');
      script.src = at + '/ask?statement=suspects';
      script.onload = () => done('a script was loaded'); script.onerror = () => done('');
      document.body.append(script);
    }),
    image: () => new Promise(done => {
      const image = new Image();
      image.onload = () => done('an image was loaded'); image.onerror = () => done('');
      image.src = at + '/icon.svg';
    }),
    window: () => new Promise(done => {
      const other = open(at + '/review');
      setTimeout(() => { try { done(other && other.document.querySelector('.card') ? 'a window was read' : ''); } catch { done(''); } }, 700);
    }),
  };
  for (const [name, attempt] of Object.entries(tries)) {
    try { got[name] = await attempt(); } catch { got[name] = ''; }
  }
  return got;
})()`

// TestAttacker has a page of another port of this machine, and one of another name that leads to this machine, in the
// browser that has the page open: they read nothing, and change nothing.
func TestAttacker(t *testing.T) {
	g := demo(t)
	at, origin := review(t, g.store)
	w := open(t, at, origin)
	w.until("document.querySelector('.card[data-id]')")
	card := eval[shown](w, readCard)

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	attacker := &http.Server{ReadHeaderTimeout: time.Second,
		Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if cookie := r.Header.Get("Cookie"); cookie != "" {
				t.Errorf("%s: the attacker's server gets the cookie %s", r.URL.Path, cookie)
			}
			fmt.Fprint(rw, "<!DOCTYPE html><title>a nice page</title><body>Hello")
		})}
	go attacker.Serve(listener) //nolint:errcheck // it ends with Shutdown
	t.Cleanup(func() {
		if err := attacker.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	w.expects = append(w.expects, "") // the browser tells what it refuses
	w.silent = true                   // the page of the attacker has no script of ours
	pages := w.origin
	w.origin = "http://" + listener.Addr().String()
	w.at("/")
	eval[int](w, "fetch('/steal', {credentials: 'include'}).then(answer => answer.status)")
	for name, got := range eval[map[string]string](w, fmt.Sprintf(attacks, origin, card.ID)) {
		if got != "" {
			t.Errorf("%s: the attacker got %.200s", name, got)
		}
	}

	w.origin, w.silent = pages, false
	// The person can go on.
	w.at("/review")
	if made := w.history(); len(made) != 0 {
		t.Errorf("the attacker made the decisions %q", made)
	}
	w.press("y")
	w.next(card.ID)
}
