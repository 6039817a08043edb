package web

import (
	"context"
	"encoding/json"
	"errors"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/internal/testing/memdir"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
	"github.com/graphcleaner/graphcleaner/kv"
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
	opt := Options{Store: store, Name: "papers", Query: query.Options{Who: "ann", Workers: 2}}
	if change != nil {
		change(&opt)
	}
	server := must.Get(Serve(context.Background(), "127.0.0.1:0", opt))(t)
	transport := &http.Transport{}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		must.Do(t, server.Close())
	})
	return &client{t, &http.Client{Transport: transport}, server,
		http.Header{"Authorization": {"Bearer " + server.keys.token}, "Accept": {"application/json"}}, server.Origin()}
}

// browser is a client that came in by the printed address, and does not follow redirects.
func (c *client) browser() *client {
	c.Helper()
	jar := must.Get(cookiejar.New(nil))(c.T)
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
func (c *client) do(
	method, path, kind, body string, change func(*http.Request),
) (status int, text string, header http.Header) {
	c.Helper()
	r := must.Get(http.NewRequestWithContext(c.Context(), method, c.base+path, strings.NewReader(body)))(c.T)
	r.Header = c.header.Clone()
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	if change != nil {
		change(r)
	}
	answer, err := c.Do(r)
	must.Do(c.T, err)
	defer answer.Body.Close()
	content := must.Get(io.ReadAll(answer.Body))(c.T)
	return answer.StatusCode, continued.ReplaceAllString(string(content), " "), answer.Header
}

// continued is where a line of a page goes on: for a browser that is a blank.
var continued = regexp.MustCompile(`\n  +`)

func (c *client) get(path string) (status int, text string) {
	c.Helper()
	status, text, _ = c.do("GET", path, "", "", nil)
	return status, text
}

// post asks as a program does.
func (c *client) post(q question) (status int, text string) {
	c.Helper()
	status, text, _ = c.do("POST", "/ask", "application/json", string(must.Get(json.Marshal(q))(c.T)), nil)
	return status, text
}

func (c *client) form(path string, fields url.Values) (status int, text string, header http.Header) {
	c.Helper()
	return c.do("POST", path, "application/x-www-form-urlencoded", fields.Encode(), nil)
}

// show is the view of a page.
func show[T any](c *client, serve func(*Server, *http.Request) (answer, error), fields ...string) T {
	c.Helper()
	r := httptest.NewRequestWithContext(c.Context(), http.MethodGet, "/?"+valuesOf(fields).Encode(), http.NoBody)
	must.Do(c.T, readForm(r))
	return must.Get(serve(c.server, r))(c.T).view.(T)
}

// valuesOf are fields, each a name and a value.
func valuesOf(fields []string) url.Values {
	values := url.Values{}
	for i := 0; i+1 < len(fields); i += 2 {
		values.Add(fields[i], fields[i+1])
	}
	return values
}

// send sends the form of a page, and returns where it leads.
func (c *client) send(path string, fields ...string) (location string) {
	c.Helper()
	status, text, header := c.form(path, valuesOf(fields))
	if status != http.StatusSeeOther {
		c.Fatalf("%s with %q: got %d, %s", path, fields, status, text)
	}
	return header.Get("Location")
}

// decide decides on a node as it is.
func (c *client) decide(id string, fields ...string) {
	c.Helper()
	c.send("/decide", append(fields, "id", id, "seen", show[*card](c, (*Server).node, "id", id).Seen)...)
}

// undo takes back what the page offers to take back.
func (c *client) undo() (location string) {
	c.Helper()
	return c.send("/undo", "step", strconv.FormatInt(c.last(), 10))
}

// last is the reply that the page offers to take back.
func (c *client) last() int64 {
	c.Helper()
	r := httptest.NewRequestWithContext(c.Context(), http.MethodGet, "/", http.NoBody)
	return c.server.frame(r, answer{}).Undo
}

// standing are the decisions in force.
func standing(t *testing.T, store *kv.Store) string {
	t.Helper()
	return strings.Join(ask(t, store, "nodes where decision is not null return id, decision"), " ")
}

// exec runs a statement beside the page.
func exec(t *testing.T, store *kv.Store, who, statement string) {
	t.Helper()
	must.Get(query.Exec(t.Context(), store, query.Options{Who: who}, statement))(t)
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

// TestQueue goes through the suspects of the papers: it accepts, relabels, skips and takes back.
func TestQueue(t *testing.T) {
	store := papers.Cleaned(t)
	c := serve(t, store, func(o *Options) { o.KeepScores, o.Where = true, "score > 0.9" }).browser()
	shown := func(want string) *card {
		t.Helper()
		got := show[*card](c, (*Server).review)
		if got.Dossier == nil && want != "" || got.Dossier != nil && got.ID != want {
			t.Fatalf("got %+v, want the card of %s", got.Dossier, want)
		}
		return got
	}
	if first := shown("s3"); first.Suggestion != "Theory" || first.Title == "s3" ||
		!slices.Contains(first.Numbered, "Neural Nets") {
		t.Errorf("the first suspect: got %+v", first)
	}
	old := shown("s3").Seen
	if got := c.send("/decide", "id", "s3", "decision", "accept", "seen", old, "where",
		"score > 0.9"); got != "review?where=score+%3E+0.9" {
		t.Errorf("accept leads to %s", got)
	}
	status, text, _ := c.form("/decide", valuesOf([]string{"id", "s3", "decision", "reject", "seen", old}))
	if status != http.StatusConflict || !strings.Contains(text, "Not saved: s3 has changed since this card was shown.") ||
		!strings.Contains(text, "<dt>Label now</dt>") {
		t.Errorf("a decision about an old card: got %d, %s", status, text)
	}
	shown("p4")
	c.send("/skip", "id", "p4")
	shown("p5")
	c.send("/skip", "id", "p5")
	if got := shown(""); got.Skipped != 2 {
		t.Errorf("got %d skipped, want 2", got.Skipped)
	}
	if got := c.undo(); got != "node?id=p5&where=score+%3E+0.9" {
		t.Errorf("undo leads to %s", got)
	}
	shown("p5")
	c.decide("p4", "decision", "unsure") // which is skipped no more, also if that is taken back
	c.undo()
	c.send("/skip", "id", "p4")
	c.decide("p5", "decision", "relabel:Systems", "why", "seen")
	shown("")
	c.send("/skip")
	shown("p4")
	if got := standing(t, store); got != "p5|relabel s3|accept" {
		t.Errorf("decisions: got %s", got)
	}
	c.undo()
	c.undo()
	if got := standing(t, store); got != "" || c.last() != 0 {
		t.Errorf("after undo: got %s", got)
	}
	if again := shown("s3"); len(again.History) != 2 {
		t.Errorf("after undo: got %+v", again)
	}
}

// TestDecideRefuses has forms that are not as they should be: nothing is decided, and the error says what was wanted.
func TestDecideRefuses(t *testing.T) {
	store := papers.Cleaned(t)
	c := serve(t, store, nil).browser()
	seen := show[*card](c, (*Server).node, "id", "p4").Seen
	for _, test := range []struct {
		id, decision, label, why, seen string
		status                         int
		want                           string
	}{
		{"none", "accept", "", "", seen, 404, "No node has the id"},
		{"p4", "maybe", "", "", seen, 400, "want accept, reject"},
		{"p4", "relabel", "", "", seen, 400, "No label is named"},
		{"p4", "relabel", "Theorie", "", seen, 404, "No class is named"},
		{"p4", "relabel", "e", "", seen, 404, "3 classes match"},
		{"p4", "accept", "", "", "", 400, "field seen"},
		{"p4", "accept", "", "", "eyJMYWJlbCI6IlgifQ==", 409, "Not saved: p4 has changed"},
		{"p4", "accept", "", strings.Repeat("x", decide.MaxWhy+1), seen, 400, "The reason has control characters, or more than 4096 bytes."},
		{"p4", "accept", "", "\x00", seen, 400, "control characters"},
		{"p4", "accept", "", strings.Repeat("x", maxBody), seen, 413, "too large"},
		{"p4", "accept", "\xff", "", seen, 400, "is not UTF-8"},
	} {
		status, text, _ := c.form("/decide", valuesOf([]string{
			"id", test.id, "decision", test.decision, "label", test.label, "why", test.why, "seen", test.seen,
		}))
		if status != test.status || !strings.Contains(text, test.want) {
			t.Errorf("%.80q: got %d, %s, want %d, %q", test.want, status, text, test.status, test.want)
		}
	}
	if got := ask(t, store, "history"); len(got) != 0 {
		t.Errorf("got %v, want nothing decided", got)
	}
	c.decide("p4", "decision", "relabel", "label", "neu") // the only class that begins so
	if got := standing(t, store); got != "p4|relabel" {
		t.Errorf("got %s", got)
	}
}

// TestTwoPeople have a server each and decide on one node: the second sees a conflict, and can disagree on purpose.
func TestTwoPeople(t *testing.T) {
	store := papers.Cleaned(t)
	ann := serve(t, store, nil).browser()
	bob := serve(t, store, func(o *Options) { o.Query.Who, o.Where = "bob", "decided_by is not null" }).browser()
	seenByBoth := show[*card](ann, (*Server).node, "id", "p4").Seen
	ann.decide("p4", "decision", "accept")
	if status, _, _ := bob.form("/decide",
		valuesOf([]string{"id", "p4", "decision", "reject", "seen", seenByBoth})); status != 409 {
		t.Fatalf("bob, of an old card: got %d", status)
	}
	if got := show[*card](bob, (*Server).review); got.ID != "p4" || got.Before != "Systems" {
		t.Errorf("the queue of decided nodes: got %+v", got)
	}
	bob.decide("p4", "decision", "relabel:Neural Nets")
	if got := show[*card](bob, (*Server).review); got.Dossier != nil {
		t.Errorf("bob has the last word, and sees %s again", got.ID)
	}
	_, text := ann.get("/review?where=disputed")
	if !strings.Contains(text,
		"People disagree about this label:</b> <bdi>ann says Theory</bdi>, <bdi>bob says Neural Nets</bdi>.") {
		t.Errorf("the queue of disputed nodes: got %s", text)
	}
	// Ann's undo would take back what bob answered to.
	status, text, _ := ann.form("/undo", valuesOf([]string{"step", strconv.FormatInt(ann.last(), 10)}))
	if status != 409 || !strings.Contains(text, "somebody else has decided") {
		t.Errorf("ann's undo: got %d, %s", status, text)
	}
}

// TestUndoTakesBackItsStep has steps that are not the last any more, and a page that was started anew.
func TestUndoTakesBackItsStep(t *testing.T) {
	store := papers.Cleaned(t)
	first := serve(t, store, func(o *Options) { o.KeepScores = true }).browser()
	first.decide("p4", "decision", "reject")
	shown := first.last()
	exec(t, store, "ann", "reject s3")
	c := serve(t, store, nil).browser()
	for _, step := range []string{strconv.FormatInt(shown, 10), "", "0", "99", "x", "-1"} {
		status, text, _ := c.form("/undo", valuesOf([]string{"step", step}))
		if status != http.StatusConflict && status != http.StatusBadRequest {
			t.Errorf("step %s: got %d, %s", step, status, text)
		}
	}
	for _, want := range []string{"p4|reject", ""} {
		if c.undo(); standing(t, store) != want {
			t.Errorf("undo: got %s, want %s", standing(t, store), want)
		}
	}
}

// TestMany asks before it decides about many, and asks again if they are not the same.
func TestMany(t *testing.T) {
	store := papers.Cleaned(t)
	c := serve(t, store, nil).browser()
	confirm := regexp.MustCompile(`name="confirm" value="([0-9a-f]{64})"`)
	question := func(want, path string, fields ...string) (confirmed []string) {
		t.Helper()
		status, text, _ := c.form(path, valuesOf(fields))
		found := confirm.FindStringSubmatch(text)
		if status != http.StatusOK || found == nil || !strings.Contains(text, want) {
			t.Fatalf("%q: got %d, %s, want %q", fields, status, text, want)
		}
		return append(fields, "confirm", found[1])
	}
	all := []string{"statement", "accept where label = 'Systems'", "back", "ask?statement=suspects"}
	confirmed := question("Accept the suggested labels of 2 nodes?", "/ask", all...)
	if _, text, _ := c.form("/ask", valuesOf(all)); !strings.Contains(text, "p4: Systems → Theory, score 0.984375") {
		t.Errorf("the question does not show p4: %s", text)
	}
	exec(t, store, "bob", "unsure p4")
	confirmed = question("Accept the suggested labels of 1 node?", "/ask", confirmed...)
	if got := c.send("/ask", append(all, confirmed[len(confirmed)-2:]...)...); got != "ask?statement=suspects" {
		t.Errorf("the decision leads to %s", got)
	}
	if got := standing(t, store); got != "p4|unsure s3|accept" {
		t.Errorf("got %s", got)
	}
	// Nodes that are selected by hand may be decided already.
	statement := regexp.MustCompile(`name="statement" value="([^"]*all where[^"]*)"`)
	_, text, _ := c.form("/many",
		valuesOf([]string{"ids", "p4", "ids", "s1", "decision", "relabel", "label", "theory", "why", "it's one"}))
	quoted := statement.FindStringSubmatch(text)
	if !strings.Contains(text, "Relabel 2 nodes as &#39;Theory&#39;?") || quoted == nil {
		t.Fatalf("got %s", text)
	}
	yes := []string{"statement", html.UnescapeString(quoted[1]), "confirm", confirm.FindStringSubmatch(text)[1]}
	c.send("/ask", yes...)
	if got := ask(t, store, "nodes where label = 'Systems' return id"); !slices.Equal(got, []string{"s2"}) {
		t.Errorf("got %v", got)
	}
	c.undo() // of all of the step
	if got := ask(t, store, "nodes where label = 'Systems' return id"); !slices.Equal(got, []string{"p4", "s1", "s2"}) {
		t.Errorf("after undo: got %v", got)
	}
	if status, text, _ := c.form("/many", valuesOf([]string{"decision", "reject"})); status != 400 ||
		!strings.Contains(text, "No node is selected") {
		t.Errorf("no node: got %d, %s", status, text)
	}
}

// TestAsk answers statements: as rows with links, as a text, as a question, or with an error in its place.
func TestAsk(t *testing.T) {
	store := papers.Scored(t, 1000)
	c := serve(t, store, nil).browser()
	seen := map[string]bool{}
	address := "ask?" + valuesOf([]string{"statement", "nodes order by score desc -- all"}).Encode()
	for pages := 0; address != ""; pages++ {
		at := must.Get(url.Parse(address))(t).Query()
		page := show[*asked](c, (*Server).ask, "statement", at.Get("statement"), "from", at.Get("from"))
		if len(page.Rows) > pageRows || !page.AreNodes {
			t.Fatalf("got %d rows, nodes: %v", len(page.Rows), page.AreNodes)
		}
		for _, row := range page.Rows {
			seen[row[page.ID]] = true
		}
		address = page.Next
	}
	if len(seen) != 1000 {
		t.Errorf("the pages have %d nodes, want all", len(seen))
	}
	for statement, test := range map[string]struct {
		status int
		has    string
	}{
		"": {200, "Statements"}, "count nodes group by label": {200, `<th scope="col">count</th>`}, "explain 1": {200,
			"<pre"}, "stats": {200, "<pre"},
		"history": {200, "No rows."}, "count nodes": {200, "1000"}, "undo": {200, "This statement changes the store."},
		"suspects where scor > 1": {400, `1:16: no property is named &#34;scor&#34;`}, "nodes where": {400,
			`value="nodes where"`},
		"explain 'nobody'": {400, "has no node"},
	} {
		status, text := c.get("/ask?" + valuesOf([]string{"statement", statement}).Encode())
		if status != test.status || !strings.Contains(strings.ToLower(text), strings.ToLower(test.has)) {
			t.Errorf("%s: got %d, %s, want %d, %q", statement, status, text, test.status, test.has)
		}
	}
	if got := c.send("/ask", "statement", "count nodes"); got != "ask?statement=count+nodes" {
		t.Errorf("a statement that reads leads to %s", got)
	}
}

// TestPrograms ask in JSON, and decide only if the node is as they saw it.
func TestPrograms(t *testing.T) {
	store := papers.Cleaned(t)
	c := serve(t, store, nil)
	for _, test := range []struct {
		question
		status int
		want   string
	}{
		{question{Statement: "nodes where id = $1 return id, year", Args: []any{"p4"}}, 200, "[\n{\"id\":\"p4\",\"year\":"},
		{question{Statement: "nodes where year > $1 and year < $2 limit 1 return id", Args: []any{2000, 3000.5}}, 200,
			"[\n{\"id\":"},
		{question{Statement: "suspects where scor > 1"}, 400, `"column":16`},
		{question{Statement: "accept $1 if label = 'Theory'", Args: []any{"p4"}}, 409, "p4"},
		{question{Statement: "accept where id = 'p4'"}, 409, "Accept the suggested labels of 1 node?"},
		{question{Statement: "accept where id = 'p4'", Yes: true}, 200, `"decision":"accept"`},
		{question{Statement: "undo"}, 200, `"undoes":1`},
		{question{Statement: "undo"}, 409, "nothing to"},
		{question{Statement: "accept $1 if label = $2 because 'seen'", Args: []any{"p4", "Systems"}}, 200, `"to":"Theory"`},
		{question{Statement: strings.Repeat("x", maxBody)}, 413, "too large"},
	} {
		status, text := c.post(test.question)
		if status != test.status || !strings.Contains(text, test.want) || status != 200 &&
			!strings.HasPrefix(text, `{"error":`) {
			t.Errorf("%.80v: got %d, %s, want %d, %q", test.question, status, text, test.status, test.want)
		}
	}
	if got := standing(t, store); got != "p4|accept" {
		t.Errorf("got %s", got)
	}
	for body, want := range map[string]string{"": "EOF", "[]": "array", `{"statement":"stats","colour":1}`: "colour"} {
		if status, text, _ := c.do("POST", "/ask", "application/json", body, nil); status != 400 ||
			!strings.Contains(text, want) {
			t.Errorf("%s: got %d, %s", body, status, text)
		}
	}
	for path, want := range map[string]int{"?statement=undo": 405, "?statement=stats": 200} {
		if status, text := c.get("/ask" + path); status != want {
			t.Errorf("%s: got %d, %s", path, status, text)
		}
	}
}

// TestTurns has undo and decisions at once: each undo takes back one reply.
func TestTurns(t *testing.T) {
	store := papers.Scored(t, 1000)
	c := serve(t, store, func(o *Options) { o.KeepScores = true }).browser()
	const replies = 20
	var seen []string
	for i := range replies {
		seen = append(seen, show[*card](c, (*Server).node, "id", strconv.Itoa(i)).Seen)
	}
	undone := make(chan bool, 2*replies)
	for i := range replies {
		go func() {
			status, text, _ := c.form("/decide",
				valuesOf([]string{"id", strconv.Itoa(i), "decision", "unsure", "seen", seen[i]}))
			if status != http.StatusSeeOther {
				t.Errorf("%d: got %d, %s", i, status, text)
			}
			undone <- false
		}()
		go func() {
			status, _, _ := c.form("/undo", valuesOf([]string{"step", strconv.FormatInt(c.last(), 10)}))
			undone <- status == http.StatusSeeOther // else nothing was there, or another was faster
		}()
	}
	left := replies
	for range 2 * replies {
		if <-undone {
			left--
		}
	}
	if got := ask(t, store, "count nodes where decision is not null"); !slices.Equal(got, []string{strconv.Itoa(left)}) {
		t.Errorf("got %v, want %d", got, left)
	}
}

// TestClientsThatLeave have sent a decision, which is written. After Close nothing is.
func TestClientsThatLeave(t *testing.T) {
	store := papers.Cleaned(t)
	c := serve(t, store, nil)
	gone, leave := context.WithCancel(t.Context())
	leave()
	send := func(ctx context.Context, id string) error {
		fields := valuesOf([]string{"id", id, "decision", "reject", "seen", show[*card](c, (*Server).node, "id", id).Seen})
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", strings.NewReader(fields.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		must.Do(t, readForm(r))
		_, err := c.server.decide(r)
		return err
	}
	must.Do(t, send(gone, "p4"))
	if got := standing(t, store); got != "p4|reject" {
		t.Errorf("got %s", got)
	}
	must.Do(t, c.server.Close())
	if err := send(t.Context(), "p5"); !errors.Is(err, context.Canceled) {
		t.Errorf("after Close: got %v", err)
	}
}

// TestProgress counts as statements do.
func TestProgress(t *testing.T) {
	store := papers.Cleaned(t)
	c := serve(t, store, nil).browser()
	page := func(wants ...string) {
		t.Helper()
		_, text := c.get("/progress")
		for _, want := range append(wants, `<a href="audit">How many labels are wrong?</a>`) {
			if !strings.Contains(text, want) {
				t.Errorf("the page has no %q: %s", want, text)
			}
		}
	}
	page(`<b id="reviewed">0</b> of 2 reviewed`, `<b id="left">2</b> suspects left`)
	c.decide("s3", "decision", "accept")
	c.decide("p4", "decision", "reject")
	c.decide("p5", "decision", "unsure")
	exec(t, store, "bob", "accept p4")
	page(`<b id="reviewed">3</b> of 3 reviewed`, `<b>1</b> <a href="review?where=disputed">disputed</a>`,
		`<b>1</b> <a href="ask?statement=nodes`)
	c.server.progress.last.Store(nil)
	if _, text := c.get("/review"); !strings.Contains(text, "Counting …") {
		t.Errorf("where counting takes long, a page waits for it: %s", text)
	}
	page(`<b id="reviewed">3</b> of 3 reviewed`)
}

// TestReadOnly changes nothing, and offers nothing of that.
func TestReadOnly(t *testing.T) {
	c := serve(t, papers.Cleaned(t), func(o *Options) { o.ReadOnly = true })
	b := c.browser()
	for _, path := range []string{"/decide", "/many"} {
		if status, text, _ := b.form(path,
			valuesOf([]string{"decision", "reject", "id", "p4", "ids", "p4"})); status != 403 ||
			!strings.Contains(text, "read only") {
			t.Errorf("%s: got %d, %s", path, status, text)
		}
	}
	if status, text := c.post(question{Statement: "accept p4"}); status != 403 || !strings.Contains(text, "read only") {
		t.Errorf("a statement: got %d, %s", status, text)
	}
	for _, path := range []string{"/review", "/node?id=p1", "/ask?statement=suspects", "/audit"} {
		_, text := b.get(path)
		for _, bad := range []string{`name="decision"`, `data-key="z"`, `action="undo"`, `name="why"`} {
			if strings.Contains(text, bad) {
				t.Errorf("%s has %s", path, bad)
			}
		}
	}
}

// TestWithoutARun shows a store that was not cleaned.
func TestWithoutARun(t *testing.T) {
	c := serve(t, papers.Loaded(t), nil)
	b := c.browser()
	for _, path := range []string{"/progress", "/ask?statement=nodes", "/ask?statement=history", "/node?id=p4"} {
		if status, text := b.get(path); status != 200 || !strings.Contains(text, "no scores yet") {
			t.Errorf("%s: got %d, %.3000s", path, status, text)
		}
	}
	for _, path := range []string{"/review", "/ask?statement=suspects"} {
		if status, text := b.get(path); status != 200 || !strings.Contains(text, "Run <code>graphcleaner clean</code>") {
			t.Errorf("%s: got %d, %s", path, status, text)
		}
		if status, text := c.get(path); status != 409 || !strings.Contains(text, "run clean first") {
			t.Errorf("%s for programs: got %d, %s", path, status, text)
		}
	}
}

// TestHosts answers at another address of this machine, and at the port that browsers leave out.
func TestHosts(t *testing.T) {
	hosts := hostsOf(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 2), Port: 80})
	for _, want := range []string{"127.0.0.2", "127.0.0.1", "127.0.0.1:80", "localhost", "[::1]"} {
		if !slices.Contains(hosts, want) {
			t.Errorf("port 80: %v has no %s", hosts, want)
		}
	}
}

// TestListen takes addresses of this machine alone.
func TestListen(t *testing.T) {
	store := papers.Loaded(t)
	for address, ok := range map[string]bool{
		"127.0.0.1:0": true, "localhost:0": true, "127.0.0.2:0": true, "0.0.0.0:0": false, ":0": false,
		"example.org:80": false, "10.0.0.1:0": false, "127.0.0.1": false,
		"127.0.0.1:x": false, "127.0.0.1:70000": false, "": false, "[::]:0": false,
	} {
		server, err := Serve(t.Context(), address, Options{Store: store})
		if (err == nil) != ok {
			t.Errorf("%s: got %v", address, err)
		}
		if server != nil {
			at := server.listener.Addr().String()
			if host, _, err := net.SplitHostPort(at); err != nil || !net.ParseIP(host).IsLoopback() {
				t.Errorf("%s: listens at %s", address, at)
			}
			must.Do(t, server.Close())
		}
	}
}
