package web

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// draw draws labels, and returns the page after that.
func (c *client) draw(size int) *audit {
	c.Helper()
	if got := c.send("/ask", "statement", "audit draw "+strconv.Itoa(size), "back", auditPage); got != auditPage {
		c.Fatalf("drawing leads to %s", got)
	}
	return show[*audit](c, (*Server).audit)
}

// TestAudit answers all draws: the last look is at all labels. It is blind, before and after an answer.
func TestAudit(t *testing.T) {
	store := papers.Cleaned(t)
	c := serve(t, store, nil).browser()
	if a := show[*audit](c, (*Server).audit); a.More != query.DefaultDraws || a.Draw != nil || a.Audit != nil {
		t.Errorf("before the first draw: got %+v", a)
	}
	a := c.draw(query.DefaultDraws)
	all := len(a.Draws)
	if all != 9 || a.Draw == nil || a.More != 0 {
		t.Fatalf("drawn: got %+v", a)
	}
	blind := func(has ...string) {
		t.Helper()
		_, text := c.get("/audit")
		_, text, _ = strings.Cut(text, `<div class="state"`)
		for _, bad := range []string{"Suggested", "score ", "<svg role", "suspects left", "node?id=", "kept",
			"<kbd>y</kbd>"} {
			if strings.Contains(text, bad) {
				t.Errorf("the page tells of %s: %s", bad, text)
			}
		}
		for _, want := range has {
			if !strings.Contains(text, want) {
				t.Errorf("the page has no %q: %s", want, text)
			}
		}
	}
	blind("Which label is right?", "1</kbd> … <kbd>4")
	first := a.Draw
	fields := []string{"id", first.ID, "back", auditPage, "decision", "relabel:" + first.Label, "seen", a.Seen}
	if got := c.send("/decide", fields...); got != auditPage {
		t.Errorf("an answer leads to %s", got)
	}
	blind(first.ID + ": " + first.Label + ".")
	if got := standing(t, store); got != first.ID+"|reject" {
		t.Errorf("got %s", got)
	}
	// The same card again, as of somebody who was slower.
	status, text, _ := c.form("/decide", valuesOf(fields))
	if status != http.StatusConflict || !strings.Contains(text, "omebody has decided on "+first.ID+" meanwhile") {
		t.Errorf("a second answer: got %d, %s", status, text)
	}
	if got := c.send("/undo", "step", "1", "back", auditPage); got != auditPage {
		t.Errorf("undo leads to %s", got)
	}
	blind(first.ID+": taken back.", `data-id="`+first.ID+`"`)
	var seen []string
	for a = show[*audit](c, (*Server).audit); a.Draw != nil; a = show[*audit](c, (*Server).audit) {
		if slices.Contains(seen, a.Draw.ID) || !slices.Contains(a.Draw.BlindOptions(), a.Draw.Label) {
			t.Fatalf("got the draw %+v, after %v", a.Draw, seen)
		}
		seen = append(seen, a.Draw.ID)
		c.send("/decide", "id", a.Draw.ID, "back", auditPage, "decision", "relabel:Theory", "seen", a.Seen)
	}
	if len(seen) != all || a.Look != all || !strings.Contains(a.Lines[0], "labels were wrong (90%: ") {
		t.Errorf("after all answers: got %+v", a)
	}
	blind("labels were wrong", "By class")
}

// TestAuditOfOthers has draws that are skipped, decided by somebody else, or left.
func TestAuditOfOthers(t *testing.T) {
	store := papers.Cleaned(t)
	c := serve(t, store, nil).browser()
	a := c.draw(5)
	if len(a.Draws) != 5 || a.More != 9 {
		t.Errorf("five draws: got %+v", a)
	}
	for range 5 {
		c.send("/skip", "id", a.Draw.ID, "back", auditPage)
		a = show[*audit](c, (*Server).audit)
	}
	if a.Draw != nil || a.Skipped != 5 {
		t.Errorf("all skipped: got %+v", a)
	}
	c.send("/skip", "back", auditPage)
	a = show[*audit](c, (*Server).audit)
	gone := a.Draw.ID
	exec(t, store, "bob", "unsure "+query.Quote(gone))
	if a = show[*audit](c, (*Server).audit); a.Decided != 1 || a.Draw.ID == gone {
		t.Errorf("bob was faster: got %+v", a)
	}
	gone = a.Draw.ID
	must.Do(t, store.Update(func(tx *kv.Tx) error { return tx.RemoveNode(must.Get(tx.Node(gone))(t)) }))
	if a = show[*audit](c, (*Server).audit); len(a.Draws) != 4 || a.Draw.ID == gone {
		t.Errorf("a removed node: got %+v", a)
	}
	read := serve(t, store, func(o *Options) { o.ReadOnly = true })
	if a := show[*audit](read, (*Server).audit); a.Draw != nil || len(a.Draws) != 4 {
		t.Errorf("read only: got %+v", a)
	}
}
