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

func (b *bulk) form(r *http.Request) {
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
}

// bulk decides about many nodes, behind one question.
func (s *Server) bulk(r *http.Request) (answer, error) {
	var b bulk
	if err := cmp.Or(s.checkWritable(), bring(r, &b, func() { b.form(r) })); err != nil {
		return answer{}, err
	}
	kind, err := kindOf(b.Decision, b.Label)
	if err := cmp.Or(err, checkOf(&b.Of), checkWhy(b.Why), b.checkIDs()); err != nil {
		return answer{}, err
	}
	if err := s.checkThere(b.IDs, b.Label); err != nil {
		return answer{}, err
	}
	text, condition, err := b.statement(kind)
	if err != nil {
		return answer{}, err
	}
	var asked bulkReply
	opt := s.Query
	opt.Notice = func(line string) { asked.First = append(asked.First, strings.TrimSpace(line)) }
	opt.Confirm = func(_ context.Context, about query.Question) (bool, error) {
		// The same nodes as they were seen, or the person is asked again.
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%x", text, about.Digest))
		asked.Question, asked.Confirm = about.Text, hex.EncodeToString(sum[:])
		if kind == decide.Reject { // as the button says it
			asked.Question = fmt.Sprintf("Are the labels of %s right as they are now?", wording.Nodes(about.Nodes))
		}
		return asked.Confirm == b.Confirm, nil
	}
	var done reply
	err = s.inTurn(func() (err error) {
		// The end of the page ends it, and nothing is decided. A client that leaves does not.
		done, err = s.exec(s.ctx, opt, text, condition)
		return err
	})
	if errors.Is(err, query.ErrNotConfirmed) {
		b.Back = b.next()
		asked.Bulk = b
		return answer{page: "bulk", title: "Decide about many", view: asked}, nil
	}
	return answer{view: bulkReply{Said: done.Said, Undo: done.Undo}, seeOther: b.next()}, err
}

// checkIDs refuses nodes that are named in two ways, or in none.
func (b *bulk) checkIDs() error {
	switch {
	case len(b.IDs) > mostIDs:
		return badRequest("%d nodes are selected: want at most %d, or all that meet the condition.", len(b.IDs), mostIDs)
	case b.IDs != nil && b.Where != "":
		return badRequest("The nodes are named by ids and by where: want one of them.")
	case b.IDs != nil && len(b.IDs) == 0:
		return badRequest("No node is selected.")
	}
	return nil
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
	if b.IDs != nil {
		quoted := make([]string, len(b.IDs))
		for i, id := range b.IDs {
			quoted[i] = query.Quote(id)
		}
		// Nodes that a person selects by hand may be decided already.
		condition = fmt.Sprintf("id in (%s) and (decision is null or decision is not null)", strings.Join(quoted, ", "))
	}
	text += " where id is not null"
	if b.Why != "" {
		text += " because " + query.Quote(b.Why)
	}
	where, err = query.ParseCondition(condition)
	return text, where, err
}
