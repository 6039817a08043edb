package web

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/graphcleaner/graphcleaner/internal/testing/memdir"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/survey"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(memdir.Tests(m)) }

// A client is a program with the token, or a browser with the cookie.
type client struct {
	*testing.T
	*http.Client
	server *Server
	header http.Header
	base   string // what paths follow
}

// serve serves the page of a store.
func serve(t *testing.T, store *kv.Store, change func(*Options)) *client {
	t.Helper()
	listener := must.Get(Listen(t.Context(), "127.0.0.1:0"))(t)
	opt := Options{Store: store, Name: "papers", Query: query.Options{Who: "ann", Workers: 2}, Columns: survey.Columns{Title: "title"}}
	if change != nil {
		change(&opt)
	}
	server := must.Get(Serve(context.Background(), listener, opt))(t)
	transport := &http.Transport{}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return &client{t, &http.Client{Transport: transport}, server,
		http.Header{"Authorization": {"Bearer " + server.keys.token}, "Accept": {"application/json"}}, server.Origin()}
}

// browser is a client that came in by the printed address, and does not follow redirects.
func (c *client) browser() *client {
	c.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		c.Fatal(err)
	}
	b := &client{c.T, &http.Client{Transport: c.Transport, Jar: jar, CheckRedirect: func(*http.Request,
		[]*http.Request) error {
		return http.ErrUseLastResponse
	}}, c.server, http.Header{}, c.base}
	if status, _ := b.get(strings.TrimPrefix(c.server.Address(), c.server.Origin())); status != http.StatusSeeOther {
		c.Fatalf("the printed address: got %d, want a redirect", status)
	}
	b.header.Set("Sec-Fetch-Site", "same-origin")
	b.base += c.server.keys.path
	return b
}

// do does a request.
func (c *client) do(method, path, kind, body string, change func(*http.Request)) (status int, text string, header http.Header) {
	c.Helper()
	r, err := http.NewRequestWithContext(c.Context(), method, c.base+path, strings.NewReader(body))
	if err != nil {
		c.Fatal(err)
	}
	r.Header = c.header.Clone()
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	if change != nil {
		change(r)
	}
	answer, err := c.Do(r)
	if err != nil {
		c.Fatal(err)
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		c.Fatal(err)
	}
	return answer.StatusCode, string(content), answer.Header
}

func (c *client) get(path string) (status int, text string) {
	c.Helper()
	status, text, _ = c.do("GET", path, "", "", nil)
	return status, text
}

func (c *client) post(path string, body any) (status int, text string) {
	c.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		c.Fatal(err)
	}
	status, text, _ = c.do("POST", path, "application/json", string(data), nil)
	return status, text
}

func (c *client) form(path string, fields url.Values) (status int, text string, header http.Header) {
	c.Helper()
	return c.do("POST", path, "application/x-www-form-urlencoded", fields.Encode(), nil)
}

// last is the last reply of the page, to be taken back.
func (c *client) last() undoing {
	c.Helper()
	step := int64(0)
	must.Do(c.T, c.server.Store.View(func(tx *kv.Tx) (err error) {
		step, err = c.server.lastStep(c.Context(), tx)
		return err
	}))
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	return undoing{Step: cmp.Or(c.server.lastSkip, step)}
}

// view asks for the JSON of a path.
func view[T any](c *client, path string) (v T) {
	c.Helper()
	status, text := c.get(path)
	if status != http.StatusOK {
		c.Fatalf("%s: got %d: %s", path, status, text)
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&v); err != nil {
		c.Fatalf("%s: %v in %s", path, err, text)
	}
	return v
}

// ask answers a statement.
func ask(t *testing.T, store *kv.Store, statement string) (rows []string) {
	t.Helper()
	must.Do(t, store.View(func(tx *kv.Tx) error {
		result := must.Get(query.Query(t.Context(), tx, query.Options{}, statement))(t)
		for row, err := range result.Rows() {
			must.Do(t, err)
			var cells []string
			for _, v := range row {
				cells = append(cells, v.String())
			}
			rows = append(rows, strings.Join(cells, "|"))
		}
		return nil
	}))
	return rows
}

// TestQueue goes through the suspects of the papers as a program does: it accepts, rejects, skips and takes back.
func TestQueue(t *testing.T) {
	store := papers.Cleaned(t)
	c := serve(t, store, func(o *Options) { o.KeepScores = true })
	const queue = "/review?where=score+%3E+0.9"
	first := view[card](c, queue)
	if first.ID != "s3" || first.Seen.Suggested != "Theory" || first.Title == "s3" {
		t.Fatalf("the first suspect: got %+v", first)
	}
	if status, text := c.post("/decide", decision{ID: first.ID, Decision: "accept", Seen: &first.Seen}); status != http.StatusOK || !strings.Contains(text, "Systems → Theory") {
		t.Fatalf("accept: got %d, %s", status, text)
	}
	// The card is old now.
	if status, text := c.post("/decide",
		decision{ID: first.ID, Decision: "reject", Seen: &first.Seen}); status != http.StatusConflict ||
		!strings.Contains(text, "Not saved: s3 has changed since this card was shown. Label: Theory; suggested: Theory; decided: accept.") {
		t.Errorf("a decision about an old card: got %d, %s", status, text)
	}
	second := view[card](c, queue)
	if second.ID != "p4" {
		t.Fatalf("the second suspect: got %s", second.ID)
	}
	if status, _ := c.post("/skip", skipping{ID: "p4"}); status != http.StatusOK {
		t.Fatalf("skip: got %d", status)
	}
	third := view[card](c, queue)
	if third.ID != "p5" {
		t.Fatalf("the third suspect: got %s", third.ID)
	}
	if ahead := view[card](c, queue+"&not=p5"); !ahead.Empty || ahead.Skipped != 1 {
		t.Errorf("behind the third suspect: got %+v", ahead)
	}
	posted[reply](c, "/skip", skipping{ID: "p5"})
	if back := posted[reply](c, "/undo", c.last()); back.ID != "p5" || view[card](c, queue).ID != "p5" {
		t.Errorf("undo of a skip: got %+v", back)
	}
	if status, text := c.post("/decide", decision{ID: "p5", Decision: "relabel", Label: "Systems", Why: "seen", Seen: &third.Seen}); status != http.StatusOK {
		t.Fatalf("relabel: got %d, %s", status, text)
	}
	if got := ask(t, store, "nodes where decision is not null return id, label, decision, decided_by"); !slices.Equal(got, []string{"p5|Systems|relabel|ann", "s3|Theory|accept|ann"}) {
		t.Errorf("decisions: got %v", got)
	}
	for i, want := range []string{"p5", "s3"} {
		status, text := c.post("/undo", c.last())
		var got reply
		if err := json.Unmarshal([]byte(text), &got); err != nil || status != http.StatusOK || got.ID != want ||
			(got.Undo != 0) != (i < 1) {
			t.Errorf("undo: got %d, %s, want %s", status, text, want)
		}
	}
	if status, text := c.post("/undo", undoing{Step: 1}); status != http.StatusConflict ||
		!strings.Contains(text, "nothing to take back") {
		t.Errorf("undo of nothing: got %d, %s", status, text)
	}
	if got := ask(t, store, "nodes where decision is not null"); len(got) != 0 {
		t.Errorf("after undo: got %v", got)
	}
	if again := view[card](c, queue); again.ID != "s3" || len(again.Entries) != 2 {
		t.Errorf("after undo: got %+v", again)
	}
}

// TestDecideRefuses has requests that are not as they should be: nothing is decided, and the error says what was
// wanted.
func TestDecideRefuses(t *testing.T) {
	store := papers.Cleaned(t)
	c := serve(t, store, nil)
	for _, test := range []struct {
		body, want string
		status     int
	}{
		{`{"id":"none","decision":"accept"}`, "No node has the id 'none'", 404},
		{`{"id":"p4","decision":"maybe"}`, "want accept, reject", 400},
		{`{"id":"p4","decision":""}`, "want accept, reject", 400},
		{`{"id":"p4","decision":"relabel"}`, "No label is named", 400},
		{`{"id":"p4","decision":"relabel","label":"Theorie"}`, "did you mean", 404},
		{`{"id":"東","decision":"reject"}`, "no label", 409},
		{`{"id":"p4","decision":"accept","seen":{"label":"Systems","suggested":"Theory","decision":"no","run":1}}`, "Not saved: p4 has changed", 409},
		{`{"id":"p4","decision":"accept","seen":{"label":"Systems","suggested":"Systems","decision":"","run":1}}`, "Not saved: p4 has changed", 409},
		{`{"id":"p4","decision":"accept","colour":"red"}`, "colour", 400},
		{`{"id":"p4"`, "body is not as it should be", 400},
		{`{"id":"p4","decision":"accept","why":"` + strings.Repeat("x", 5000) + `"}`, "at most 1000", 400},
		{`{"id":"p4","decision":"accept","why":"` + strings.Repeat("x", maxBody) + `"}`, "too large", 413},
	} {
		status, text, _ := c.do("POST", "/decide", "application/json", test.body, nil)
		if status != test.status || !strings.Contains(text, test.want) {
			t.Errorf("%.80s: got %d, %s, want %d, %q", test.body, status, text, test.status, test.want)
		}
	}
	if status, text, _ := c.do("POST", "/decide", "text/plain", "id=p4&decision=accept", nil); status != 400 || !strings.Contains(text, "want application/json") {
		t.Errorf("text/plain: got %d, %s", status, text)
	}
	if got := ask(t, store, "history"); len(got) != 0 {
		t.Errorf("got %v, want nothing decided", got)
	}
}

// TestTwoWindows has two people with a server each decide on one node: the second sees a conflict, and can disagree on
// purpose.
func TestTwoWindows(t *testing.T) {
	store := papers.Cleaned(t)
	ann := serve(t, store, nil)
	bob := serve(t, store, func(o *Options) { o.Query.Who = "bob" })
	seenByBoth := view[card](ann, "/node?id=p4").Seen
	if status, text := ann.post("/decide", decision{ID: "p4", Decision: "accept", Seen: &seenByBoth}); status != 200 {
		t.Fatalf("ann: got %d, %s", status, text)
	}
	if status, _ := bob.post("/decide", decision{ID: "p4", Decision: "reject", Seen: &seenByBoth}); status != 409 {
		t.Fatalf("bob, of an old card: got %d", status)
	}
	now := view[card](bob, "/node?id=p4")
	if status, text := bob.post("/decide", decision{ID: "p4", Decision: "relabel", Label: "Neural Nets", Seen: &now.Seen}); status != 200 || !strings.Contains(text, "people disagree") {
		t.Fatalf("bob disagrees: got %d, %s", status, text)
	}
	if disputed := view[list](ann, "/list?where=disputed"); len(disputed.Rows) != 1 || disputed.Rows[0].ID != "p4" {
		t.Errorf("disputed: got %+v", disputed)
	}
	if queue := view[card](serve(t, store, func(o *Options) { o.Query.Who = "cem" }), "/review?where=disputed"); queue.ID != "p4" || !queue.Disputed {
		t.Errorf("the queue of disputed nodes: got %+v", queue)
	}
	// Ann's undo would take back what bob answered to.
	if status, text := ann.post("/undo", ann.last()); status != 409 || !strings.Contains(text, "bob") {
		t.Errorf("ann's undo: got %d, %s", status, text)
	}
}

// TestBulk asks before it decides about many, and asks again if they are not the same.
func TestBulk(t *testing.T) {
	store := papers.Cleaned(t)
	c := serve(t, store, nil)
	b := bulk{Where: "label = 'Systems'", Decision: "accept"}
	var asked bulkReply
	question := func(b bulk) {
		t.Helper()
		status, text := c.post("/bulk", b)
		asked = bulkReply{}
		if err := json.Unmarshal([]byte(text), &asked); err != nil || status != 200 {
			t.Fatalf("%+v: got %d, %s", b, status, text)
		}
	}
	question(b)
	if !strings.HasPrefix(asked.Question, "Accept the suggested labels of 2 nodes?") || len(asked.First) != 2 || asked.Said != "" {
		t.Fatalf("got %+v, want a question about two nodes", asked)
	}
	if !slices.Contains(asked.First, "p4: Systems → Theory, score 0.984375") {
		t.Errorf("got %q, want p4", asked.First)
	}
	// Somebody decides about one of them meanwhile.
	if status, _ := c.post("/decide", decision{ID: "p4", Decision: "unsure"}); status != 200 {
		t.Fatal("unsure")
	}
	b.Confirm = asked.Confirm
	if question(b); !strings.HasPrefix(asked.Question, "Accept the suggested labels of 1 node?") || asked.Said != "" {
		t.Fatalf("got %+v, want another question", asked)
	}
	b.Confirm = asked.Confirm
	if question(b); !strings.Contains(asked.Said, "s3 accepted: Systems → Theory.") {
		t.Fatalf("got %+v, want one node accepted", asked)
	}
	// What is selected by hand may be decided already.
	b = bulk{IDs: []string{"p4", "s1"}, Decision: "relabel", Label: "Theory", Why: "it's one"}
	if question(b); !strings.HasPrefix(asked.Question, "Relabel 2 nodes as 'Theory'?") {
		t.Fatalf("got %+v", asked)
	}
	b.Confirm = asked.Confirm
	question(b)
	if got := ask(t, store, "nodes where label = 'Systems' return id"); !slices.Equal(got, []string{"s2"}) {
		t.Errorf("got %v", got)
	}
	// One undo takes all of the step back.
	if status, text := c.post("/undo", c.last()); status != 200 || !strings.Contains(text, "2 nodes") {
		t.Errorf("undo: got %d, %s", status, text)
	}
	if got := ask(t, store, "nodes where label = 'Systems' return id"); !slices.Equal(got, []string{"p4", "s1", "s2"}) {
		t.Errorf("after undo: got %v", got)
	}
	// The same by the forms of the page.
	browser := c.browser()
	fields := url.Values{"of": {"suspects"}, "where": {"score > 0.5"}, "ids": {"s1", "s2"}, "decision": {"reject"},
		"back": {"list?of=nodes"}}
	_, text, _ := browser.form("/bulk", fields)
	hidden := regexp.MustCompile(`name="confirm" value="([0-9a-f]{64})"`).FindStringSubmatch(text)
	if hidden == nil {
		t.Fatalf("the question has nothing to confirm: %s", text)
	}
	fields.Set("confirm", hidden[1])
	if status, text, header := browser.form("/bulk", fields); status != http.StatusSeeOther ||
		header.Get("Location") != "list?of=nodes" {
		t.Errorf("got %d, %s", status, text)
	}
	if got := ask(t, store, "nodes where decision = 'reject' return id"); !slices.Equal(got, []string{"s1", "s2"}) {
		t.Errorf("got %v", got)
	}
	if status, text := c.post("/bulk", bulk{Decision: "reject", IDs: []string{"s1", "it's"}}); status != 404 ||
		!strings.Contains(text, "'it''s'") {
		t.Errorf("a node that is not there: got %d, %s", status, text)
	}
	for _, bad := range []bulk{
		{Decision: "delete"}, {Decision: "relabel"}, {Decision: "relabel", Label: "no such"}, {Decision: "accept", Where: "score >"},
		{Decision: "accept", Where: "score > 0.5 limit 1"}, {Decision: "accept", Where: "label = 'a'); undo"}, {Decision: "accept", IDs: make([]string, mostIDs+1)},
	} {
		if status, text := c.post("/bulk", bad); status != 400 && (status != 404 || bad.Label != "no such") {
			t.Errorf("%+v: got %d, %s", bad, status, text)
		}
	}
}

// TestList filters, sorts and pages.
func TestList(t *testing.T) {
	store := papers.Scored(t, 1000)
	c := serve(t, store, func(o *Options) { o.Columns = survey.Columns{} })
	all := view[list](c, "/list?of=nodes")
	if all.Count != 1000 || len(all.Rows) != pageRows || all.Pages != 20 {
		t.Fatalf("all nodes: got %d, %d rows of %d pages", all.Count, len(all.Rows), all.Pages)
	}
	seen := map[string]bool{}
	for page := range all.Pages {
		for _, row := range view[list](c, fmt.Sprintf("/list?of=nodes&sort=score+desc&page=%d", page+1)).Rows {
			seen[row.ID] = true
		}
	}
	if len(seen) != 1000 {
		t.Errorf("the pages have %d nodes, want all", len(seen))
	}
	rows := view[list](c, "/list?sort=score").Rows
	if !slices.IsSortedFunc(rows, func(a, b row) int { return int(1e6 * (*a.Score - *b.Score)) }) {
		t.Error("the list is not sorted by score")
	}
	if last := view[list](c, "/list?of=nodes&page=1000000"); last.Page != last.Pages {
		t.Errorf("a page behind the last: got %d", last.Page)
	}
	for path, column := range map[string]int{"/list?where=scor+%3E+1": 1, "/list?where=score+%3E+'x'": 9, "/list?where=score+%3E": 8, "/list?of=nodes&where=label+%3D+1+and+x+%3D+2": 15} {
		status, text := c.get(path)
		var p problem
		if err := json.Unmarshal([]byte(text), &p); err != nil || status != 400 || p.Column != column {
			t.Errorf("%s: got %d, %s, want an error in column %d", path, status, text, column)
		}
	}
	for _, path := range []string{"/list?sort=nothing", "/list?sort=score+up", "/list?page=0", "/list?page=x"} {
		if status, text := c.get(path); status != 400 {
			t.Errorf("%s: got %d, %s", path, status, text)
		}
	}
	page := c.browser()
	if status, text := page.get("/list?where=scor+%3E+1"); status != 400 || !strings.Contains(text, "1:1: no property is named &#34;scor&#34;") ||
		!strings.Contains(text, `value="scor &gt; 1"`) {
		t.Errorf("the filter line: got %d: %s", status, text)
	}
}

// TestProgress counts as statements do.
func TestProgress(t *testing.T) {
	store := papers.Cleaned(t)
	c := serve(t, store, nil)
	before := view[progress](c, "/progress")
	if before.Left != 2 || before.Decided != 0 || before.Expected != nil || !strings.HasPrefix(before.HowMany, "How many labels are wrong is not known ") || before.Confirmed != nil {
		t.Fatalf("got %+v", before)
	}
	for id, kind := range map[string]string{"s3": "accept", "p4": "reject", "p5": "unsure"} {
		if status, text := c.post("/decide", decision{ID: id, Decision: kind}); status != 200 {
			t.Fatalf("%s: got %d, %s", id, status, text)
		}
	}
	after := view[progress](c, "/progress")
	if after.Left != 0 || after.Wrong != 1 || after.Right != 1 || *after.Confirmed != 0.5 || after.Decided != 2 || after.Unsure != 1 {
		t.Errorf("got %+v", after)
	}
	bob := serve(t, store, func(opt *Options) { opt.Query.Who = "bob" })
	if status, text := bob.post("/decide", decision{ID: "p4", Decision: "accept"}); status != 200 {
		t.Fatalf("bob: got %d, %s", status, text)
	}
	disputed := view[progress](bob, "/progress")
	if disputed.Decided != 2 || disputed.Disputed != 1 {
		t.Errorf("after a node is disputed: got %+v", disputed)
	}
	for _, text := range []string{`<b data-count="decided">3</b> of 3 reviewed`,
		`<b>1</b> <a href="review?where=disputed">disputed</a>`, `<b data-count="unsure">1</b> <a`,
		before.HowMany, `<a href="audit">How many labels are wrong?</a>`, "Labels decided since the last run: 1, of them wrong: 1."} {
		if _, page := bob.browser().get("/progress"); !strings.Contains(page, text) {
			t.Errorf("the page has no %q: %s", text, page)
		}
	}
}

// listen opens the stream of events. The caller closes its body.
func (c *client) listen() *http.Response {
	c.Helper()
	r, err := http.NewRequestWithContext(c.Context(), http.MethodGet, c.server.Origin()+"/events", nil)
	if err != nil {
		c.Fatal(err)
	}
	r.Header = c.header
	stream, err := c.Do(r)
	if err != nil {
		c.Fatal(err)
	}
	return stream
}

// TestEvents tells an open page of decisions, and that scores have followed them, and ends with the server.
func TestEvents(t *testing.T) {
	store := papers.Cleaned(t)
	c := serve(t, store, nil)
	stream := c.listen()
	defer stream.Body.Close()
	if status, _ := c.post("/decide", decision{ID: "p4", Decision: "accept"}); status != 200 {
		t.Fatal("accept")
	}
	var text strings.Builder
	part := make([]byte, 4096)
	for !strings.Contains(text.String(), `"wrong":1`) || !strings.Contains(text.String(), "event: settled") {
		n, err := stream.Body.Read(part)
		if err != nil {
			t.Fatalf("%v after %s", err, text.String())
		}
		text.Write(part[:n])
	}
	if err := c.server.Close(); err != nil {
		t.Error(err)
	}
}

// TestHub ends the stream of a page that does not read, and goes on for the others.
func TestHub(t *testing.T) {
	var h hub
	slow, _ := h.join()
	reader, _ := h.join()
	for range streamRoom + 1 {
		h.send("progress", progress{})
		<-reader
	}
	for range streamRoom {
		<-slow
	}
	if _, open := <-slow; open {
		t.Error("a stream that missed an event is open")
	}
	h.send("progress", progress{Problem: "propagate"})
	if got := string(<-reader); !strings.Contains(got, "propagate") {
		t.Errorf("got %q", got)
	}
	h.leave(slow)
	h.leave(reader)
	if h.heard() {
		t.Error("nobody is left")
	}
}

// TestReadOnly changes nothing.
func TestReadOnly(t *testing.T) {
	store := papers.Cleaned(t)
	c := serve(t, store, func(o *Options) { o.ReadOnly = true })
	for _, path := range []string{"/decide", "/bulk"} {
		if status, text := c.post(path, object{}); status != 403 || !strings.Contains(text, "read only") {
			t.Errorf("%s: got %d, %s", path, status, text)
		}
	}
	// The pages offer nothing of that.
	b := c.browser()
	for _, path := range []string{"/review", "/node?id=p1", "/list", "/overview", "/history"} {
		_, text := b.get(path)
		for _, bad := range []string{`name="decision"`, `data-key="z"`, `action="undo"`, `name="why"`} {
			if strings.Contains(text, bad) {
				t.Errorf("%s has %s", path, bad)
			}
		}
	}
}

// TestWithoutARun shows a store that was not cleaned, and one without any node.
func TestWithoutARun(t *testing.T) {
	c := serve(t, papers.Loaded(t), nil).browser()
	for _, path := range []string{"/list?of=nodes", "/overview", "/history", "/node?id=p4", "/progress"} {
		if status, text := c.get(path); status != 200 || !strings.Contains(text, "no scores yet") {
			t.Errorf("%s: got %d, %.3000s", path, status, text)
		}
	}
	for _, path := range []string{"/review", "/list"} {
		if status, text := c.get(path); status != 200 || !strings.Contains(text, "<code>graphcleaner clean</code>") || strings.Contains(text, "Not done") {
			t.Errorf("%s: got %d, %s", path, status, text)
		}
		c.header.Set("Accept", "application/json")
		if status, text := c.get(path); status != 409 || !strings.Contains(text, "run clean first") {
			t.Errorf("%s for programs: got %d, %s", path, status, text)
		}
		c.header.Del("Accept")
	}
}

// TestDecidedCard has cards of nodes that people have decided on: they say who says what, what was before, and that the
// score is older.
func TestDecidedCard(t *testing.T) {
	store := papers.Cleaned(t)
	c := serve(t, store, func(o *Options) { o.KeepScores = true })
	b := c.browser()
	page := func(has, lacks string) {
		t.Helper()
		_, text := b.get("/node?id=p4")
		if !strings.Contains(text, has) || strings.Contains(text, lacks) {
			t.Errorf("want %q and not %q in %s", has, lacks, text)
		}
	}
	page("No, <bdi>Systems</bdi> is right", "Decided:")
	if status, text := c.post("/decide", decision{ID: "p4", Decision: "accept"}); status != http.StatusOK {
		t.Fatal(text)
	}
	got := view[card](c, "/node?id=p4")
	if got.Before != "Systems" || got.Seen.Label != "Theory" || !slices.Equal(got.Says, []string{"ann says Theory"}) || !got.OldScore {
		t.Errorf("after accept: got %+v", got)
	}
	page("Score before the decision: 98.4%.", "almost certainly wrong")
	page("<dt>Label now</dt>", "No, <bdi>")
	page("<dt>Label before</dt>", "iven label")
	bob := serve(t, store, func(o *Options) { o.Query.Who = "bob" })
	if status, text := bob.post("/decide", decision{ID: "p4", Decision: "relabel", Label: "Neural Nets"}); status != http.StatusOK {
		t.Fatal(text)
	}
	page("People disagree about this label:</b> <bdi>ann says Theory</bdi>, <bdi>bob says Neural Nets</bdi>.", "<b>Decided")
}

// TestAwaitedScore has a card say that its score is being computed, as long as it is.
func TestAwaitedScore(t *testing.T) {
	store := papers.Cleaned(t)
	must.Do(t, store.Update(func(tx *kv.Tx) error { // from now on, changes make scores stale
		run := map[string]any{}
		must.Do(t, tx.Documents("runs").Get("000000000001", &run))
		commit, err := tx.LastCommit()
		run["Commit"] = commit
		return cmp.Or(err, tx.Documents("runs").Put("000000000001", run))
	}))
	c := serve(t, store, func(o *Options) { o.KeepScores = true }) // the test says when scores move
	posted[reply](c, "/decide", decision{ID: "p4", Decision: "accept", Why: "an old paper"})
	if got := posted[reply](c, "/undo", c.last()); got.Why != "an old paper" {
		t.Errorf("the reason after undo: got %+v", got)
	}
	const awaited = "The score is being computed."
	b := c.browser()
	if _, text := b.get("/node?id=p4"); strings.Contains(text, awaited) {
		t.Errorf("where scores stay: got %s", text)
	}
	c.server.scores.follow()
	if _, text := b.get("/node?id=p4"); !view[card](c, "/node?id=p4").Awaited || !strings.Contains(text, awaited) {
		t.Errorf("while scores move: got %s", text)
	}
	<-c.server.scores.moved
	c.server.scores.end(false)
	if view[card](c, "/node?id=p4").Awaited {
		t.Error("after the scores have moved")
	}
}

// TestEarlierReply has a page of a node say that the last reply was about another one.
func TestEarlierReply(t *testing.T) {
	c := serve(t, papers.Cleaned(t), func(o *Options) { o.KeepScores = true })
	b := c.browser()
	posted[reply](c, "/decide", decision{ID: "p4", Decision: "reject"})
	for path, want := range map[string]string{
		"/node?id=s3": "Earlier: p4 kept its label", "/node?id=p4": "<bdi>p4 kept its label",
		"/review": "<bdi>p4 kept its label",
	} {
		if _, text := b.get(path); !strings.Contains(text, want) {
			t.Errorf("%s: want %q in %s", path, want, text)
		}
	}
}

// TestListen takes addresses of this machine alone.
func TestListen(t *testing.T) {
	for address, ok := range map[string]bool{
		"127.0.0.1:0": true, "localhost:0": true, "127.0.0.2:0": true, "0.0.0.0:0": false, ":0": false, "example.org:80": false, "10.0.0.1:0": false, "127.0.0.1": false,
		"127.0.0.1:x": false, "127.0.0.1:70000": false, "": false, "[::]:0": false,
	} {
		listener, err := Listen(t.Context(), address)
		if (err == nil) != ok {
			t.Errorf("%s: got %v", address, err)
		}
		if listener != nil {
			if host, _, err := net.SplitHostPort(listener.Addr().String()); err != nil || !net.ParseIP(host).IsLoopback() {
				t.Errorf("%s: listens at %s", address, listener.Addr())
			}
			if err := listener.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
