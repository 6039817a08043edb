package web

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
)

// TestBodies has forms and JSON that are not as they should be.
func TestBodies(t *testing.T) {
	store := papers.Cleaned(t)
	c := serve(t, store, nil)
	for kind, body := range map[string]string{
		"application/x-www-form-urlencoded": "id=%zz&decision=reject",
		"application/json":                  `{"id":"p4","decision":"reject"}{"id":"p5","decision":"reject"}`,
	} {
		if status, text, _ := c.do("POST", "/decide", kind, body, nil); status != http.StatusBadRequest {
			t.Errorf("%s: got %d, %s", body, status, text)
		}
	}
	if got := standing(t, store); got != "" {
		t.Errorf("got %s", got)
	}
	for path, bodies := range map[string][]string{
		"/undo":  {`{}`, `{"step":0}`, `null`, `[]`, `1`, ``, `{"step":1.5}`, `{"step":"1"}`},
		"/again": {`null`, ` "x"`},
		"/bulk": {`{"of":"everything","decision":"reject"}`,
			`{"ids":["p4"],"where":"score > 0","decision":"reject"}`,
			`{"ids":["p4"],"label":"Theory","decision":"reject"}`, `{"ids":[],"decision":"reject"}`,
			`{"decision":"reject","why":"` + strings.Repeat("ä", 1001) + `"}`},
		"/decide": {`{"id":"p4","decision":"reject","label":"Theory"}`, "{\"id\":\"p4\xff\",\"decision\":\"reject\"}"},
	} {
		for _, body := range bodies {
			if status, text, _ := c.do("POST", path, "application/json", body, nil); status != http.StatusBadRequest {
				t.Errorf("%s %s: got %d, %s", path, body, status, text)
			}
		}
	}
	broken := io.MultiReader(strings.NewReader(`{"id":`), iotest.ErrReader(io.ErrUnexpectedEOF))
	r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, "/skip", broken))(t)
	r.Header.Set("Content-Type", "application/json")
	if status, p := problemOf(bring(r, new(skipping), nil)); status != http.StatusBadRequest {
		t.Errorf("a body that breaks off: got %d, %v", status, p)
	}
	for path, want := range map[string]int{
		"/node?id=p4%ff": 400, "/list?where=%zz": 400, "/list?of=everything": 400, "/list?page=": 400,
		"/history?before=": 400, "/list?wher=x": 400,
		"/list?of=nodes&of=suspects": 400, "/overview?x=1": 400,
	} {
		if status, text := c.get(path); status != want {
			t.Errorf("%s: got %d, %s, want %d", path, status, text, want)
		}
	}
	if status, text, _ := c.do("POST", "/decide", "application/x-www-form-urlencoded", "id=p4%ff&decision=reject",
		nil); status != http.StatusBadRequest {
		t.Errorf("a form that is not UTF-8: got %d, %s", status, text)
	}
	if got := standing(t, store); got != "" {
		t.Errorf("got %s", got)
	}
	if status, text, _ := c.do("POST", "/decide", "application/json", "{\"id\":\"p4\",\"decision\":\"reject\"}\n",
		nil); status != http.StatusOK {
		t.Errorf("with a newline: got %d, %s", status, text)
	}
}
