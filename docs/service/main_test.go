package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
)

// papers is a cleaned store of 300 papers of two fields.
func papers(t *testing.T) (dir string) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	dir = filepath.Join(t.TempDir(), "papers.graph")
	loader, err := kv.NewLoader(t.Context(), dir, kv.LoadOptions{})
	must(err)
	for i := range 300 {
		must(loader.AddNode(kv.Node{ID: fmt.Sprint("p", i), Label: []string{"databases", "graphics"}[i%2]}))
	}
	for i := range 600 { // papers cite their own field
		must(loader.AddEdge(fmt.Sprint("p", i%300), fmt.Sprint("p", (i+2+i/300*4)%300), int64(i)))
	}
	_, err = loader.Commit(t.Context(), nil)
	must(err)
	store, err := index.Open(dir, kv.Options{})
	must(err)
	_, err = cleaner.Clean(t.Context(), store, cleaner.Options{Seed: 1})
	must(err)
	must(store.Close())
	return dir
}

// TestService adds nodes, is refused where a request is wrong, and finds what was written after the end of the service.
func TestService(t *testing.T) {
	dir := papers(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, dir, listener) }()
	for _, c := range []struct {
		body, host, origin string
		want               int
		text               string
	}{
		{`{"ID": "late", "Label": "graphics", "Neighbors": ["p8"]}`, "", "", 200, `"Suspect":true,"Suggested":"databases"`},
		{`{"ID": "late", "Label": "graphics"}`, "", "", 400, "late"},
		{`{"ID": "a", "Label": "grafics"}`, "", "", 400, `the store has no class "grafics"`},
		{`{"ID": "b", "Label": "graphics", "Neighbors": ["p8", "p999"]}`, "", "", 400, "p999"},
		{`{"ID": "c", "Label": "graphics", "Edges": []}`, "", "", 400, "unknown field"},
		{`{"ID": "c", "Label": "graphics"} {}`, "", "", 400, "want one node"},
		{`{`, "", "", 400, "bad request"},
		{`{"ID": "d", "Label": "graphics"}`, "evil.example", "", 403, "localhost"},
		{`{"ID": "e", "Label": "graphics"}`, "", "http://evil.example", 403, ""},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+listener.Addr().String()+"/nodes",
			strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = c.host
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != c.want || !strings.Contains(string(text), c.text) {
			t.Errorf("%s: got %d, %s and %v, want %d and %s", c.body, answer.StatusCode, text, err, c.want, c.text)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	store, err := index.Open(dir, kv.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	err = store.View(func(tx *kv.Tx) error {
		if tx.NumNodes() != 301 {
			t.Errorf("got %d nodes, want the 300 and the one that was added", tx.NumNodes())
		}
		_, err := tx.Node("late")
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
