package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell"
)

// template is a cleaned store of 300 papers of two fields. The label of p7 is wrong, and p1 has a name that is not ASCII beside it.
var template string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "service")
	if err == nil {
		template = filepath.Join(dir, "papers.graph")
		err = makeTemplate(template)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func makeTemplate(dir string) error {
	ctx := context.Background()
	loader, err := kv.NewLoader(ctx, dir, kv.LoadOptions{})
	if err != nil {
		return err
	}
	for i := range 300 {
		field := i % 2
		if i == 7 {
			field = 0
		}
		if err := loader.AddNode(kv.Node{ID: fmt.Sprint("p", i), Label: []string{"databases", "graphics"}[field]}); err != nil {
			return err
		}
	}
	for i := range 600 { // papers cite their own field
		if err := loader.AddEdge(fmt.Sprint("p", i%300), fmt.Sprint("p", (i+2+i/300*4)%300), int64(i)); err != nil {
			return err
		}
	}
	if _, err := loader.Commit(ctx, nil); err != nil {
		return err
	}
	store, err := index.Open(dir, kv.Options{})
	if err != nil {
		return err
	}
	if _, err := cleaner.Clean(ctx, store, cleaner.Options{Seed: 1}); err != nil {
		return err
	}
	return store.Close()
}

func copyTemplate(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "papers.graph")
	if err := os.CopyFS(dir, os.DirFS(template)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A client asks a service.
type client struct {
	t   *testing.T
	url string
}

// open serves a copy of the template until the test ends.
func open(t *testing.T) (client, *service) {
	t.Helper()
	m := newMetrics()
	store, err := index.Open(copyTemplate(t), kv.Options{Observe: m.observe})
	if err != nil {
		t.Fatal(err)
	}
	s := newService(store, m)
	server := httptest.NewServer(s.handler())
	t.Cleanup(func() {
		server.Close()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return client{t, server.URL}, s
}

// do returns the status and the body. It may be called by any goroutine.
func (c client) do(method, path, body string) (int, string) {
	r, err := http.NewRequest(method, c.url+path, strings.NewReader(body))
	if err != nil {
		c.t.Error(err)
		return 0, ""
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Error(err)
		return 0, ""
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		c.t.Error(err)
	}
	if err := answer.Body.Close(); err != nil {
		c.t.Error(err)
	}
	return answer.StatusCode, string(text)
}

// want asks, and reads an answer with status 200.
func (c client) want(method, path, body string, into any) {
	c.t.Helper()
	code, text := c.do(method, path, body)
	if code != http.StatusOK {
		c.t.Fatalf("%s %s %s: got %d %s, want 200", method, path, body, code, text)
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		c.t.Fatalf("%s %s: got %s: %v", method, path, text, err)
	}
}

type labelsAnswer struct{ Labels []verdict }

type suspectsAnswer struct{ Suspects []suspect }

func (c client) suspects(where string) []suspect {
	c.t.Helper()
	var got suspectsAnswer
	c.want("GET", "/suspects?where="+url.QueryEscape(where), "", &got)
	return got.Suspects
}

func TestLabelsAreJudgedAsTheyArrive(t *testing.T) {
	c, _ := open(t)
	var got labelsAnswer
	c.want("POST", "/changes", `{"nodes": [{"id": "late", "label": "graphics"}, {"id": "später", "label": "databases"}, {"id": "bare"}],
		"edges": [{"from": "late", "to": "p8"}, {"from": "late", "to": "p10"}, {"from": "später", "to": "p12"}],
		"labels": [{"id": "p20", "label": "graphics"}, {"id": "p22", "label": ""}, {"id": "p24", "label": "theory"}],
		"new_classes": true}`, &got)
	if len(got.Labels) != 5 {
		t.Fatalf("got %+v, want the five labels", got)
	}
	for i, want := range []struct {
		id, label, suggested string
		suspect              bool
	}{
		{"late", "graphics", "databases", true},
		{"später", "databases", "databases", false},
		{"p20", "graphics", "databases", true},
	} {
		v := got.Labels[i]
		if v.ID != want.id || v.Label != want.label || v.Suggested != want.suggested || v.Suspect != want.suspect {
			t.Errorf("got %+v, want %+v", v, want)
		}
		if v.Score == nil || v.Confidence == nil || (*v.Score > 0.5) != want.suspect || *v.Confidence < 0.5 {
			t.Errorf("got %+v, want a score and a confidence that fit %+v", v, want)
		}
	}
	if v := got.Labels[3]; v.ID != "p22" || v.Label != "" || v.Score != nil || v.Suspect {
		t.Errorf("got %+v for a label that was taken away, want no score", v)
	}
	if v := got.Labels[4]; v.ID != "p24" || v.Score != nil || v.Lack == "" {
		t.Errorf("got %+v for a class that the model does not know, want no score and the reason", v)
	}
	c.want("POST", "/changes", `{}`, &got)
	if got.Labels == nil || len(got.Labels) != 0 {
		t.Errorf("got %+v for no changes, want no labels", got)
	}
}

func TestBadRequestsChangeNothing(t *testing.T) {
	c, s := open(t)
	post := func(body string) []string { return []string{"POST", "/changes", body} }
	decision := func(body string) []string { return []string{"POST", "/decisions", body} }
	suspects := func(query string) []string { return []string{"GET", "/suspects?" + query, ""} }
	for _, test := range []struct {
		request []string
		code    int
		field   string
		words   string
	}{
		{post(``), 400, "", "JSON"},
		{post(`{} {}`), 400, "", "more than one value"},
		{post(`{"node": []}`), 400, "", `unknown field "node"`},
		{post(`{"nodes": [{"id": 7}]}`), 400, "nodes.ID", "got a number, want a string"},
		{post("{\"nodes\": [{\"id\": \"\xff\"}]}"), 400, "", "UTF-8"},
		{post(`{"nodes": [{"id": "new"}, {"id": ""}]}`), 400, "nodes[1].id", "invalid node id"},
		{post(`{"nodes": [{"id": "new"}, {"id": "p1"}]}`), 409, "nodes[1].id", "p1"},
		{post(`{"nodes": [{"id": "new", "label": "a\u0000b"}], "new_classes": true}`), 400, "nodes[0].label", "invalid"},
		{post(`{"nodes": [{"id": "new", "label": "graphisc"}]}`), 400, "nodes[0].label", `no class "graphisc"`},
		{post(`{"labels": [{"id": "p20", "label": "theory"}]}`), 400, "labels[0].label", `no class "theory"`},
		{post(`{"nodes": [{"id": "new", "features": [1]}]}`), 404, "nodes[0].features", "features"},
		{post(`{"nodes": [{"id": "new"}], "edges": [{"from": "new", "to": "nobody"}]}`), 404, "edges[0].to", "nobody"},
		{post(`{"nodes": [{"id": "new"}], "edges": [{"from": "", "to": "new"}]}`), 404, "edges[0].from", ""},
		{post(`{"nodes": [{"id": "new"}], "edges": [{"from": "new", "to": "new"}]}`), 400, "edges[0]", ""},
		{post(`{"nodes": [{"id": "new"}], "edges": [{"from": "p0", "to": "p2"}]}`), 409, "edges[0]", ""},
		{post(`{"nodes": [{"id": "new"}], "labels": [{"id": "nobody", "label": "graphics"}]}`), 404, "labels[0].id", "nobody"},
		{post(`{"nodes": [{"id": "` + strings.Repeat("x", mostBody) + `"}]}`), 413, "", "too large"},
		{suspects("where=" + url.QueryEscape("score >")), 400, "where", "1:8"},
		{suspects("where=" + url.QueryEscape("score > 0.1 limit 5")), 400, "where", "limit"},
		{suspects("where=" + url.QueryEscape("colour = 'red'")), 400, "where", "colour"},
		{suspects("limit=0"), 400, "limit", "from 1 to 1000"},
		{suspects("limit=many"), 400, "limit", "many"},
		{decision(`{"id": "p7", "decision": "relabel", "label": "databases", "suggested": "graphics", "who": "ann"}`), 400, "decision", "relabel"},
		{decision(`{"id": "p7", "decision": "accept", "label": "databases", "suggested": "graphics"}`), 400, "who", ""},
		{decision(`{"id": "nobody", "decision": "accept", "label": "databases", "suggested": "graphics", "who": "ann"}`), 404, "id", "nobody"},
		{decision(`{"id": "p7", "decision": "accept", "label": "databases", "suggested": "graphics", "who": "a\u0007"}`), 400, "", "control"},
		{[]string{"GET", "/changes", ""}, 405, "", ""},
		{[]string{"GET", "/nothing", ""}, 404, "", ""},
	} {
		code, text := c.do(test.request[0], test.request[1], test.request[2])
		if code != test.code {
			t.Errorf("%.120s: got %d %s, want %d", test.request, code, text, test.code)
		}
		if test.request[1] == "/nothing" || code == 405 {
			continue // of package http
		}
		var got struct{ Error, Field string }
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Errorf("%.120s: got %s: %v", test.request, text, err)
		}
		if got.Field != test.field || got.Error == "" || !strings.Contains(got.Error, test.words) {
			t.Errorf("%.120s: got %+v, want field %q and an error with %q", test.request, got, test.field, test.words)
		}
	}
	if err := s.store.View(func(tx *kv.Tx) error {
		if tx.NumNodes() != 300 || tx.NumEdges() != 600 {
			t.Errorf("got %d nodes and %d edges, want 300 and 600 as before", tx.NumNodes(), tx.NumEdges())
		}
		newest, err := decide.Newest(tx)
		if newest != 0 {
			t.Errorf("got %d decisions, want none", newest)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

func TestPagesOfOthersCannotWrite(t *testing.T) {
	c, _ := open(t)
	r, err := http.NewRequest(http.MethodPost, c.url+"/changes", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil {
		t.Error(err)
	}
	if answer.StatusCode != http.StatusForbidden {
		t.Errorf("got %s, want 403", answer.Status)
	}
}

// TestNamesOfOthersAreRefused asks under the name of another machine, as a page does whose name is made to lead here.
func TestNamesOfOthersAreRefused(t *testing.T) {
	c, stop := start(t, copyTemplate(t))
	for host, want := range map[string]int{
		"localhost": 200, "localhost:8080": 200, "127.0.0.1:8080": 200, "127.0.0.1": 200, "[::1]:8080": 200,
		"evil.com": 403, "evil.com:8080": 403, "localhost.evil.com:8080": 403, "127.0.0.1.evil.com": 403,
		"10.0.0.1:8080": 403,
	} {
		r, err := http.NewRequest(http.MethodGet, c.url+"/suspects", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := answer.Body.Close(); err != nil {
			t.Error(err)
		}
		if answer.StatusCode != want {
			t.Errorf("Host %q: got %s, want %d", host, answer.Status, want)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestDecisionsAreAboutWhatWasShown(t *testing.T) {
	c, _ := open(t)
	found := c.suspects("label = 'databases' -- a remark")
	if len(found) != 1 || found[0].ID != "p7" || *found[0].Suggested != "graphics" || *found[0].Score < 0.5 {
		t.Fatalf("got %+v, want p7 alone", found)
	}
	body := func(decision, label, who string) string {
		return fmt.Sprintf(`{"id": "p7", "decision": %q, "label": %q, "suggested": "graphics", "who": %q, "why": "read it"}`, decision, label, who)
	}
	if code, text := c.do("POST", "/decisions", body("reject", "theory", "ann")); code != 409 || !strings.Contains(text, "p7") {
		t.Errorf("got %d %s for a label that the node does not have, want 409", code, text)
	}
	var codes [2]int // two people decide at once
	var both sync.WaitGroup
	for i := range codes {
		both.Go(func() {
			codes[i], _ = c.do("POST", "/decisions", body([]string{"accept", "reject"}[i], "databases", fmt.Sprint("person ", i)))
		})
	}
	both.Wait()
	if codes != [2]int{200, 409} && codes != [2]int{409, 200} {
		t.Errorf("got %v, want that one decides and the other is told of a change", codes)
	}
	if found := c.suspects(""); len(found) != 0 {
		t.Errorf("got %+v after the decision, want no suspects", found)
	}
	code, text := c.do("POST", "/changes", `{"labels": [{"id": "p7", "label": "databases"}]}`)
	if code != 409 || !strings.Contains(text, "decided") {
		t.Errorf("got %d %s for a label that was decided, want 409", code, text)
	}
}

func TestRescoredInTheBackground(t *testing.T) {
	c, s := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	work.Go(func() { s.rescore(ctx, 10*time.Millisecond) })
	defer work.Wait()
	defer cancel()
	var got labelsAnswer
	c.want("POST", "/changes", `{"nodes": [{"id": "late", "label": "graphics"}], "edges": [{"from": "late", "to": "p8"}]}`, &got)
	for began := time.Now(); len(c.suspects("id = 'late'")) == 0; time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatal("late is no suspect after a minute, want one after a rescore")
		}
	}
	code, text := c.do("GET", "/metrics", "")
	if code != 200 {
		t.Fatalf("got %d %s, want the metrics", code, text)
	}
	for _, want := range []string{
		"graphcleaner_nodes 301\n",
		"graphcleaner_edges 601\n",
		"graphcleaner_stale_scores 0\n",
		"graphcleaner_labels_total{suspect=\"true\"} 1\n",
		`graphcleaner_request_seconds_count{route="POST /changes",code="200"} 1` + "\n",
		`graphcleaner_request_seconds_sum{route="POST /changes",code="200"} 0.`,
		`graphcleaner_store_seconds_count{event="commit",ok="true"} `,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("got the metrics %s, want %q among them", text, want)
		}
	}
}

func TestWritersAndReadersAtOnce(t *testing.T) {
	c, s := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	var background, writers, readers sync.WaitGroup
	background.Go(func() { s.rescore(ctx, time.Millisecond) })
	defer background.Wait()
	defer cancel()
	var written atomic.Int64
	for w := range 4 {
		writers.Go(func() {
			for i := range 10 {
				id := fmt.Sprintf("w%d-%d", w, i)
				body := fmt.Sprintf(`{"nodes": [{"id": %q, "label": "graphics"}], "edges": [{"from": %q, "to": "p%d"}, {"from": %q, "to": "p8"}]}`, id, id, 2*i+10, id)
				if code, text := c.do("POST", "/changes", body); code != 200 || !strings.Contains(text, `"suspect":true`) {
					t.Errorf("%s: got %d %s, want a suspect", body, code, text)
				}
				written.Add(1)
			}
		})
	}
	done := make(chan struct{})
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				before := written.Load()
				_, text := c.do("GET", "/metrics", "")
				var nodes int64
				if _, err := fmt.Sscanf(text, "graphcleaner_nodes %d", &nodes); err != nil || nodes < 300+before {
					t.Errorf("got %.80s (%v), want at least %d nodes", text, err, 300+before)
				}
				if code, text := c.do("GET", "/suspects?limit=5", ""); code != 200 {
					t.Errorf("got %d %s, want suspects", code, text)
				}
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
	if err := s.store.View(func(tx *kv.Tx) error {
		if tx.NumNodes() != 340 || tx.NumEdges() != 600+80 {
			t.Errorf("got %d nodes and %d edges, want 340 and 680", tx.NumNodes(), tx.NumEdges())
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// start runs the whole service on a store. Stop ends it and returns its error.
func start(t *testing.T, dir string) (c client, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	at, ended := make(chan net.Addr, 1), make(chan error, 1)
	go func() { ended <- run(ctx, dir, "127.0.0.1:0", time.Hour, func(a net.Addr) { at <- a }) }()
	select {
	case a := <-at:
		return client{t, "http://" + a.String()}, func() error { cancel(); return <-ended }
	case err := <-ended:
		t.Fatal(err)
		panic("unreachable")
	}
}

// At its end the service finishes what it has begun, and leaves nothing running. What it said was written is there afterwards.
func TestEndAndRestart(t *testing.T) {
	leaks := goleak.IgnoreCurrent()
	dir := copyTemplate(t)
	for round := range 2 {
		c, stop := start(t, dir)
		if _, err := index.Open(dir, kv.Options{}); err == nil {
			t.Error("got no error, want that another cannot open the store")
		}
		// The commands of others are answered.
		var out, said strings.Builder
		if code := shell.Main(t.Context(), []string{"shell", dir, "-c", "count nodes"}, strings.NewReader(""), &out, &said); code != 0 {
			t.Errorf("a command beside the service: got exit %d, %s", code, &said)
		} else if !strings.Contains(out.String(), fmt.Sprint(300+round)) {
			t.Errorf("a command beside the service: got %s, want %d nodes", &out, 300+round)
		}
		// A request whose body is slow is under way when the end comes. The client sends the body when the service reads it.
		body, slow := io.Pipe()
		post, err := http.NewRequest(http.MethodPost, c.url+"/changes", body)
		if err != nil {
			t.Fatal(err)
		}
		post.Header.Set("Expect", "100-continue")
		var request sync.WaitGroup
		request.Go(func() {
			answer, err := http.DefaultClient.Do(post)
			if err != nil {
				t.Error(err)
				return
			}
			if answer.StatusCode != http.StatusOK {
				t.Errorf("got %s for the request under way, want 200", answer.Status)
			}
			if err := answer.Body.Close(); err != nil {
				t.Error(err)
			}
		})
		if _, err := slow.Write([]byte(`{"nodes": [`)); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- stop() }()
		for refused := false; !refused; time.Sleep(time.Millisecond) {
			probe, err := net.Dial("tcp", strings.TrimPrefix(c.url, "http://"))
			if refused = err != nil; !refused {
				if err := probe.Close(); err != nil {
					t.Error(err)
				}
			}
		}
		if _, err := fmt.Fprintf(slow, `{"id": "round %d", "label": "graphics"}]}`, round); err != nil {
			t.Fatal(err)
		}
		if err := slow.Close(); err != nil {
			t.Fatal(err)
		}
		request.Wait()
		if err := <-ended; err != nil {
			t.Errorf("the service ended with %v, want no error", err)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	goleak.VerifyNone(t, leaks)
	store, err := index.Open(dir, kv.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.View(func(tx *kv.Tx) error {
		_, err := tx.Node("round 1")
		return err
	}); err != nil {
		t.Error(err)
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}
}

func TestStoreWithoutScoresIsRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "empty.graph")
	store, err := kv.Create(dir, kv.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	err = run(t.Context(), dir, "127.0.0.1:0", time.Hour, func(net.Addr) { t.Error("the service answers, want an error") })
	if err == nil || !strings.Contains(err.Error(), "run graphcleaner clean first") {
		t.Errorf("got %v, want an error that names clean", err)
	}
}
