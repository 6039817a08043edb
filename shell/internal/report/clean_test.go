package report

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/picture"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// TestPageOfRun is of a store with suspects.
func TestPageOfRun(t *testing.T) {
	p := must.Get(Clean(t.Context(), papers.Cleaned(t), "Papers"))(t)
	page := rendered(t, p)
	for _, want := range []string{"The first suspects", `id="suspect-1"`, "Is it Theory?", "Top suspects"} {
		if !strings.Contains(page, want) {
			t.Errorf("page: has no %q", want)
		}
	}
}

// illustrated is a store of suspects, each beside as many other nodes. All have a title, an abstract and a link.
func illustrated(t *testing.T, suspects, others int, title, abstract, link string) *kv.Store {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	check := func(err error) {
		t.Helper()
		must.Do(t, err)
	}
	load, err := kv.NewLoader(t.Context(), dir, kv.LoadOptions{Classes: []string{"B"}, Properties: []kv.Column{
		{Name: "Title", Kind: kv.KindString}, {Name: "abstract", Kind: kv.KindString}, {Name: "url", Kind: kv.KindString},
	}})
	check(err)
	values := []kv.Value{kv.ValueOf(title), kv.ValueOf(abstract), kv.ValueOf(link)}
	for i := range suspects + others {
		check(load.AddNode(kv.Node{ID: fmt.Sprint(i), Label: "A", Values: values}))
	}
	for i := range suspects {
		for j := range others {
			check(load.AddEdge(fmt.Sprint(i), fmt.Sprint(suspects+j), 0))
		}
	}
	_, err = load.Commit(t.Context(), nil)
	check(err)
	store := papers.Reopen(t, dir)
	bulk, err := store.Bulk()
	check(err)
	defer bulk.Abort()
	column := func(name string, kind kv.Kind) *kv.ColumnWriter {
		w, err := bulk.Column(name, kind)
		check(err)
		return w
	}
	score, confidence, suggested := column("score", kv.KindSingle), column("confidence", kv.KindSingle), column("suggested", kv.KindClass)
	for v := range kv.NodeID(suspects + others) {
		value := 0.0
		if int(v) < suspects {
			value = 1 - float64(v)/4096
		}
		check(errors.Join(score.Put(v, kv.ValueOf(value)), confidence.Put(v, kv.ValueOf(0.875)), suggested.Put(v, kv.ValueOf("B"))))
	}
	check(bulk.Commit(papers.PutRun))
	return store
}

// TestCards has a suspect with a title, an abstract and a link, all of them hostile. The link is a text.
func TestCards(t *testing.T) {
	const title, link = "<b>T</b> \"a\u202eb\"", "javascript:alert(1)//https://example.org/?a&b"
	p := must.Get(Clean(t.Context(), illustrated(t, 1, 2, title, "Begin "+strings.Repeat("words ", 1000)+"end", link), "Papers"))(t)
	page := rendered(t, p)
	_, card, _ := strings.Cut(page, "<article>")
	card, _, _ = strings.Cut(card, "</article>")
	_, facts, _ := strings.Cut(card, "<dl>")
	for _, want := range []string{
		`<dt>id</dt><dd dir="auto">0</dd>`, `<dt>score</dt><dd dir="auto">1.0000</dd>`,
		`<dt>given label</dt><dd dir="auto">` + picture.Swatch(0) + `A</dd>`,
		`<dt>suggested label</dt><dd dir="auto">` + picture.Swatch(1) + `B (87.5% sure)</dd>`,
		`<dt>Title</dt><dd dir="auto">&lt;b&gt;T&lt;/b&gt; &#34;`, `<dt>abstract</dt><dd dir="auto">Begin words `, "words…</dd>",
		`<dt>url</dt><dd dir="auto">javascript:alert(1)//https://example.org/?a&amp;b</dd>`,
	} {
		if !strings.Contains(facts, want) {
			t.Errorf("the card has no %s:\n%s", want, facts)
		}
	}
	if !strings.Contains(card, "All 2 neighbours are A.") {
		t.Errorf("the card has no evidence:\n%s", card)
	}
	if strings.Contains(page, "<a ") || strings.Contains(page, "words end") {
		t.Error("the page has a link, or all of a long text")
	}
	if !strings.Contains(page, `<th scope="col">Title</th>`) {
		t.Error("the table has no titles")
	}
}

// TestCardsFit has as many suspects as a page lists, with large drawings of long titles and with small ones.
func TestCardsFit(t *testing.T) {
	for name, test := range map[string]struct{ others, cards, kilobytes int }{
		"large": {200, leastCards, 320},
		"small": {0, mostCards, 100},
	} {
		t.Run(name, func(t *testing.T) {
			p := must.Get(Clean(t.Context(), illustrated(t, 50, test.others, strings.Repeat("long title ", 100), strings.Repeat("x ", 5000), ""), "Papers"))(t)
			page := rendered(t, p)
			if cards := strings.Count(page, "<article>"); cards != test.cards {
				t.Errorf("got %d cards, want %d", cards, test.cards)
			}
			if len(page) > test.kilobytes<<10 {
				t.Errorf("got a page of %d bytes, want at most %d kB", len(page), test.kilobytes)
			}
			t.Logf("%d bytes", len(page))
		})
	}
}

// A contextWithWriter calls a function when a reader first looks whether it has ended.
type contextWithWriter struct {
	context.Context
	write func()
}

func (c *contextWithWriter) Err() error {
	write := c.write
	if c.write = nil; write != nil {
		write()
	}
	return c.Context.Err()
}

// TestPageOfOneSnapshot decides on the first suspects while their report is made. The report does not show it.
func TestPageOfOneSnapshot(t *testing.T) {
	store := papers.Cleaned(t)
	page := func(ctx context.Context) string {
		t.Helper()
		p := must.Get(Clean(ctx, store, "Papers"))(t)
		return regexp.MustCompile(`<p class="made">.*</p>`).ReplaceAllString(rendered(t, p), "") // the time of writing
	}
	want := page(t.Context())
	got := page(&contextWithWriter{Context: t.Context(), write: func() {
		must.Get(query.Exec(t.Context(), store, query.Options{}, "accept s3, p4"))(t)
	}})
	if got != want {
		t.Error("the report shows decisions that were made meanwhile")
	}
	if page(t.Context()) == want {
		t.Error("the next report does not show the decisions")
	}
}
