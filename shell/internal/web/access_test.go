package web

import (
	"bytes"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
	"github.com/graphcleaner/graphcleaner/kv"
)

// paths are all that can be asked for.
func paths() (of [][2]string) {
	for pattern := range routes {
		method, path, _ := strings.Cut(pattern, " ")
		of = append(of, [2]string{method, path})
	}
	for _, path := range []string{"/", "/ask", "/page.css", "/page.js", "/no/such"} {
		of = append(of, [2]string{"GET", path})
	}
	return append(of, [2]string{"POST", "/ask"})
}

// TestForeignHost has requests whose host is another name that points at this machine, as an attacker's page can send
// them.
func TestForeignHost(t *testing.T) {
	c := serve(t, papers.Cleaned(t), nil)
	browser := c.browser()
	_, port, err := net.SplitHostPort(c.server.listener.Addr().String())
	must.Do(t, err)
	for _, host := range []string{"evil.example", "evil.example:" + port, "127.0.0.1", "localhost", "127.0.0.1:1",
		"127.0.0.1.evil.example:" + port, "[::1]", "0.0.0.0:" + port} {
		for _, path := range paths() {
			for _, from := range []*client{c, browser} {
				status, text, _ := from.do(path[0], path[1], "", "", func(r *http.Request) { r.Host = host })
				if status != http.StatusForbidden || !strings.Contains(text, "not this machine") {
					t.Errorf("%s %s with the host %q: got %d", path[0], path[1], host, status)
				}
			}
		}
	}
	// Without any host, as HTTP/1.0 allows.
	conn := must.Get(net.Dial("tcp", c.server.listener.Addr().String()))(t)
	defer conn.Close()
	must.Get(conn.Write([]byte("GET /review HTTP/1.0\r\nAuthorization: Bearer " + c.server.keys.token + "\r\n\r\n")))(t)
	answer := make([]byte, 1000)
	if n, err := conn.Read(answer); err != nil || !strings.Contains(string(answer[:n]), "403") {
		t.Errorf("without a host: got %q, %v", answer[:n], err)
	}
	for _, host := range []string{"localhost:" + port, "[::1]:" + port, "127.0.0.1:" + port} {
		if status, text, _ := c.do("GET", "/progress", "", "",
			func(r *http.Request) { r.Host = host }); status != http.StatusOK {
			t.Errorf("the host %s: got %d, %s", host, status, text)
		}
	}
}

// TestNoToken has requests without the secret, or with another one.
func TestNoToken(t *testing.T) {
	c := serve(t, papers.Cleaned(t), nil)
	wrong := strings.Repeat("0", 2*secretBytes)
	for _, header := range []http.Header{
		{}, {"Authorization": {"Bearer " + wrong}}, {"Authorization": {c.server.keys.token}}, {"Authorization": {"Bearer "}},
		{"Cookie": {cookieName + "=" + wrong}}, {"Cookie": {cookieName + "="}},
		{"Cookie": {"graphcleaner-1=" + c.server.keys.cookie}},
		{"Cookie": {cookieName + "=" + c.server.keys.token}}, {"Authorization": {"Bearer " + c.server.keys.cookie}},
		{"Authorization": {"Bearer " + c.server.keys.path}},
	} {
		for _, path := range paths() {
			for _, below := range []string{"", c.server.keys.path} {
				status, text, _ := c.do(path[0], below+path[1], "", "", func(r *http.Request) { r.Header = header.Clone() })
				if status != http.StatusUnauthorized || !strings.Contains(text, "Open the address that graphcleaner printed") {
					t.Errorf("%s %s%s with %v: got %d, %s", path[0], below, path[1], header, status, text)
				}
			}
		}
	}
	for _, path := range []string{"/?token=" + wrong, "/?token=", "/?ticket=" + wrong,
		"/audit?token=" + c.server.keys.token} {
		if status, _, _ := c.do("GET", path, "", "",
			func(r *http.Request) { r.Header = http.Header{} }); status != http.StatusForbidden &&
			status != http.StatusUnauthorized {
			t.Errorf("%s: got %d", path, status)
		}
	}
}

// TestCookie has what a server at another port of this machine may get of a browser: the cookie, if the browser asks it
// for the path of the pages. Neither the cookie nor the path alone opens anything.
func TestCookie(t *testing.T) {
	store := papers.Cleaned(t)
	c := serve(t, store, nil)
	browser := c.browser()
	for path, want := range map[string]int{"/": 0, "/review": 0, "/steal": 0, c.server.keys.path + "/review": 1,
		c.server.keys.path + "x/": 0} {
		at := must.Get(url.Parse("http://127.0.0.1:18031" + path))(t)
		if got := browser.Jar.Cookies(at); len(got) != want {
			t.Errorf("a server at another port is asked for %s, and gets %v, want %d cookies", path, got, want)
		}
	}
	_, _, header := browser.do("GET", "", "", "", func(r *http.Request) {
		r.URL.Path, r.URL.RawQuery = "/", tokenParameter+"="+c.server.keys.token
	})
	cookie := header.Get("Set-Cookie")
	for _, want := range []string{"HttpOnly", "SameSite=Lax", "Path=/"} {
		if !strings.Contains(cookie, want) {
			t.Errorf("the cookie %q has no %s", cookie, want)
		}
	}
	if strings.Contains(cookie, c.server.keys.token) || header.Get("Location") != c.server.keys.path+"/" {
		t.Errorf("the token leads to %q with the cookie %q", header.Get("Location"), cookie)
	}
	bare := &client{t, &http.Client{Transport: c.Transport}, c.server, http.Header{"Sec-Fetch-Site": {"same-origin"}},
		c.base}
	for _, thief := range []struct{ path, cookie string }{{"", cookieName + "=" + c.server.keys.cookie},
		{c.server.keys.path, ""}, {"/" + c.server.keys.token, cookieName + "=" + c.server.keys.cookie}} {
		bare.header.Set("Cookie", thief.cookie)
		for _, path := range paths() {
			if status, _, _ := bare.do(path[0], thief.path+path[1], "application/x-www-form-urlencoded", "",
				nil); status != http.StatusUnauthorized {
				t.Errorf("%s %s with the cookie %q: got %d", path[0], thief.path+path[1], thief.cookie, status)
			}
		}
	}
	// A page shows neither the token nor the cookie.
	for _, path := range []string{"/review", "/audit", "/ask?statement=suspects"} {
		if _, text := browser.get(path); strings.Contains(text, c.server.keys.token) ||
			strings.Contains(text, c.server.keys.cookie) {
			t.Errorf("%s shows a secret", path)
		}
	}
}

// TestForeignPage has changes that a page of another origin makes a browser send, with the cookie.
func TestForeignPage(t *testing.T) {
	store := papers.Cleaned(t)
	browser := serve(t, store, nil).browser()
	origin := browser.server.Origin()
	fields := url.Values{"id": {"p4"}, "decision": {"accept"}}
	for _, header := range []http.Header{
		{}, {"Sec-Fetch-Site": {"cross-site"}}, {"Sec-Fetch-Site": {"same-site"}}, {"Sec-Fetch-Site": {"none"}},
		{"Origin": {"http://evil.example"}},
		{"Origin": {"null"}}, {"Origin": {"http://127.0.0.1:1"}}, {"Origin": {"https" + strings.TrimPrefix(origin, "http")}},
		{"Sec-Fetch-Site": {"same-site"}, "Origin": {origin}}, {"Sec-Fetch-Site": {"cross-site"}, "Origin": {origin}},
	} {
		for _, path := range paths() {
			if path[0] == http.MethodGet {
				continue
			}
			browser.header = header.Clone()
			if status, text, _ := browser.form(path[1], fields); status != http.StatusForbidden ||
				!strings.Contains(text, "from elsewhere") {
				t.Errorf("%s with %v: got %d, %s", path[1], header, status, text)
			}
		}
	}
	if got := ask(t, store, "history"); len(got) != 0 {
		t.Fatalf("got %v, want nothing decided", got)
	}
	for _, header := range []http.Header{{"Sec-Fetch-Site": {"same-origin"}}, {"Origin": {origin}},
		{"Sec-Fetch-Site": {"same-origin"}, "Origin": {"null"}}} {
		browser.header = header
		fields.Set("seen", show[*card](browser, (*Server).node, "id", "p4").Seen)
		if status, text, _ := browser.form("/decide", fields); status != http.StatusSeeOther {
			t.Errorf("the page itself, with %v: got %d, %s", header, status, text)
		}
	}
}

// TestGetChangesNothing compares the files of a store before and after every request that reads, and asks with every
// other method.
func TestGetChangesNothing(t *testing.T) {
	store := papers.Cleaned(t)
	c := serve(t, store, nil)
	browser := c.browser()
	before := content(t, store)
	for _, path := range paths() {
		if path[0] != http.MethodGet {
			continue
		}
		for _, query := range []string{"", "?id=p4&where=score+%3E+0.5&decision=accept&statement=accept+p4"} {
			c.get(path[1] + query)
			browser.get(path[1] + query)
			for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
				if slices.Contains(paths(), [2]string{method, path[1]}) {
					continue
				}
				if status, _, _ := c.do(method, path[1]+query, "", "", nil); status != http.StatusMethodNotAllowed &&
					status != http.StatusNotFound {
					t.Errorf("%s %s: got %d", method, path[1], status)
				}
			}
		}
	}
	for _, path := range paths() {
		if path[0] == http.MethodPost && path[1] != "/ask" {
			if status, _ := c.get(path[1] + "?id=p4&decision=accept"); status != http.StatusMethodNotAllowed {
				t.Errorf("GET %s: got %d", path[1], status)
			}
		}
	}
	if after := content(t, store); before != after {
		t.Error("requests that read have changed the store")
	}
}

// content is all that the files of a store hold, without the journal's own order of flushes.
func content(t *testing.T, store *kv.Store) string {
	t.Helper()
	var all bytes.Buffer
	must.Do(t, filepath.WalkDir(store.Dir(), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Type()&fs.ModeSocket != 0 {
			return err
		}
		text, err := os.ReadFile(path)
		all.WriteString(path)
		all.Write(bytes.TrimRight(text, "\x00"))
		return err
	}))
	return all.String()
}

// TestHeaders has every answer forbid all that comes from elsewhere.
func TestHeaders(t *testing.T) {
	c := serve(t, papers.Cleaned(t), nil)
	browser := c.browser()
	for _, path := range []string{"/", "/review", "/ask?statement=suspects", "/ask?statement=x", "/audit", "/page.js",
		"/page.css", "/no/such"} {
		for _, from := range []*client{c, browser} {
			_, _, header := from.do("GET", path, "", "", nil)
			for name, want := range map[string]string{
				"Content-Security-Policy": "default-src 'none'", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
				"Referrer-Policy": "no-referrer",
			} {
				if !strings.Contains(header.Get(name), want) {
					t.Errorf("%s: got %s %q, want %q", path, name, header.Get(name), want)
				}
			}
			if policy := header.Get("Content-Security-Policy"); strings.Contains(policy, "unsafe") ||
				strings.Contains(policy, "*") {
				t.Errorf("%s: got the policy %s", path, policy)
			}
			for name := range header {
				if strings.HasPrefix(name, "Access-Control-") {
					t.Errorf("%s: got %s", path, name)
				}
			}
		}
	}
}

// TestHostileText has a store whose texts are markup, scripts, escapes of terminals and marks of direction.
func TestHostileText(t *testing.T) {
	const (
		markup = `"><script>alert(1)</script><img src=x onerror=alert(2)>`
		label  = `</option></datalist><svg onload=alert(3)>'&amp;`
		escape = "a\x1b]0;title\x07\x1b[31mred\u202etxt.exe"
		link   = "javascript:alert(4)"
	)
	dir := filepath.Join(t.TempDir(), "store")
	load := must.Get(kv.NewLoader(t.Context(), dir, kv.LoadOptions{Properties: []kv.Column{
		{Name: "title", Kind: kv.KindString}, {Name: "link", Kind: kv.KindString}, {Name: "<b>name",
			Kind: kv.KindString}, {Name: "text", Kind: kv.KindString},
	}}))(t)
	for _, id := range []string{markup, "b", "../../etc", "?id=x&y#z"} {
		values := []kv.Value{kv.ValueOf(markup + escape), kv.ValueOf(link), kv.ValueOf(escape), kv.ValueOf(markup + escape)}
		must.Do(t, load.AddNode(kv.Node{ID: id, Label: label, Values: values}))
	}
	for _, id := range []string{"b", "../../etc", "?id=x&y#z"} {
		must.Do(t, load.AddEdge(markup, id, 0))
	}
	must.Get(load.Commit(t.Context(), nil))(t)
	store := papers.Reopen(t, dir)
	c := serve(t, store, func(o *Options) {
		o.Name, o.Query.Who = markup, markup
	})
	browser := c.browser()
	for _, id := range []string{markup, "?id=x&y#z", "../../etc"} {
		browser.decide(id, "decision", "relabel:"+label, "why", markup)
	}
	statement := func(text string) string { return "/ask?" + valuesOf([]string{"statement", text}).Encode() }
	for _, path := range []string{
		"/node?id=" + url.QueryEscape(markup), "/node?id=" + url.QueryEscape("?id=x&y#z"), "/node?id=" +
			url.QueryEscape(markup+"x"),
		"/review?where=" + url.QueryEscape(markup), statement("nodes return id, title, text, link, \"<b>name\""),
		statement(markup), statement("history"),
		statement("explain '" + markup + "'"),
	} {
		_, text := browser.get(path)
		for _, bad := range []string{"<script>alert", "<img", "<svg onload", "onerror=alert(2)>\n", `href="javascript`,
			"\x1b", "\u202e", "ZgotmplZ", "<b>name"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s: has %q", path, bad)
			}
		}
	}
	// Walking from a node to its neighbour goes by its id, whatever that is.
	_, text := browser.get("/node?id=" + url.QueryEscape(markup))
	if !strings.Contains(text, `href="node?id=%3Fid%3Dx%26y%23z"`) || strings.Contains(text, `href="../`) {
		t.Error("the links of the picture are not those of the neighbours")
	}
}

// TestLargeBodies has bodies and headers that are too large.
func TestLargeBodies(t *testing.T) {
	store := papers.Cleaned(t)
	c := serve(t, store, nil)
	for _, path := range paths() {
		if path[0] != http.MethodPost {
			continue
		}
		status, text, _ := c.do("POST", path[1], "application/x-www-form-urlencoded", "id="+strings.Repeat("x", maxBody), nil)
		if status != http.StatusRequestEntityTooLarge && status != http.StatusBadRequest {
			t.Errorf("%s: got %d, %.200s", path[1], status, text)
		}
	}
	if status, _, _ := c.do("GET", "/review", "", "",
		func(r *http.Request) {
			r.Header.Set("X", strings.Repeat("x", 2*maxHeader))
		}); status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a large header: got %d", status)
	}
	if got := ask(t, store, "history"); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}
