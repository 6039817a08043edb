package web

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
	"github.com/graphcleaner/graphcleaner/kv"
)

// TestPagesOfLists has each node on one page, in any order of asking, and counts as it pages.
func TestPagesOfLists(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	load := must.Get(kv.NewLoader(t.Context(), dir, kv.LoadOptions{}))(t)
	var ids []string
	for i := range 6*pageRows + 20 {
		ids = append(ids, fmt.Sprintf("n%03d", i))
		must.Do(t, load.AddNode(kv.Node{ID: ids[i], Label: "a"}))
	}
	must.Get(load.Commit(t.Context(), nil))(t)
	store := must.Get(index.Open(dir, kv.Options{}))(t)
	t.Cleanup(func() { must.Do(t, store.Close()) })
	c := serve(t, store, nil)
	for range 2 { // the second time after a change of the store
		for _, page := range []int{7, 1, 3, 2, 6, 5, 4, 9} {
			got := view[list](c, fmt.Sprintf("/list?of=nodes&where=label+%%3D+'a'&sort=id&page=%d", page))
			at := min(page, 7)
			var shown []string
			for _, r := range got.Rows {
				shown = append(shown, r.ID)
			}
			if want := ids[(at-1)*pageRows : min(at*pageRows, len(ids))]; !slices.Equal(shown, want) || got.Count != 320 || got.Pages != 7 || got.Page != at {
				t.Errorf("page %d: got %d rows of %d, page %d of %d", page, len(shown), got.Count, got.Page, got.Pages)
			}
		}
		if status, text := c.post("/filters", filter{Name: "all", Where: "label = 'a'"}); status != 200 {
			t.Fatal(text)
		}
	}
}

// TestCountComesLater says that there may be more rows than were counted, and has a way to the next page.
func TestCountComesLater(t *testing.T) {
	var page strings.Builder
	must.Do(t, pages().ExecuteTemplate(&page, "list", list{Of: "nodes", Page: 2, Pages: 2, Count: 100, More: true}))
	for _, want := range []string{"100 or more", "all that meet the condition", `rel="next"`, "Page 2 <a"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if strings.Contains(page.String(), "of 2") {
		t.Error("the page says how many pages there are before it knows")
	}
}

// TestCountSoon keeps a count for who asks again, and forgets it when the store changes.
func TestCountSoon(t *testing.T) {
	c := serve(t, papers.Cleaned(t), nil)
	s := c.server
	commit := func() uint64 {
		tx := s.Store.Begin()
		defer tx.Close()
		n := must.Get(tx.LastCommit())(t)
		return n
	}
	before, suspects := commit(), selection{of: "suspects"}
	for n, ok := s.countSoon(t.Context(), before, suspects); ; n, ok = s.countSoon(t.Context(), before, suspects) {
		if ok && n != 2 {
			t.Errorf("got %d suspects, want 2", n)
		}
		if ok {
			break
		}
	}
	if status, text := c.post("/decide", decision{ID: "p4", Decision: "accept"}); status != 200 {
		t.Fatal(text)
	}
	if n, ok := s.found.counted(commit(), suspects.counted()); ok {
		t.Errorf("after a decision %d suspects are known", n)
	}
}
