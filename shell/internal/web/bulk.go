package web

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// A bulk is a decision about many nodes.
type bulk struct {
	Of       string   `json:"of,omitempty"`
	Where    string   `json:"where,omitempty"`
	IDs      []string `json:"ids,omitempty"` // without them, all that meet the condition
	Decision string   `json:"decision"`
	Label    string   `json:"label,omitempty"`
	Why      string   `json:"why,omitempty"`
	Confirm  string   `json:"confirm,omitempty"` // that of the first answer; without it nothing is decided

	place
}

// A bulkReply is the question, or what was done.
type bulkReply struct {
	Question string   `json:"question,omitempty"`
	First    []string `json:"first,omitempty"`   // of the nodes
	Confirm  string   `json:"confirm,omitempty"` // stands for the question and these nodes
	Said     string   `json:"said,omitempty"`
	Undo     int64    `json:"undo,omitempty"` // as of a reply

	Bulk bulk `json:"-"`
}

// mostIDs bounds the nodes that are named one by one.
const mostIDs = 10_000

// bulk decides about many nodes, behind one question.
func (s *Server) bulk(r *http.Request) (answer, error) {
	var b bulk
	err := s.checkWritable()
	if err == nil {
		err = bring(r, &b, func() {
			b.place.form(r)
			b.Of, b.Where, b.IDs = r.PostFormValue("of"), r.PostFormValue("where"), r.PostForm["ids"]
			if r.PostFormValue("all") != "" {
				b.IDs = nil
			} else {
				b.IDs, b.Where = append([]string{}, b.IDs...), "" // the condition is that of the list
			}
			b.Decision, b.Why, b.Confirm = r.PostFormValue("decision"), r.PostFormValue("why"), r.PostFormValue("confirm")
			if b.Decision == decide.Relabel.String() { // else it was typed, and another button was pressed
				b.Label = r.PostFormValue("label")
			}
		})
	}
	if err != nil {
		return answer{}, err
	}
	kind, err := decide.ParseKind(b.Decision)
	if err != nil {
		return answer{}, badRequest("The decision is %q: want accept, reject, relabel, unlabel or unsure.", b.Decision)
	}
	if err := cmp.Or(checkOf(&b.Of), checkWhy(b.Why)); err != nil {
		return answer{}, err
	}
	if err := s.snapshot(func(tx *kv.Tx) error { return s.checkBulk(tx, &b, kind) }); err != nil {
		return answer{}, err
	}
	text, condition, err := b.statement(kind)
	if err != nil {
		return answer{}, err
	}
	statement, err := query.Parse(text)
	if err != nil {
		return answer{}, err
	}
	statement = statement.Where(condition)
	var asked bulkReply
	opt := s.Query
	opt.Notice = func(line string) { asked.First = append(asked.First, strings.TrimSpace(line)) }
	opt.Confirm = func(_ context.Context, about query.Question) (bool, error) {
		// The same nodes as they were seen, or the person is asked again.
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%x", text, about.Digest))
		asked.Question, asked.Confirm = questionOf(about), hex.EncodeToString(sum[:])
		return asked.Confirm == b.Confirm, nil
	}
	var view bulkReply
	exec := func() error {
		// The end of the page ends it, and nothing is decided. A client that leaves does not.
		result, err := statement.Exec(s.ctx, s.Store, opt)
		if err != nil {
			return err
		}
		defer result.Close()
		view.Said = bulkSaid(kind, result.Entries())
		s.mu.Lock()
		defer s.mu.Unlock()
		if entries := result.Entries(); entries.Steps > 0 {
			s.remember(pastReply{step: entries.Step}, view.Said)
			view.Undo = entries.Step
		} else {
			s.said = view.Said
		}
		return nil
	}
	if b.Confirm == "" {
		err = exec() // which asks
	} else {
		s.scores.pause()
		err = s.inTurn(exec)
		s.settle()
	}
	if errors.Is(err, query.ErrNotConfirmed) {
		b.Back = b.next()
		asked.Bulk = b
		if err := s.addTitles(asked.First); err != nil {
			return answer{}, err
		}
		return answer{page: "bulk", title: "Decide about many", view: asked}, nil
	}
	return answer{view: view, seeOther: b.next()}, err
}

// questionOf asks as the buttons of the page do.
func questionOf(about query.Question) string {
	if about.Kind == decide.Reject {
		return fmt.Sprintf("Are the labels of %s right as they are now?", wording.Nodes(about.Nodes))
	}
	return about.Text
}

// bulkSaid says what a decision about many nodes did.
func bulkSaid(kind decide.Kind, made decide.Entries) string {
	if made.Steps == 0 {
		return "Nothing is decided: the condition is true of no node that the decision can be about."
	}
	said := wording.Nodes(made.Len()) + " " + wording.Decided(kind)
	if kind == decide.Reject {
		said = wording.Nodes(made.Len()) + ": the labels are right as they are"
	}
	if made.Disputed > 0 {
		said += "; people disagree about " + wording.Nodes(made.Disputed)
	}
	return said + "."
}

// checkBulk refuses nodes and labels that are not there, or not wanted.
func (s *Server) checkBulk(tx *kv.Tx, b *bulk, kind decide.Kind) error {
	switch {
	case len(b.IDs) > mostIDs:
		return badRequest("%d nodes are selected: want at most %d, or all that meet the condition.", len(b.IDs), mostIDs)
	case b.IDs != nil && b.Where != "":
		return badRequest("The nodes are named by ids and by where: want one of them.")
	}
	for _, id := range b.IDs {
		if _, err := s.find(tx, id); err != nil {
			return err
		}
	}
	return checkLabel(tx, kind, b.Label)
}

// statement is the decision as a statement, and the condition that it is to have.
func (b *bulk) statement(kind decide.Kind) (text string, where query.Condition, err error) {
	text = kind.String()
	if kind == decide.Relabel {
		text += " " + query.Quote(b.Label)
	}
	if b.Of == "nodes" || b.IDs != nil {
		text += " all"
	}
	condition := b.Where
	switch {
	case b.IDs != nil && len(b.IDs) == 0:
		return "", where, badRequest("No node is selected.")
	case b.IDs != nil:
		quoted := make([]string, len(b.IDs))
		for i, id := range b.IDs {
			quoted[i] = query.Quote(id)
		}
		// Nodes that a person selects by hand may be decided already.
		condition = fmt.Sprintf("id in (%s) and (decision is null or decision is not null)", strings.Join(quoted, ", "))
	}
	if where, err = query.ParseCondition(condition); err != nil {
		return "", where, err
	}
	text += " where id is not null"
	if b.Why != "" {
		text += " because " + query.Quote(b.Why)
	}
	return text, where, nil
}
