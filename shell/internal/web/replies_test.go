package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/survey"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// posted posts what has to be done.
func posted[T any](c *client, path string, body any) (v T) {
	c.Helper()
	status, text := c.post(path, body)
	if err := json.Unmarshal([]byte(text), &v); err != nil || status != http.StatusOK {
		c.Fatalf("%s with %+v: got %d, %s", path, body, status, text)
	}
	return v
}

// confirmed decides about many, and answers the question with yes.
func confirmed(c *client, b bulk) (done bulkReply) {
	c.Helper()
	b.Confirm = posted[bulkReply](c, "/bulk", b).Confirm
	return posted[bulkReply](c, "/bulk", b)
}

// standing are the decisions in force.
func standing(t *testing.T, store *kv.Store) string {
	t.Helper()
	return strings.Join(ask(t, store, "nodes where decision is not null return id, decision"), " ")
}

// exec runs a statement beside the page.
func exec(t *testing.T, store *kv.Store, who, statement string) {
	t.Helper()
	result := must.Get(query.Exec(t.Context(), store, query.Options{Who: who}, statement))(t)
	result.Close()
}

// communities is a cleaned store of two classes, each a ring with chords, and some wrong labels.
func communities(t *testing.T) *kv.Store {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	load := must.Get(kv.NewLoader(t.Context(), dir, kv.LoadOptions{}))(t)
	const nodes = 200
	for i := range nodes {
		label := "A"
		if (i%2 == 1) != (i%11 == 0) {
			label = "B"
		}
		must.Do(t, load.AddNode(kv.Node{ID: strconv.Itoa(i), Label: label}))
	}
	for i := range nodes {
		for _, step := range []int{2, 6, 14, 30} {
			must.Do(t, load.AddEdge(strconv.Itoa(i), strconv.Itoa((i+step)%nodes), 0))
		}
	}
	must.Get(load.Commit(t.Context(), nil))(t)
	store := papers.Reopen(t, dir)
	exec(t, store, "ann", "clean")
	return store
}

// job runs a job on the page.
func (c *client) job(statement string) (ended job) {
	c.Helper()
	posted[job](c, "/clean", cleaning{Statement: statement})
	for ended = view[job](c, "/job"); ended.Running; ended = view[job](c, "/job") {
		time.Sleep(time.Millisecond)
	}
	return ended
}

// TestUndoTakesBackItsStep has decisions that decide nothing, and decisions of the same person elsewhere.
func TestUndoTakesBackItsStep(t *testing.T) {
	store := papers.Cleaned(t)
	c := serve(t, store, func(o *Options) { o.KeepScores = true })
	posted[reply](c, "/decide", decision{ID: "p4", Decision: "reject"})
	if done := confirmed(c, bulk{Where: "id = 'none'", Decision: "reject"}); !strings.HasPrefix(done.Said, "Nothing is decided") || strings.Contains(done.Said, "all before where") {
		t.Errorf("of nothing: got %q", done.Said)
	}
	exec(t, store, "ann", "reject s3")
	if got := posted[reply](c, "/undo", c.last()); got.ID != "p4" || got.Undo != 0 {
		t.Errorf("undo: got %+v, want p4 and nothing else", got)
	}
	if got := standing(t, store); got != "s3|reject" {
		t.Errorf("got %s, want the decision of elsewhere alone", got)
	}
	// What was taken back elsewhere does not stand in the way.
	posted[reply](c, "/decide", decision{ID: "p4", Decision: "reject"})
	posted[reply](c, "/decide", decision{ID: "p5", Decision: "reject"})
	exec(t, store, "ann", "undo")
	if status, text := c.post("/undo", c.last()); status != http.StatusConflict ||
		!strings.Contains(text, "taken back already") {
		t.Errorf("a step that was taken back: got %d, %s", status, text)
	}
	if got := posted[reply](c, "/undo", c.last()); got.ID != "p4" {
		t.Errorf("the reply before it: got %+v", got)
	}
	// A refused step can be taken back after a later one of the same person.
	posted[reply](c, "/decide", decision{ID: "p4", Decision: "reject"})
	posted[reply](c, "/decide", decision{ID: "p5", Decision: "reject"})
	exec(t, store, "ann", "relabel p5 'Theory'")
	for range 2 {
		if status, text := c.post("/undo", c.last()); status != http.StatusConflict ||
			!strings.Contains(text, "you have decided about p5 since") {
			t.Errorf("ann has decided since: got %d, %s", status, text)
		}
	}
	exec(t, store, "ann", "undo")
	for _, want := range []string{"p5", "p4"} {
		if got := posted[reply](c, "/undo", c.last()); got.ID != want {
			t.Errorf("after the advice was followed: got %+v, want %s", got, want)
		}
	}
	done := confirmed(c, bulk{IDs: []string{"p1", "p2"}, Decision: "reject"})
	if done.Said != "2 nodes: the labels are right as they are." || whole(done.Undo) != c.last().Step {
		t.Errorf("got %q", done.Said)
	}
	exec(t, store, "bob", "relabel p1 'Theory'")
	if status, text := c.post("/undo", c.last()); status != http.StatusConflict ||
		!strings.Contains(text, "bob has decided about p1") {
		t.Errorf("bob has decided since: got %d, %s", status, text)
	}
	if status, _ := c.post("/undo", undoing{Step: 1}); status != http.StatusConflict {
		t.Errorf("undo is not at its end: got %d", status)
	}
}

// TestUndoAfterARestart takes back decisions of an earlier page, one of them in the history.
func TestUndoAfterARestart(t *testing.T) {
	store := papers.Cleaned(t)
	first := serve(t, store, nil)
	for _, id := range []string{"p4", "p5", "s3"} {
		posted[reply](first, "/decide", decision{ID: id, Decision: "reject"})
	}
	exec(t, store, "bob", "reject p1")
	must.Do(t, first.server.Close())
	c := serve(t, store, nil)
	if got := posted[reply](c, "/undo", c.last()); got.ID != "s3" || got.Undo == 0 {
		t.Errorf("got %+v, want s3", got)
	}
	page := c.browser()
	_, text := page.get("/history")
	if strings.Count(text, "<button>Undo step 2</button>") != 1 || !strings.Contains(text, `name="step" value="2"`) {
		t.Errorf("the history offers to take back: %s", text)
	}
	if status, text, header := page.form("/undo", url.Values{"step": {"2"},
		"back": {"history"}}); status != http.StatusSeeOther || header.Get("Location") != "history" {
		t.Errorf("step 2: got %d, %s", status, text)
	}
	for _, step := range []string{"", "0", "2", "3", "4", "99", "x", "-1"} {
		if status, text, _ := page.form("/undo", url.Values{"step": {step}}); status != http.StatusConflict && status != http.StatusBadRequest {
			t.Errorf("step %s: got %d, %s", step, status, text)
		}
	}
	if got := standing(t, store); got != "p1|reject p4|reject" {
		t.Errorf("got %s", got)
	}
	if got := posted[reply](c, "/undo", c.last()); got.ID != "p4" || got.Undo != 0 {
		t.Errorf("got %+v, want p4 and nothing else", got)
	}
}

// TestTurns has undo and decisions at once: each undo takes back one reply.
func TestTurns(t *testing.T) {
	store := papers.Scored(t, 1000)
	c := serve(t, store, func(o *Options) { o.KeepScores, o.Columns = true, survey.Columns{} })
	const replies = 40
	failed := make(chan string, 2*replies)
	for i := range 2 * replies {
		go func() {
			path, body := "/undo", any(c.last())
			if i%2 == 0 {
				path, body = "/decide", decision{ID: strconv.Itoa(i), Decision: "unsure"}
			}
			status, text := c.post(path, body)
			if path == "/undo" && status != http.StatusOK { // nothing was there, or another was faster
				text = "nothing"
			} else if status == http.StatusOK {
				text = ""
			}
			failed <- text
		}()
	}
	left := 0
	for range 2 * replies {
		switch text := <-failed; text {
		case "":
		case "nothing":
			left++
		default:
			t.Errorf("got %s", text)
		}
	}
	for range left {
		posted[reply](c, "/undo", c.last())
	}
	if got := standing(t, store); got != "" {
		t.Errorf("%d undos found nothing, and after as many more there are %s", left, got)
	}
}

// TestBulkOfWhatWasSeen changes a node behind the ten that the question shows.
func TestBulkOfWhatWasSeen(t *testing.T) {
	store := papers.Scored(t, 1000)
	c := serve(t, store, func(o *Options) { o.KeepScores, o.Columns = true, survey.Columns{} })
	b := bulk{Of: "nodes", Where: "score > 0.5", Decision: "unsure"}
	first := posted[bulkReply](c, "/bulk", b)
	must.Do(t, store.Update(func(tx *kv.Tx) error {
		condition := must.Get(query.ParseCondition(b.Where))(t)
		nodes, _, err := query.Suspects(t.Context(), tx, condition, 0)
		must.Do(t, err)
		later := slices.Max(nodes)
		label := must.Get(tx.Value(later, kv.LabelColumn))(t)
		return tx.SetValue(later, cleaner.SuggestedColumn, label)
	}))
	b.Confirm = first.Confirm
	if again := posted[bulkReply](c, "/bulk", b); again.Said != "" || again.Question != first.Question || !slices.Equal(again.First, first.First) {
		t.Errorf("got %+v, want the same question again", again)
	}
}

// TestClientsThatLeave have sent a decision, which is written.
func TestClientsThatLeave(t *testing.T) {
	store := papers.Cleaned(t)
	c := serve(t, store, nil)
	gone, leave := context.WithCancel(t.Context())
	leave()
	send := func(serve func(*http.Request) (answer, error), body string) {
		t.Helper()
		r := httptest.NewRequestWithContext(gone, http.MethodPost, "/", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		if _, err := serve(r); err != nil {
			t.Errorf("%s: got %v", body, err)
		}
	}
	send(c.server.decide, `{"id":"p4","decision":"reject"}`)
	send(c.server.decide, `{"id":"p5","decision":"reject"}`)
	send(c.server.undo, fmt.Sprintf(`{"step":%d}`, c.last().Step))
	b := bulk{Where: "id = 's3'", Decision: "reject"}
	send(c.server.bulk, fmt.Sprintf(`{"where":"id = 's3'","decision":"reject","confirm":%q}`, posted[bulkReply](c, "/bulk", b).Confirm))
	if got := standing(t, store); got != "p4|reject s3|reject" {
		t.Errorf("got %s", got)
	}
	must.Do(t, c.server.Close())
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(`{"id":"p1","decision":"reject"}`))
	r.Header.Set("Content-Type", "application/json")
	if _, err := c.server.decide(r); !errors.Is(err, context.Canceled) {
		t.Errorf("after Close: got %v", err)
	}
}

// sampledAs waits until the counts of the sample are as they should be: on a busy machine pages get those of a moment ago. It returns nil
// then, else the counts.
func sampledAs(c *client, want func(*sampled) bool) (got *sampled) {
	c.Helper()
	for range 500 {
		if got = view[progress](c, "/progress").Sampled; want(got) {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	if got == nil {
		c.Fatal("there is no sample")
	}
	return got
}

// TestSampleStays through a clean and a restart, with nodes that people are unsure about, and without nodes that were removed.
func TestSampleStays(t *testing.T) {
	store := communities(t)
	change := func(o *Options) { o.KeepScores, o.Columns = true, survey.Columns{} }
	c := serve(t, store, change)
	posted[reply](c, "/sample", sampling{Where: "score >= 0 -- all of them", Nodes: new(whole(4)), Seed: 3})
	queue := func() card { t.Helper(); return view[card](c, "/review?sample=1") }
	counts := func(want sampled) {
		t.Helper()
		got := sampledAs(c, func(of *sampled) bool {
			return of != nil && of.Nodes == want.Nodes && of.Decided == want.Decided && of.Unsure == want.Unsure &&
				of.Wrong == want.Wrong && of.Right == want.Right
		})
		if got != nil {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	of := queue()
	if of.Empty {
		t.Fatal("the sample is empty")
	}
	total := len(c.server.currentSample().Nodes)
	decided := []string{}
	for _, kind := range []string{"unsure", "reject"} {
		of := queue()
		if slices.Contains(decided, of.ID) {
			t.Fatalf("%s is asked about again", of.ID)
		}
		decided = append(decided, of.ID)
		posted[reply](c, "/decide", decision{ID: of.ID, Decision: kind})
	}
	counts(sampled{Nodes: total, Decided: 1, Unsure: 1, Right: 1})
	if ended := c.job("clean"); ended.Error != "" {
		t.Fatalf("got %+v", ended)
	}
	if _, text := c.browser().get("/overview"); strings.Contains(text, "the label is right") || strings.Contains(text, "kept its label") {
		t.Error("the last reply before the clean stands on the page")
	}
	counts(sampled{Nodes: total, Decided: 1, Unsure: 1, Right: 1})
	if of := queue(); slices.Contains(decided, of.ID) {
		t.Errorf("after clean: %s is asked about again", of.ID)
	}
	must.Do(t, c.server.Close())
	c = serve(t, store, change)
	counts(sampled{Nodes: total, Decided: 1, Unsure: 1, Right: 1})
	posted[reply](c, "/undo", c.last())
	counts(sampled{Nodes: total, Unsure: 1})
	if of := queue(); of.ID != decided[1] {
		t.Errorf("after undo: got %s, want %s", of.ID, decided[1])
	}
	must.Do(t, store.Update(func(tx *kv.Tx) error {
		v, err := tx.Node(decided[1])
		if err == nil {
			err = tx.RemoveNode(v)
		}
		return err
	}))
	if of := queue(); of.Empty || slices.Contains(decided, of.ID) {
		t.Errorf("after a removal: got %+v", of)
	}
	counts(sampled{Nodes: total - 1, Unsure: 1})
	if bob := serve(t, store, func(o *Options) { o.Query.Who = "bob" }); view[progress](bob, "/progress").Sampled != nil {
		t.Error("the sample of ann is that of bob")
	}
}

// TestComments has conditions with comments, which swallow nothing of the statement.
func TestComments(t *testing.T) {
	store := papers.Scored(t, 1000)
	c := serve(t, store, func(o *Options) { o.Columns = survey.Columns{} })
	where := "score >= 0 -- x"
	if got := view[list](c, "/list?of=nodes&sort=score&where="+url.QueryEscape(where)); len(got.Rows) != pageRows || got.Count != 1000 {
		t.Errorf("got %d rows of %d", len(got.Rows), got.Count)
	}
	posted[reply](c, "/sample", sampling{Where: where, Nodes: new(whole(3))})
	if got := len(c.server.currentSample().Nodes); got != 3 {
		t.Errorf("a sample of 3: got %d nodes", got)
	}
	if got := posted[bulkReply](c, "/bulk", bulk{Where: where, Decision: "unsure", Why: "it"}); got.Question == "" {
		t.Errorf("got %+v", got)
	}
	for path, body := range map[string]any{
		"/bulk":   bulk{Where: "degree > 1 and labl = 'x'", Decision: "accept"},
		"/sample": sampling{Where: "degree > 1 and labl = 'x'", Nodes: new(whole(3))},
	} {
		var p problem
		if status, text := c.post(path, body); json.Unmarshal([]byte(text), &p) != nil || status != http.StatusBadRequest || p.Column != 16 {
			t.Errorf("%s: got %d, %s, want an error in column 16", path, status, text)
		}
	}
	if status, text := c.post("/filters", filter{Name: "long", Where: "score > 0 -- " + strings.Repeat("x", filterWhere)}); status != http.StatusBadRequest || !strings.Contains(text, "at most 2048") {
		t.Errorf("a long filter: got %d, %s", status, text)
	}
}

// TestSkips counts nodes, not replies.
func TestSkips(t *testing.T) {
	store := papers.Cleaned(t)
	c := serve(t, store, func(o *Options) { o.ReadOnly = true })
	for range 3 {
		posted[reply](c, "/skip", skipping{ID: "p4"})
	}
	if got := view[card](c, "/review"); got.ID == "p4" || got.ID == "" {
		t.Errorf("got the card of %q", got.ID)
	}
	// Those of other queues do not count.
	for where, want := range map[string]int{"id = 'p4'": 1, "id = 's3'": 0, "id = 'p4' or id = 's3'": 0, "id = 'p1'": 0} {
		if got := view[card](c, "/review?where="+url.QueryEscape(where)); got.Skipped != want ||
			got.Empty != (want == 1 || where == "id = 'p1'") {
			t.Errorf("%s: got %d skipped, empty: %v", where, got.Skipped, got.Empty)
		}
	}
	if got := posted[reply](c, "/undo", c.last()); got.ID != "p4" || got.Undo != 0 {
		t.Errorf("undo: got %+v", got)
	}
	for i := range mostPast + 10 {
		c.server.mu.Lock()
		c.server.remember(pastReply{step: int64(i + 1)}, "")
		c.server.mu.Unlock()
	}
	if got := len(c.server.past); got != mostPast {
		t.Errorf("%d replies are kept, want %d", got, mostPast)
	}
}

// TestQueueOfDecided asks about decided nodes where the condition wants them, and about each once.
func TestQueueOfDecided(t *testing.T) {
	store := papers.Cleaned(t)
	for _, id := range []string{"p4", "p5", "s3"} {
		exec(t, store, "bob", "reject "+id)
	}
	c := serve(t, store, func(o *Options) { o.KeepScores = true })
	path := "/review?where=" + url.QueryEscape("decided_by like '%bob%'")
	var seen []string
	for of := view[card](c, path); !of.Empty; of = view[card](c, path) {
		if slices.Contains(seen, of.ID) {
			t.Fatalf("%s is asked about again", of.ID)
		}
		seen = append(seen, of.ID)
		posted[reply](c, "/decide", decision{ID: of.ID, Decision: "reject"})
	}
	if len(seen) != 3 {
		t.Errorf("got %v", seen)
	}
	exec(t, store, "bob", "relabel "+seen[0]+" 'Theory'")
	if of := view[card](c, path); of.ID != seen[0] {
		t.Errorf("bob has disagreed since: got %+v", of)
	}
}

// TestFaults have a panic end the job alone.
func TestFaults(t *testing.T) {
	s := &Server{ctx: t.Context()} // without a store
	s.progress.wanted = make(chan struct{}, 1)
	statement := must.Get(query.Parse("clean"))(t)
	s.run(t.Context(), statement)
	if got := s.job.state(); got.Running || !strings.Contains(got.Error, "fault of the program") {
		t.Errorf("got %+v", got)
	}
	if err := guard(func() error { panic("x") }); err == nil {
		t.Error("got no error")
	}
}

// TestSlow forgets that rescoring took too long when a job has ended well. An error is no slowness.
func TestSlow(t *testing.T) {
	c := serve(t, communities(t), func(o *Options) { o.Columns = survey.Columns{} })
	c.server.scores.end(true)
	c.job("rescore")
	if c.server.scores.isSlow() {
		t.Error("the scores wait for ever")
	}
	if got := c.job("clean hops 99").Error; got == "" || strings.Contains(got, "leaner:") || strings.Contains(got, "bad options") {
		t.Errorf("got the error %q", got)
	}
}

// TestSentence has errors without the rooms of the program.
func TestSentence(t *testing.T) {
	for text, want := range map[string]string{
		"cleaner: bad options: hops 9: want 1 to 5":                 "Hops 9: want 1 to 5.",
		"Who has 900 bytes, want at most 256: cleaner: bad options": "Who has 900 bytes, want at most 256.",
		"node p4: cleaner: node is decided on twice in one step":    "Node p4: node is decided on twice in one step.",
		"node 'a: kv: b'":      "Node 'a: b'.",
		"index: kv: not found": "Kv: not found.",
	} {
		if got := sentence(errors.New(text)); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// TestRemovedMeanwhile has no number of a node in the problem.
func TestRemovedMeanwhile(t *testing.T) {
	status, p := problemOf(fmt.Errorf("node number 1184: it was removed: %w", kv.ErrNotFound))
	if status != http.StatusNotFound || strings.Contains(p.Error, "1184") {
		t.Errorf("got %d, %s", status, p.Error)
	}
}

// TestHosts answers at another address of this machine, and at the port that browsers leave out.
func TestHosts(t *testing.T) {
	listener, err := Listen(t.Context(), "127.0.0.2:0")
	if err != nil {
		t.Skipf("this system has no 127.0.0.2: %v", err)
	}
	server := must.Get(Serve(context.Background(), listener, Options{Store: papers.Cleaned(t)}))(t)
	transport := &http.Transport{}
	c := &client{t, &http.Client{Transport: transport}, server,
		http.Header{"Authorization": {"Bearer " + server.keys.token}, "Accept": {"application/json"}}, server.Origin()}
	if status, text := c.get("/review"); status != http.StatusOK {
		t.Errorf("got %d, %s", status, text)
	}
	transport.CloseIdleConnections()
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	hosts := hostsOf(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80})
	for _, want := range []string{"127.0.0.1", "127.0.0.1:80", "localhost", "[::1]"} {
		if !slices.Contains(hosts, want) {
			t.Errorf("port 80: %v has no %s", hosts, want)
		}
	}
}

// TestHistoryOfNobody has the decisions of a person, of who has no name, and of all.
func TestHistoryOfNobody(t *testing.T) {
	store := papers.Cleaned(t)
	exec(t, store, "bob", "reject p4")
	nobody := []decide.Request{{Node: 0, Kind: decide.Unsure}}
	must.Get(decide.Write(t.Context(), store, nobody, decide.Options{}))(t)
	c := serve(t, store, nil)
	for path, want := range map[string]int{"/history": 2, "/history?who=": 1, "/history?who=bob": 1, "/history?who=cem": 0} {
		if got := view[past](c, path).Entries; len(got) != want {
			t.Errorf("%s: got %v, want %d entries", path, got, want)
		}
	}
	if _, text := c.browser().get("/history?who="); !strings.Contains(text, "<h1>History of <bdi>nobody named</bdi></h1>") {
		t.Error("the history of nobody has another title")
	}
}

// TestFilterOfTheQueue stays without scripts: the forms of the page have it.
func TestFilterOfTheQueue(t *testing.T) {
	c := serve(t, papers.Cleaned(t), func(o *Options) { o.Where = "score > 0.5" }).browser()
	for _, path := range []string{"/review", "/node?id=p1"} {
		_, text := c.get(path)
		if n := strings.Count(text, `name="where" value="score &gt; 0.5"`); n < 2 {
			t.Errorf("%s: %d forms have the filter", path, n)
		}
	}
}

// TestEmptyViews have the lists that openapi.json declares.
func TestEmptyViews(t *testing.T) {
	c := serve(t, papers.Loaded(t), nil)
	if o := view[overview](c, "/overview"); o.Confused == nil || o.Histogram == nil || o.Agreement == nil || o.Runs == nil {
		t.Errorf("without a run: got %+v", o)
	}
	empty := serve(t, papers.Cleaned(t), nil)
	if _, text := empty.get("/review?where=score+%3E+2"); strings.Contains(text, ":null") &&
		!strings.Contains(text, `"score":null,"score_in_words"`) || strings.Count(text, ":[]") != 5 {
		t.Errorf("an empty queue: got %s", text)
	}
	if _, text := c.browser().get("/list?of=nodes&where=scor+%3E"); !strings.Contains(text, "Page 1 of 1") {
		t.Error("the list of a wrong condition has no pages")
	}
}

// TestEntrance leads to the review, or to where one can start a clean.
func TestEntrance(t *testing.T) {
	for want, store := range map[string]*kv.Store{"overview": papers.Loaded(t), "review": papers.Cleaned(t)} {
		if _, _, header := serve(t, store, nil).browser().do("GET", "/", "", "", nil); header.Get("Location") != want {
			t.Errorf("got %s, want %s", header.Get("Location"), want)
		}
	}
}
