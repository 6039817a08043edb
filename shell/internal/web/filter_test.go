package web

import (
	"html"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/survey"
)

// TestPlainWords types words into the filter line, and conditions that look like words.
func TestPlainWords(t *testing.T) {
	c := serve(t, papers.Cleaned(t), nil)
	for typed, want := range map[string]string{
		"graph": "title ilike '%graph%'", "  on   Graphs, again": "title ilike '%on Graphs, again%'",
		"label noise": "title ilike '%label noise%'", "東京": "title ilike '%東京%'",
		"a_b": `title ilike '%a\_b%'`, "score above 1": "title ilike '%score above 1%'",
		`"graphs"`: `title ilike '%"graphs"%'`, `"on graphs"`: `title ilike '%"on graphs"%'`,
		"a'b": "title ilike '%a''b%'", "'t": "title ilike '%''t%'",
		`"a" or b"`: `title ilike '%"a" or b"%'`, `"old style"`: `"old style"`,
		`"old style" and disputed`: `"old style" and disputed`,
		`"old style" is null`:      `"old style" is null`,
		"label":                    "title ilike '%label%'", "Score": "title ilike '%Score%'",
		"100%": `title ilike '%100\%%'`, "[deep] c++ & #1, what?": "title ilike '%[deep] c++ & #1, what?%'",
		`a\b`: `title ilike '%a\\b%'`, "o'neil": "title ilike '%o''neil%'",
		`say "deep"`: `title ilike '%say "deep"%'`, "p4": "id = 'p4' or title ilike '%p4%'",
		"e 1":                  "id = 'e 1' or title ilike '%e 1%'",
		"title ilike '%file%'": "title ilike '%file%'",
		"disputed":             "disputed", "not disputed": "not disputed", "label is null": "label is null",
		"disputed or label is null": "disputed or label is null", "degree > 2": "degree > 2",
	} {
		if got := view[list](c, "/list?of=nodes&where="+url.QueryEscape(typed)); got.Where != want {
			t.Errorf("%s: got %s, want %s", typed, got.Where, want)
		}
	}
	if got := view[list](c, "/list?of=nodes&where=graph"); got.Count != 3 {
		t.Errorf("got %d nodes, want the 3 titles with graph", got.Count)
	}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if status, _ := c.get("//list"); status != http.StatusOK {
		t.Errorf("an address with two slashes: got %d", status)
	}
	_, text := c.browser().get("/list?of=nodes&where=graph")
	if !strings.Contains(text, `id="where" value="graph"`) ||
		!strings.Contains(text, "The words stand for <code>title ilike") {
		t.Errorf("the filter line does not keep the words: %s", text)
	}
}

// TestWordsWithoutTexts types words where no node has a title or text to look in.
func TestWordsWithoutTexts(t *testing.T) {
	c := serve(t, papers.Cleaned(t), func(o *Options) { o.Columns = survey.Columns{} })
	for _, typed := range []string{"graph stuff", "x (y"} {
		status, text := c.get("/list?of=nodes&where=" + url.QueryEscape(typed))
		if status != http.StatusBadRequest {
			t.Errorf("%s: got %d and %s", typed, status, text)
		}
	}
	if status, text := c.browser().get("/list?where=graph+stuff"); status != http.StatusBadRequest ||
		!strings.Contains(text, `id="where" value="graph stuff"`) {
		t.Errorf("the page: got %d and %s", status, text)
	}
	if got := view[list](c, "/list?of=nodes&where=p4"); got.Count != 1 {
		t.Errorf("an id: got %d nodes", got.Count)
	}
}

// TestByClass filters by a click on a class.
func TestByClass(t *testing.T) {
	c := serve(t, papers.Cleaned(t), nil)
	links := regexp.MustCompile(`<td><a href="([^"]*)">`)
	for path, want := range map[string]int64{"/list?of=nodes": 5,
		"/list?of=nodes&where=score+%3E+0.5+or+score+%3E+0.9": 2} {
		_, text := c.browser().get(path)
		link := ""
		for _, found := range links.FindAllStringSubmatch(text, -1) {
			if to := html.UnescapeString(found[1]); strings.Contains(to, "suggested+%3D+%27Theory%27") {
				link = to
			}
		}
		if got := view[list](c, "/"+link); got.Count != want || got.Of != "nodes" {
			t.Errorf("%s leads to %s, with %d nodes, want %d", path, link, got.Count, want)
		}
	}
}

// TestLongText has texts that a card folds, and does not cut.
func TestLongText(t *testing.T) {
	long := strings.Repeat("word ", 2000) + "end"
	dir := filepath.Join(t.TempDir(), "store")
	load := must.Get(kv.NewLoader(t.Context(), dir,
		kv.LoadOptions{Properties: []kv.Column{{Name: "title", Kind: kv.KindString}, {Name: "text",
			Kind: kv.KindString}, {Name: "notes", Kind: kv.KindString}, {Name: "split", Kind: kv.KindString}}}))(t)
	must.Do(t, load.AddNode(kv.Node{ID: "a", Label: "A", Values: []kv.Value{kv.ValueOf("The title"),
		kv.ValueOf(long), kv.ValueOf(long), kv.ValueOf("none")}}))
	must.Get(load.Commit(t.Context(), nil))(t)
	c := serve(t, papers.Reopen(t, dir), func(o *Options) { o.Columns = survey.Columns{Title: "title", Text: "text"} })
	got := view[card](c, "/node?id=a")
	if got.Text != long || len(got.Properties) != 1 || got.Properties[0].Value != long {
		t.Errorf("the texts are cut: %d and %v", len(got.Text), got.Properties)
	}
	_, text := c.browser().get("/node?id=a")
	_, main, _ := strings.Cut(text, "<main")
	if strings.Count(main, "word end") != 2 || strings.Count(main, "word word") < 1990 || strings.Count(main,
		"Show the rest") != 2 || strings.Index(main, "word word") > strings.Index(main, `class="decide"`) {
		t.Errorf("the page has no whole texts, or not before the buttons: %s", main)
	}
	if strings.Count(main, "The title") != 1+strings.Count(main, `aria-label="The title`)+
		strings.Count(main, "<title>The title") || !strings.Contains(main, "in no split") {
		t.Errorf("the title stands more than once, or the split is named none: %s", main)
	}
}
